#pragma once
/// Sequential reader for the numbers, strings and values of a GGUF file. It reads the file in blocks and checks all
/// bounds.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "text/binary_file.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// Limits on the length of a key or name, the number of keys, the number of tensors, the length of a stored list, and
/// the length of the header. Vocabularies of 262144 strings and their merges occupy 20 MB.
inline constexpr std::uint64_t max_gguf_name = 65535, max_gguf_keys = std::uint64_t{1} << 16,
                               max_gguf_tensors = std::uint64_t{1} << 17, max_gguf_list = 4096,
                               max_gguf_header = std::uint64_t{512} << 20;

class GgufReader {
 public:
  /// Reads the magic number and the version. Throws InputError for other files and unsupported versions.
  explicit GgufReader(const BinaryFile& file);

  /// The next number, in the file's byte order.
  template <typename T>
  T number() {
    std::array<std::byte, sizeof(T)> bytes{};
    take(bytes);
    if (swapped_) std::reverse(bytes.begin(), bytes.end());
    return std::bit_cast<T>(bytes);
  }
  /// The next length: u64, or u32 in version 1.
  std::uint64_t length() { return version_ == 1 ? number<std::uint32_t>() : number<std::uint64_t>(); }
  /// The next length as a count below 2^63. `what` names it in error messages.
  Count count(const char* what);
  /// The next length, which is the number of `what`. Throws InputError if it exceeds `most`.
  std::uint64_t counted(const char* what, std::uint64_t most);
  /// The next string, of at most `most` bytes, in printable() form.
  std::string text(std::uint64_t most, const char* what);
  /// Reads the next type and value: a number, a flag, a string or a list of numbers. Absent if the value is skipped.
  std::optional<json::Value> value(const std::string& key);

  std::uint64_t position() const { return position_; }
  std::uint64_t size() const { return static_cast<std::uint64_t>(file_.size()); }
  std::string where() const { return "'" + file_.path() + "'"; }
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  void take(std::span<std::byte> into);
  void skip(std::uint64_t bytes);
  void require(std::uint64_t bytes) const;
  json::Value scalar(std::uint32_t type, const std::string& key);
  std::optional<json::Value> list(const std::string& key);

  const BinaryFile& file_;
  std::vector<std::byte> block_;  ///< bytes of the file, starting at block_begin_
  std::uint64_t block_begin_ = 0, position_ = 0;
  std::uint32_t version_ = 0;
  bool swapped_ = false;
};

}  // namespace llmcalc
