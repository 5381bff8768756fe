#include "learn/safetensors_header.hpp"

#include <fmt/format.h>

#include <set>

#include "text/json.hpp"
#include "text/names.hpp"
#include "text/safetensors_header.hpp"

namespace llmcalc::model {

namespace {

/// Serializes the JSON header. Throws InputError if a key or string is not UTF-8.
std::string dumped(const json::Value& header, const std::string& path) {
  try {
    return header.dump();
  } catch (const json::Value::type_error&) {
    throw InputError(fmt::format("cannot write '{}': a tensor name or a metadata text is not UTF-8", path));
  }
}

}  // namespace

std::optional<Bytes> stored_bytes(std::string_view dtype) {
  const auto bits = safetensors_bits(dtype);
  return bits && *bits % 8 == 0 ? std::optional(Bytes(*bits / 8)) : std::nullopt;
}

std::string header_text(std::span<const StoredTensor> tensors, const Metadata& metadata, const std::string& path) {
  json::Value header = json::Value::object();
  if (!metadata.empty()) header[std::string(safetensors_metadata_key)] = metadata;
  auto& members = header.get_ref<json::Value::object_t&>();
  std::set<std::string_view> names{safetensors_metadata_key};
  Count begin = 0;
  for (const StoredTensor& t : tensors) {
    const std::string where = fmt::format("cannot write '{}', tensor {}", path, in_quotes(t.name));
    if (!names.insert(t.name).second) throw InputError(where + ": duplicate name");
    const Bytes wanted = safetensors_bytes(t.dtype, t.shape, where);
    if (static_cast<std::size_t>(wanted.value) != t.bytes.size())
      throw InputError(
          fmt::format("{}: {} bytes do not match the {} of its dtype and shape", where, t.bytes.size(), wanted.value));
    const Count end = add(begin, wanted.value);
    members.emplace_back(t.name, json::Value{{"dtype", t.dtype}, {"shape", t.shape}, {"data_offsets", {begin, end}}});
    begin = end;
  }
  std::string text = dumped(header, path);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace llmcalc::model
