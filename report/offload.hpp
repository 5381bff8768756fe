#pragma once
/// Offload to the host's memory as --offload says it: "optimizer", "activations:0.5,weights", "experts:0.9", "none".

#include <string>
#include <string_view>

#include "report/request.hpp"

namespace llmcalc {

/// Fractions in millionths; without one, all of it.
Offload read_offload(std::string_view text, std::string_view where);
std::string offload_text(const Offload& o);

/// Throws InputError where the hardware states no way to the host, or what is to lie there is not in these parts.
void check_offload(const Request& r, Parts parts);

}  // namespace llmcalc
