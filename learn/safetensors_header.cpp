#include "learn/safetensors_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "text/json.hpp"
#include "text/names.hpp"

namespace llmcalc::model {

namespace {

using Entry = SafetensorsFile::Entry;

constexpr std::string_view metadata_key = "__metadata__";

/// The number of bytes that follows from dtype and shape.
Bytes wanted_bytes(const std::string& dtype, std::span<const Count> shape, const std::string& where) {
  const auto each = stored_bytes(dtype);
  if (!each)
    throw InputError(
        fmt::format("{}: unknown dtype {}; F64, F32, BF16, F16, I64, I32 and U8 are known", where, in_quotes(dtype)));
  try {
    Bytes total = *each;
    for (const Count n : shape) total = n * total;
    return total;
  } catch (const Overflow&) {
    throw InputError(fmt::format("{}: its shape has more than 2^63 bytes; the file is damaged", where));
  }
}

/// "0 to 16 bytes", and what else is said about offsets, in one place.
std::string spoken(const Entry& e) { return fmt::format("{} to {}", e.offset, e.offset + e.bytes.value); }

Entry parsed_entry(const std::string& name, const json::Value& value, const std::string& path, Bytes data) {
  const json::Object object(value, fmt::format("'{}', tensor {}", path, in_quotes(name)));
  Entry e{name, object.text("dtype"), object.counts("shape"), 0, {}};
  const auto offsets = object.counts("data_offsets");
  object.refuse_unread();
  if (offsets.size() != 2 || offsets[0] > offsets[1])
    throw InputError(object.where() + ": \"data_offsets\" are not a begin and an end; the file is damaged");
  if (offsets[1] > data.value)
    throw InputError(
        fmt::format("{}: \"data_offsets\" end at {}, past the {} bytes of data; the file is cut short or damaged",
                    object.where(), offsets[1], data.value));
  e.offset = offsets[0];
  e.bytes = Bytes(offsets[1] - offsets[0]);
  const Bytes wanted = wanted_bytes(e.dtype, e.shape, object.where());
  if (wanted != e.bytes)
    throw InputError(
        fmt::format("{}: \"data_offsets\" hold {} bytes, \"dtype\" and \"shape\" ask for {}; the file is damaged",
                    object.where(), e.bytes.value, wanted.value));
  return e;
}

Metadata parsed_metadata(const json::Value& value, const std::string& path) {
  const json::Object object(value, fmt::format("'{}', \"__metadata__\"", path));
  Metadata metadata;
  for (const auto& [key, text] : value.get_ref<const json::Value::object_t&>()) {
    if (!text.is_string())
      throw InputError(
          fmt::format("{}, {}: expected a string in quotes; the file is damaged", object.where(), in_quotes(key)));
    metadata.emplace(key, text.get<std::string>());
  }
  return metadata;
}

/// Every byte belongs to exactly one tensor. `entries` are in the order of their offsets.
void refuse_unless_filled(const std::vector<Entry>& entries, Bytes data, const std::string& path) {
  Count end = 0;
  for (const Entry& e : entries) {
    if (e.offset != end)
      throw InputError(fmt::format("'{}', tensor {}: \"data_offsets\" {} {}; the file is damaged", path,
                                   in_quotes(e.name), spoken(e),
                                   e.offset < end ? fmt::format("overlap the tensor before, which ends at {}", end)
                                                  : fmt::format("leave a hole after {}", end)));
    end += e.bytes.value;
  }
  if (end != data.value)
    throw InputError(fmt::format("'{}': its tensors end at {}, its {} bytes of data do not; the file is damaged", path,
                                 end, data.value));
}

/// A JSON key or text must be UTF-8.
std::string dumped(const json::Value& header, const std::string& path) {
  try {
    return header.dump();
  } catch (const json::Value::type_error&) {
    throw InputError(fmt::format("cannot write '{}': a tensor's name or a text of the metadata is not UTF-8", path));
  }
}

}  // namespace

std::optional<Bytes> stored_bytes(std::string_view dtype) {
  static constexpr std::pair<std::string_view, Count> known[] = {{"F64", 8},  {"I64", 8}, {"F32", 4}, {"I32", 4},
                                                                 {"BF16", 2}, {"F16", 2}, {"U8", 1}};
  for (const auto& [name, bytes] : known)
    if (name == dtype) return Bytes(bytes);
  return std::nullopt;
}

SafetensorsHeader parsed_header(std::string_view json, Bytes data, const std::string& path) {
  const json::Value value = json::parse(json, fmt::format("'{}', header", path));
  const json::Object object(value, fmt::format("'{}', header", path));
  SafetensorsHeader header;
  for (const auto& [name, entry] : value.get_ref<const json::Value::object_t&>()) {
    if (name == metadata_key)
      header.metadata = parsed_metadata(entry, path);
    else
      header.entries.push_back(parsed_entry(name, entry, path, data));
  }
  // A tensor without bytes stands before the one that begins where it does.
  std::stable_sort(header.entries.begin(), header.entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
  });
  refuse_unless_filled(header.entries, data, path);
  return header;
}

std::string header_text(std::span<const StoredTensor> tensors, const Metadata& metadata, const std::string& path) {
  json::Value header = json::Value::object();
  if (!metadata.empty()) header[std::string(metadata_key)] = metadata;
  auto& members = header.get_ref<json::Value::object_t&>();
  std::set<std::string_view> names{metadata_key};
  Count begin = 0;
  for (const StoredTensor& t : tensors) {
    const std::string where = fmt::format("cannot write '{}', tensor {}", path, in_quotes(t.name));
    if (!names.insert(t.name).second) throw InputError(where + ": the name is taken");
    const Bytes wanted = wanted_bytes(t.dtype, t.shape, where);
    if (static_cast<std::size_t>(wanted.value) != t.bytes.size())
      throw InputError(
          fmt::format("{}: {} bytes are not the {} of its dtype and shape", where, t.bytes.size(), wanted.value));
    const Count end = add(begin, wanted.value);
    members.emplace_back(t.name, json::Value{{"dtype", t.dtype}, {"shape", t.shape}, {"data_offsets", {begin, end}}});
    begin = end;
  }
  std::string text = dumped(header, path);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace llmcalc::model
