#include "presets/header/safetensors.hpp"

#include <array>
#include <utility>

#include "text/plain_header.hpp"
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

/// Whether the tensors, which are in the order of their data, fill `data` bytes without gaps or overlaps.
bool is_filled(std::span<const CheckpointTensor> tensors, Count data) {
  std::uint64_t end = 0;
  for (const CheckpointTensor& t : tensors) {
    if (t.offset != end) return false;
    end += static_cast<std::uint64_t>(t.type->bytes.value);
  }
  return end == static_cast<std::uint64_t>(data);
}

/// Adds the tensors of a plain header of `length` bytes. Returns false if it is not plain or is damaged; some of its
/// tensors may have been added then.
bool add_plain(TensorList& all, const BinaryFile& file, Count length) {
  constexpr Count short_entry = 64;
  const std::size_t before = all.size();
  if (before == 0) all.reserve(static_cast<std::size_t>(length / short_entry));
  const auto add = [&](const PlainTensor& t) {
    const CheckpointTensor& added =
        all.add(t.name, t.dtype, t.shape, static_cast<std::uint64_t>(t.begin), describe_safetensors);
    return t.end - t.begin == added.type->bytes.value;
  };
  try {
    if (!read_plain_header(file, length, add)) return false;
  } catch (const InputError&) {
    return false;
  }
  all.sort_by_offset(before);
  return is_filled(all.from(before), file.size() - safetensors_length_bytes - length) && !all.may_repeat(before);
}

}  // namespace

void add_safetensors(Checkpoint& c, const BinaryFile& file) {
  const std::size_t before = c.tensors.size();
  if (!add_plain(c.tensors, file, safetensors_header_length(file))) {
    c.tensors.truncate(before);
    for (const SafetensorsEntry& e : safetensors_header(file).entries)
      c.tensors.add(e.name, e.dtype, e.shape, static_cast<std::uint64_t>(e.offset), describe_safetensors);
  }
  c.files.push_back(file.path());
  c.file_bytes += Bytes(file.size());
}

}  // namespace llmcalc
