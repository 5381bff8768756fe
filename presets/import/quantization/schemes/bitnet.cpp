#include <fmt/format.h>

#include "presets/import/quantization/schemes/parts.hpp"
#include "presets/import/quantization/schemes/readers.hpp"

namespace llmcalc::import {

/// hf integrations/bitnet.py: every matrix except the head has 2 bits per value, with four values of a column in a
/// byte, and a 16-bit scale. In "online" mode, the file stores the matrices in the config's dtype, and loading
/// converts them to -1, 0 and 1. The rounding of inputs to 8 bits is ignored, because transformers runs the matmuls
/// in 16 bits.
Scheme bitnet(const json::Object& q, const SchemeContext&) {
  const std::string mode = q.text_or("quantization_mode", "offline"), linear = q.text_or("linear_class", "bitlinear");
  if (linear != "bitlinear" && linear != "autobitlinear") refuse_scheme(q, fmt::format("linear_class {}", linear));
  if (q.flag_or("use_rms_norm", false)) refuse_scheme(q, "use_rms_norm");
  if (mode != "offline" && mode != "online") refuse_scheme(q, fmt::format("quantization_mode {}", mode));
  Scheme s{.kept = modules(q, {"modules_to_not_convert"})};
  if (mode == "offline") s.groups = every_matrix(packing(row("ternary")));
  return s;
}

}  // namespace llmcalc::import
