#include "presets/header/gguf_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text/names.hpp"

namespace llmcalc {

namespace {

/// Value types (docs/gguf.md, gguf_metadata_value_type), and the byte sizes of the fixed-size types.
enum GgufValue : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, flag, text_value, array, u64, i64, f64 };
constexpr std::array<std::uint64_t, 13> value_bytes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

constexpr std::size_t block_bytes = 65536;

std::uint32_t other_order(std::uint32_t n) {
  auto bytes = std::bit_cast<std::array<std::byte, 4>>(n);
  std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<std::uint32_t>(bytes);
}

}  // namespace

GgufReader::GgufReader(const BinaryFile& file) : file_(file) {
  std::array<char, 4> magic{};
  take(std::as_writable_bytes(std::span(magic)));
  if (std::string_view(magic.data(), magic.size()) != "GGUF")
    refuse("not a GGUF file; it does not begin with \"GGUF\"");
  version_ = number<std::uint32_t>();
  swapped_ = version_ > 0xffff;
  if (swapped_) version_ = other_order(version_);
  if (version_ < 1 || version_ > 3)
    refuse(fmt::format("GGUF version {} is not supported; expected version 1, 2 or 3", version_));
}

void GgufReader::refuse(const std::string& what) const { throw InputError(fmt::format("{}: {}", where(), what)); }

void GgufReader::require(std::uint64_t bytes) const {
  if (bytes > size() - position_)
    refuse(fmt::format("the header extends past the end of the file at {} bytes; the file is truncated or damaged",
                       size()));
  if (position_ + bytes > max_gguf_header)
    refuse(fmt::format("the header is longer than the supported {} MiB; the file is damaged", max_gguf_header >> 20U));
}

void GgufReader::take(std::span<std::byte> into) {
  require(into.size());
  while (!into.empty()) {
    std::uint64_t at = position_ - block_begin_;
    if (at >= block_.size()) {
      block_.resize(std::min<std::uint64_t>(block_bytes, size() - position_));
      file_.read(static_cast<Count>(position_), block_, "its header");
      block_begin_ = position_;
      at = 0;
    }
    const std::size_t n = std::min<std::uint64_t>(into.size(), block_.size() - at);
    std::memcpy(into.data(), block_.data() + at, n);
    into = into.subspan(n);
    position_ += n;
  }
}

void GgufReader::skip(std::uint64_t bytes) {
  require(bytes);
  position_ += bytes;
  if (position_ >= block_begin_ + block_.size()) block_.clear();
}

Count GgufReader::count(const char* what) {
  const std::uint64_t n = length();
  if (n >> 63U != 0) refuse(fmt::format("{} is {}, which exceeds 2^63; the file is damaged", what, n));
  return static_cast<Count>(n);
}

std::uint64_t GgufReader::counted(const char* what, std::uint64_t most) {
  const std::uint64_t n = length();
  if (n > most)
    refuse(fmt::format("the header states {} {}; at most {} are supported, so the file is damaged", n, what, most));
  return n;
}

std::string GgufReader::text(std::uint64_t most, const char* what) {
  const std::uint64_t n = length();
  if (n > most) refuse(fmt::format("{} has {} bytes; at most {} are supported, so the file is damaged", what, n, most));
  require(n);
  std::string out(n, '\0');
  take(std::as_writable_bytes(std::span(out)));
  return printable(out);
}

json::Value GgufReader::scalar(std::uint32_t type, const std::string& key) {
  switch (type) {
    case u8:
      return number<std::uint8_t>();
    case i8:
      return number<std::int8_t>();
    case u16:
      return number<std::uint16_t>();
    case i16:
      return number<std::int16_t>();
    case u32:
      return number<std::uint32_t>();
    case i32:
      return number<std::int32_t>();
    case f32:
      return number<float>();
    case flag:
      return number<std::uint8_t>() != 0;
    case u64:
      return number<std::uint64_t>();
    case i64:
      return number<std::int64_t>();
    case f64:
      return number<double>();
    default:
      refuse(fmt::format("key {} has a value of type {}, which is invalid here; the file is damaged", in_quotes(key),
                         type));
  }
}

/// A list of numbers; absent for a long list or a list of strings.
std::optional<json::Value> GgufReader::list(const std::string& key) {
  const auto type = number<std::uint32_t>();
  const std::uint64_t n = length();
  if (type == text_value) {
    for (std::uint64_t i = 0; i < n; ++i) skip(length());
    return std::nullopt;
  }
  const std::uint64_t each = type < value_bytes.size() ? value_bytes[type] : 0;
  if (each == 0)
    refuse(fmt::format("key {} is a list of values of invalid type {}; the file is damaged", in_quotes(key), type));
  if (n > size() / each)
    refuse(fmt::format(
        "key {} is a list of {} values that extends past the end of the file at {} bytes; the file is truncated or "
        "damaged",
        in_quotes(key), n, size()));
  if (n > max_gguf_list) {
    skip(n * each);
    return std::nullopt;
  }
  json::Value out = json::Value::array();
  for (std::uint64_t i = 0; i < n; ++i) out.push_back(scalar(type, key));
  return out;
}

std::optional<json::Value> GgufReader::value(const std::string& key) {
  const auto type = number<std::uint32_t>();
  if (type == array) return list(key);
  if (type != text_value) return scalar(type, key);
  const std::uint64_t n = length();
  if (n > max_gguf_name) {  // for example a chat template or a license
    skip(n);
    return std::nullopt;
  }
  require(n);
  std::string out(n, '\0');
  take(std::as_writable_bytes(std::span(out)));
  return printable(out);
}

}  // namespace llmcalc
