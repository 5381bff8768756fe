#pragma once
/// Offload to the host's memory as --offload says it: "optimizer", "activations:0.5,weights", "experts:0.9", "none".

#include <string>
#include <string_view>

#include "ask/request/request.hpp"

namespace llmcalc {

/// Fractions in millionths; without one, all of it.
Offload read_offload(std::string_view text, std::string_view where);
std::string offload_text(const Offload& o);

/// The way to the host is no faster than --offload-bandwidth.
void settle_way_to_host(Request& r);

/// The share of a device that tensors fill where no option says it: of memory that a system shares out, what it gives a
/// program; of a server's, vLLM's 0.9.
double usual_utilization(const Request& r);

/// Throws InputError where the hardware states no way to the host, or what is to lie there is not in these parts.
void check_offload(const Request& r, Parts parts);

}  // namespace llmcalc
