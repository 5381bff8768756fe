#include "text/safetensors_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>

#include "text/json.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

using Entry = SafetensorsEntry;

static_assert(std::endian::native == std::endian::little, "the header's length is read as it lies in memory");

/// The format's dtypes and their bits per element (safetensors/src/tensor.rs, Dtype).
constexpr std::array<std::pair<std::string_view, Count>, 22> dtype_bits{
    {{"F64", 64},    {"F32", 32},        {"BF16", 16},       {"F16", 16},    {"F8_E4M3", 8}, {"F8_E5M2", 8},
     {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F4", 4},
     {"C64", 64},    {"I64", 64},        {"U64", 64},        {"I32", 32},    {"U32", 32},    {"I16", 16},
     {"U16", 16},    {"I8", 8},          {"U8", 8},          {"BOOL", 8}}};

std::string known_dtypes() {
  std::string all;
  for (const auto& [name, bits] : dtype_bits) all += fmt::format("{}{}", all.empty() ? "" : ", ", name);
  return all;
}

/// A tensor's offsets for error messages: "0 to 16".
std::string offsets_text(const Entry& e) { return fmt::format("{} to {}", e.offset, e.offset + e.bytes.value); }

Entry parsed_entry(const std::string& name, const json::Value& value, const std::string& path, Bytes data) {
  const json::Object object(value, fmt::format("'{}', tensor {}", path, in_quotes(name)));
  Entry e{name, object.text("dtype"), object.counts("shape"), 0, {}};
  const auto offsets = object.counts("data_offsets");
  object.refuse_unread();
  if (offsets.size() != 2 || offsets[0] > offsets[1])
    throw InputError(object.where() + ": \"data_offsets\" is not a pair of begin and end; the file is damaged");
  if (offsets[1] > data.value)
    throw InputError(
        fmt::format("{}: \"data_offsets\" end at {}, past the {} bytes of data; the file is truncated or damaged",
                    object.where(), offsets[1], data.value));
  e.offset = offsets[0];
  e.bytes = Bytes(offsets[1] - offsets[0]);
  const Bytes wanted = safetensors_bytes(e.dtype, e.shape, object.where());
  if (wanted != e.bytes)
    throw InputError(
        fmt::format("{}: \"data_offsets\" span {} bytes, but \"dtype\" and \"shape\" require {}; the file is damaged",
                    object.where(), e.bytes.value, wanted.value));
  return e;
}

std::map<std::string, std::string> parsed_metadata(const json::Value& value, const std::string& path) {
  const json::Object object(value, fmt::format("'{}', \"__metadata__\"", path));
  std::map<std::string, std::string> metadata;
  for (const auto& [key, text] : value.get_ref<const json::Value::object_t&>()) {
    if (!text.is_string())
      throw InputError(
          fmt::format("{}, {}: expected a string in quotes; the file is damaged", object.where(), in_quotes(key)));
    metadata.emplace(key, text.get<std::string>());
  }
  return metadata;
}

/// Throws unless every byte belongs to exactly one tensor. `entries` are sorted by offset.
void refuse_unless_filled(const std::vector<Entry>& entries, Bytes data, const std::string& path) {
  Count end = 0;
  for (const Entry& e : entries) {
    if (e.offset != end)
      throw InputError(fmt::format("'{}', tensor {}: \"data_offsets\" {} {}; the file is damaged", path,
                                   in_quotes(e.name), offsets_text(e),
                                   e.offset < end ? fmt::format("overlap the previous tensor, which ends at {}", end)
                                                  : fmt::format("leave a gap after {}", end)));
    end += e.bytes.value;
  }
  if (end != data.value)
    throw InputError(fmt::format("'{}': the tensors end at {}, but the file has {} bytes of data; the file is damaged",
                                 path, end, data.value));
}

}  // namespace

std::optional<Count> safetensors_bits(std::string_view dtype) {
  for (const auto& [name, bits] : dtype_bits)
    if (name == dtype) return bits;
  return std::nullopt;
}

Bytes safetensors_bytes(const std::string& dtype, std::span<const Count> shape, const std::string& where) {
  const auto each = safetensors_bits(dtype);
  if (!each)
    throw InputError(fmt::format("{}: unknown dtype {}; valid dtypes are {}", where, in_quotes(dtype), known_dtypes()));
  try {
    Count bits = *each;
    for (const Count n : shape) bits = mul(bits, n);
    return Bytes(ceil_div(bits, 8));
  } catch (const Overflow&) {
    throw InputError(fmt::format("{}: the shape exceeds 2^63 bits; the file is damaged", where));
  }
}

SafetensorsHeader parsed_header(std::string_view json, Bytes data, const std::string& path) {
  const json::Value value = json::parse(json, fmt::format("'{}', header", path));
  const json::Object object(value, fmt::format("'{}', header", path));
  SafetensorsHeader header;
  for (const auto& [name, entry] : value.get_ref<const json::Value::object_t&>()) {
    if (name == safetensors_metadata_key)
      header.metadata = parsed_metadata(entry, path);
    else
      header.entries.push_back(parsed_entry(name, entry, path, data));
  }
  // An empty tensor sorts before a nonempty one at the same offset.
  std::stable_sort(header.entries.begin(), header.entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
  });
  refuse_unless_filled(header.entries, data, path);
  return header;
}

Count safetensors_header_length(const BinaryFile& file) {
  const auto size = static_cast<std::uint64_t>(file.size());
  const std::string& path = file.path();
  if (size < safetensors_length_bytes)
    throw InputError(fmt::format(
        "'{}' has {} bytes, too few for a safetensors file; it is truncated or has a different format", path, size));
  std::uint64_t length = 0;
  file.read(0, std::as_writable_bytes(std::span(&length, 1)), "its header length");
  if (length > size - safetensors_length_bytes)
    throw InputError(fmt::format(
        "'{}': the header length, {}, exceeds the file size of {} bytes; it is truncated or not a safetensors file",
        path, length, size));
  if (length > json::max_bytes)
    throw InputError(
        fmt::format("'{}': the header length, {}, exceeds the limit of {} MiB", path, length, json::max_bytes >> 20U));
  return static_cast<Count>(length);
}

SafetensorsHeader safetensors_header(const BinaryFile& file) {
  const Count length = safetensors_header_length(file);
  std::string text(static_cast<std::size_t>(length), '\0');
  file.read(safetensors_length_bytes, std::as_writable_bytes(std::span(text)), "its header");
  if (!text.starts_with('{'))
    throw InputError(
        fmt::format("'{}': the header does not begin with a brace; it is not a safetensors file", file.path()));
  const Count begin = safetensors_length_bytes + length;
  SafetensorsHeader header = parsed_header(text, Bytes(file.size() - begin), file.path());
  header.data_begin = begin;
  return header;
}

}  // namespace llmcalc
