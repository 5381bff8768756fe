#include <fmt/format.h>

#include "presets/import/quantization/schemes/parts.hpp"
#include "presets/import/quantization/schemes/readers.hpp"

namespace llmcalc::import {

namespace {

using json::Object;

/// github.com/bitsandbytes-foundation/bitsandbytes, functional.py, QuantState.as_dict: in addition to values and
/// scales, the file stores a table of 16 float32 values and the state as text. quantize_4bit quantizes blocks of 64
/// values of the flattened matrix. Double quantization adds a table of 256 float32 values, and an offset to the text,
/// which is assumed to have 20 characters.
Packing four_bits(std::string_view type, bool twice, const std::string& base) {
  Packing p = packing(row(twice ? "nf4-dq" : "nf4"));
  p.flat = true;
  p.bytes.tensor_bytes = twice ? 64 + 1024 : 64;
  p.state = fmt::format(R"({{"quant_type": "{}", "blocksize": 64, "dtype": "{}", "shape": {})", type, base,
                        Packing::shape_mark);
  if (twice)
    p.state += fmt::format(R"(, "nested_blocksize": 256, "nested_dtype": "float32", "nested_offset": {:020})", 0);
  p.state += "}";
  return p;
}

}  // namespace

/// hf quantizers/quantizer_bnb_4bit.py, quantizer_bnb_8bit.py: the head is not quantized unless the list of excluded
/// modules states otherwise. The int8 format stores a byte per matrix for the order of its values, and multiplies in
/// int8 (MatMul8bitLt). Ignores the few columns with outlier inputs, which it multiplies in 16 bits.
Scheme bitsandbytes(const Object& q, const SchemeContext& context) {
  const auto on = [&](const std::string& key) {  // always reads both spellings of the key
    const bool older = q.flag_or("_" + key, false);
    return q.flag_or(key, false) || older;
  };
  const bool four = on("load_in_4bit"), eight = on("load_in_8bit");
  if (!four && !eight) refuse_scheme(q, "bitsandbytes with neither load_in_4bit nor load_in_8bit");
  const std::string type = q.text_or("bnb_4bit_quant_type", "fp4");
  const bool twice = q.flag_or("bnb_4bit_use_double_quant", false);
  const DType int8 = row("int8");
  return {.groups = eight ? every_matrix(with_tensor_bytes(int8, 1), int8)
                          : every_matrix(four_bits(type, twice, context.dtype)),
          .kept = modules(q, {"llm_int8_skip_modules"})};
}

}  // namespace llmcalc::import
