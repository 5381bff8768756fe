#include "learn/safetensors.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "learn/safetensors_header.hpp"
#include "text/json.hpp"
#include "text/names.hpp"
#include "text/whole_file.hpp"

namespace llmcalc::model {

namespace {

static_assert(std::endian::native == std::endian::little, "tensors are stored as they lie in memory");

constexpr std::size_t length_bytes = 8;

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

SafetensorsFile::SafetensorsFile(std::string path) : path_(std::move(path)) {
  file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe without a writer must not hang
  if (file_ < 0) throw InputError(fmt::format("cannot read '{}': {}", path_, std::strerror(errno)));
  try {
    read_header();
  } catch (...) {
    ::close(file_);
    throw;
  }
}

SafetensorsFile::~SafetensorsFile() { ::close(file_); }

void SafetensorsFile::read_header() {
  struct stat status {};
  if (::fstat(file_, &status) != 0) throw InputError(fmt::format("cannot read '{}': {}", path_, std::strerror(errno)));
  if (!S_ISREG(status.st_mode))
    throw InputError(fmt::format("cannot read '{}': it is not a regular file; give a safetensors file", path_));
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size < length_bytes)
    throw InputError(fmt::format("'{}' has {} bytes, too few for a safetensors file; it is cut short or something else",
                                 path_, size));
  std::uint64_t length = 0;
  read_at(0, std::as_writable_bytes(std::span(&length, 1)), "its header length");
  if (length > size - length_bytes)
    throw InputError(
        fmt::format("'{}': its header length, {}, passes the end of the file at {} bytes; it is cut short or not a "
                    "safetensors file",
                    path_, length, size));
  if (length > json::max_bytes)
    throw InputError(fmt::format("'{}': its header length, {}, is more than the {} MiB that are read", path_, length,
                                 json::max_bytes >> 20U));
  std::string text(length, '\0');
  read_at(length_bytes, std::as_writable_bytes(std::span(text)), "its header");
  if (!text.starts_with('{'))
    throw InputError(fmt::format("'{}': its header does not begin with a brace; it is not a safetensors file", path_));
  data_begin_ = static_cast<Count>(length_bytes + length);
  SafetensorsHeader header = parsed_header(text, Bytes(static_cast<Count>(size) - data_begin_), path_);
  metadata_ = std::move(header.metadata);
  entries_ = std::move(header.entries);
}

void SafetensorsFile::read_at(Count offset, std::span<std::byte> into, std::string_view what) const {
  while (!into.empty()) {
    const ssize_t n = ::pread(file_, into.data(), into.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw InputError(fmt::format("cannot read '{}', {}: {}", path_, what, std::strerror(errno)));
    if (n == 0) throw InputError(fmt::format("cannot read '{}', {}: the file became shorter meanwhile", path_, what));
    into = into.subspan(static_cast<std::size_t>(n));
    offset += n;
  }
}

const SafetensorsFile::Entry* SafetensorsFile::find(std::string_view name) const {
  const auto at = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.name == name; });
  return at == entries_.end() ? nullptr : &*at;
}

const SafetensorsFile::Entry& SafetensorsFile::entry(std::string_view name) const {
  const Entry* e = find(name);
  if (e == nullptr)
    throw InputError(fmt::format("'{}': tensor {} is missing; this file belongs to a different model or program", path_,
                                 in_quotes(name)));
  return *e;
}

const SafetensorsFile::Entry& SafetensorsFile::entry(std::string_view name, std::string_view dtype,
                                                     std::span<const Count> shape) const {
  const Entry& e = entry(name);
  if (e.dtype != dtype || !std::equal(e.shape.begin(), e.shape.end(), shape.begin(), shape.end()))
    throw InputError(fmt::format("'{}', tensor {}: expected {} {}, got {} {}; this file belongs to a different model",
                                 path_, in_quotes(name), dtype, shape_text(shape), e.dtype, shape_text(e.shape)));
  return e;
}

const std::string& SafetensorsFile::text(const std::string& key) const {
  const auto at = metadata_.find(key);
  if (at == metadata_.end())
    throw InputError(fmt::format("'{}', \"__metadata__\": {} is missing; this file belongs to a different program",
                                 path_, in_quotes(key)));
  return at->second;
}

void SafetensorsFile::read(const Entry& entry, std::span<std::byte> into) const {
  if (into.size() != static_cast<std::size_t>(entry.bytes.value))
    throw InputError(fmt::format("'{}', tensor {}: its {} bytes do not go into {}", path_, in_quotes(entry.name),
                                 entry.bytes.value, into.size()));
  read_at(data_begin_ + entry.offset, into, fmt::format("tensor {}", in_quotes(entry.name)));
}

void SafetensorsFile::read_part(const Entry& entry, Count first, std::span<std::byte> into) const {
  if (first < 0 || add(first, static_cast<Count>(into.size())) > entry.bytes.value)
    throw std::logic_error("a part of a tensor that passes its end");
  read_at(data_begin_ + entry.offset + first, into, fmt::format("tensor {}", in_quotes(entry.name)));
}

std::vector<std::byte> SafetensorsFile::bytes(const Entry& entry) const {
  std::vector<std::byte> all(static_cast<std::size_t>(entry.bytes.value));
  read(entry, all);
  return all;
}

}  // namespace llmcalc::model
