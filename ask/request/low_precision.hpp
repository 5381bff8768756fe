#pragma once
/// Formats of matmuls, and which matmuls are low-precision (fewer than 16 bits) according to --narrow and
/// --wide-layers: "attention,mlp", "first:2,last:8".

#include <string>
#include <string_view>

#include "ask/request/request.hpp"

namespace llmcalc {

/// Numbers of blocks at the model's start and end whose matmuls stay in 16 bits.
struct WideLayers {
  Count first = 0, last = 0;
};
WideLayers read_wide_layers(std::string_view text, std::string_view where);
std::string wide_layers_text(const LowPrecision& n);

/// Note that states the format of each group of matmuls; empty if there is only one format.
std::string formats_note(const Request& r);

/// Throws InputError if the hardware has no peak for the plan's matmuls.
void check_peak(const Request& r);
/// Throws InputError if no matmul is low-precision, or if the request names matmuls that the model lacks.
void check_low_precision(const Request& r);

}  // namespace llmcalc
