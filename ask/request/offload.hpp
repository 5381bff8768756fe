#pragma once
/// Parses the syntax of --offload, which moves tensors to host memory: "optimizer", "activations:0.5,weights",
/// "experts:0.9", "none".

#include <string>
#include <string_view>

#include "ask/request/request.hpp"

namespace llmcalc {

/// Fractions are stored in millionths; a part without a fraction is offloaded completely.
Offload read_offload(std::string_view text, std::string_view where);
std::string offload_text(const Offload& o);

/// Default share of device memory that tensors may fill: 0.9 for servers, as in vLLM; for inference on unified memory,
/// the share that the system grants to a program.
double usual_utilization(const Request& r);

/// Throws InputError if the hardware has no link to the host, or if the offloaded tensors do not occur in these parts
/// of the answer.
void check_offload(const Request& r, Parts parts);

}  // namespace llmcalc
