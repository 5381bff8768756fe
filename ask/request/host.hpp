#pragma once
/// The host of a request's devices: its processor, memory and link.

#include "ask/request/request.hpp"

namespace llmcalc {

/// The processor whose memory stores offloaded tensors: --host, otherwise a typical desktop; null if the hardware file
/// specifies the host's memory.
const HardwareCard* host_card(const Request& r);
/// Whether the request's time depends on an assumed host.
bool has_assumed_host(const Request& r);

/// Sets the device's share of the host: the link, limited to --offload-bandwidth; memory and matmul rate of
/// host_card(); capacity from --host-memory. Can be called repeatedly.
void settle_host(Request& r);
/// Sets the achieved rates of the host in inference, and the number of prefill passes, each of which loads the
/// offloaded weights.
void settle_host_rates(Request& r);

/// Throws InputError if --offload-bandwidth exceeds the link, or if --host is not a processor.
void check_host(const Request& r);

}  // namespace llmcalc
