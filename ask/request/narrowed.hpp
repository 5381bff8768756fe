#pragma once
/// Formats of products, and those in fewer than 16 bits as --narrow and --wide-layers say them: "attention,mlp",
/// "first:2,last:8".

#include <string>
#include <string_view>

#include "ask/request/request.hpp"

namespace llmcalc {

/// Blocks at the model's start and end.
struct WideLayers {
  Count first = 0, last = 0;
};
WideLayers read_wide_layers(std::string_view text, std::string_view where);
std::string wide_layers_text(const Narrowed& n);

/// What is multiplied in which format; empty where there is one.
std::string formats_note(const Request& r);

/// Throws InputError where the hardware has no peak for the plan's products.
void check_peak(const Request& r);
/// Throws InputError where no product is in fewer than 16 bits, or one is asked for that the model does not have.
void check_narrowed(const Request& r);

}  // namespace llmcalc
