#include "learn/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "learn/safetensors_header.hpp"
#include "text/error.hpp"
#include "text/names.hpp"
#include "text/whole_file.hpp"

namespace llmcalc::model {

namespace {

static_assert(std::endian::native == std::endian::little,
              "safetensors are little-endian, and tensors are written in the host's byte order");

std::string shape_text(std::span<const Count> shape) {
  std::string text;
  for (const Count n : shape) text += fmt::format("{}{}", text.empty() ? "" : ", ", n);
  return "[" + text + "]";
}

}  // namespace

void write_safetensors(const std::string& path, std::span<const StoredTensor> tensors, const Metadata& metadata) {
  const std::string header = header_text(tensors, metadata, path);
  const std::uint64_t length = header.size();
  WholeFile file(path);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(std::as_bytes(std::span(header)));
  for (const StoredTensor& t : tensors) file.write(t.bytes);
  file.finish();
}

SafetensorsFile::SafetensorsFile(std::string path) : file_(std::move(path), "a safetensors file") {
  SafetensorsHeader header = safetensors_header(file_);
  data_begin_ = header.data_begin;
  metadata_ = std::move(header.metadata);
  entries_ = std::move(header.entries);
}

const SafetensorsFile::Entry* SafetensorsFile::find(std::string_view name) const {
  const auto at = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.name == name; });
  return at == entries_.end() ? nullptr : &*at;
}

const SafetensorsFile::Entry& SafetensorsFile::entry(std::string_view name) const {
  const Entry* e = find(name);
  if (e == nullptr)
    throw InputError(fmt::format("'{}': tensor {} is missing; this file belongs to a different model or program",
                                 path(), in_quotes(name)));
  return *e;
}

const SafetensorsFile::Entry& SafetensorsFile::entry(std::string_view name, std::string_view dtype,
                                                     std::span<const Count> shape) const {
  const Entry& e = entry(name);
  if (e.dtype != dtype || !std::equal(e.shape.begin(), e.shape.end(), shape.begin(), shape.end()))
    throw InputError(fmt::format("'{}', tensor {}: expected {} {}, got {} {}; this file belongs to a different model",
                                 path(), in_quotes(name), dtype, shape_text(shape), e.dtype, shape_text(e.shape)));
  return e;
}

const std::string& SafetensorsFile::text(const std::string& key) const {
  const auto at = metadata_.find(key);
  if (at == metadata_.end())
    throw InputError(fmt::format("'{}', \"__metadata__\": {} is missing; this file belongs to a different program",
                                 path(), in_quotes(key)));
  return at->second;
}

void SafetensorsFile::read(const Entry& entry, std::span<std::byte> into) const {
  if (into.size() != static_cast<std::size_t>(entry.bytes.value))
    throw InputError(fmt::format("'{}', tensor {}: {} bytes in the file, but {} bytes expected", path(),
                                 in_quotes(entry.name), entry.bytes.value, into.size()));
  file_.read(data_begin_ + entry.offset, into, fmt::format("tensor {}", in_quotes(entry.name)));
}

void SafetensorsFile::read_part(const Entry& entry, Count first, std::span<std::byte> into) const {
  if (first < 0 || add(first, static_cast<Count>(into.size())) > entry.bytes.value)
    throw std::logic_error("part of a tensor exceeds its end");
  file_.read(data_begin_ + entry.offset + first, into, fmt::format("tensor {}", in_quotes(entry.name)));
}

std::vector<std::byte> SafetensorsFile::bytes(const Entry& entry) const {
  std::vector<std::byte> all(static_cast<std::size_t>(entry.bytes.value));
  read(entry, all);
  return all;
}

}  // namespace llmcalc::model
