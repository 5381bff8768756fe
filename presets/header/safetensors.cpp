#include "presets/header/safetensors.hpp"

#include <array>
#include <utility>

#include "text/safetensors_header.hpp"

namespace llmcalc {

namespace {

/// Number format of a safetensors dtype; absent for integers, which contain packed values or are not weights.
std::optional<DType> format_of_dtype(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> known{
      {{"F64", "fp64"}, {"F32", "fp32"}, {"F16", "fp16"}, {"BF16", "bf16"}, {"F8_E4M3", "fp8"}, {"F8_E5M2", "fp8"}}};
  for (const auto& [dtype_name, format] : known)
    if (dtype_name == name) return dtype(format);
  return std::nullopt;
}

/// Completes a type from its format and shape. Throws InputError for an unknown format or too many bits.
void describe_safetensors(TensorType& type) {
  type.bytes = safetensors_bytes(type.format, type.shape, "");
  type.dtype = format_of_dtype(type.format);
  for (const Count n : type.shape) type.numbers = mul(type.numbers, n);
}

}  // namespace

void add_safetensors(Checkpoint& c, const BinaryFile& file) {
  for (const SafetensorsEntry& e : safetensors_header(file).entries)
    c.tensors.add(e.name, e.dtype, e.shape, static_cast<std::uint64_t>(e.offset), describe_safetensors);
  c.files.push_back(file.path());
  c.file_bytes += Bytes(file.size());
}

}  // namespace llmcalc
