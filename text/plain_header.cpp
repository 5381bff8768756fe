#include "text/plain_header.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "text/json.hpp"
#include "text/safetensors_header.hpp"

namespace llmcalc {

namespace {

/// The part of a header that is in memory and has not been parsed yet.
class HeaderWindow {
 public:
  HeaderWindow(const BinaryFile& file, Count begin, Count end) : file_(file), next_(begin), end_(end) {}

  std::string_view rest() const { return std::string_view(bytes_.data(), filled_).substr(passed_); }
  void pass_all_but(std::size_t rest) { passed_ = filled_ - rest; }
  /// Reads the next block; if more than a block is in memory, doubles the window instead. Returns false at the header's
  /// end.
  bool extend() {
    if (next_ == end_) return false;
    std::memmove(bytes_.data(), bytes_.data() + passed_, filled_ - passed_);
    filled_ -= std::exchange(passed_, 0);
    const std::size_t more = std::min(static_cast<std::size_t>(end_ - next_), std::max(block, filled_));
    bytes_.resize(std::max(bytes_.size(), filled_ + more));
    file_.read(next_, std::as_writable_bytes(std::span(bytes_).subspan(filled_, more)), "its header");
    next_ += static_cast<Count>(more);
    filled_ += more;
    return true;
  }

 private:
  static constexpr std::size_t block = 65536;
  const BinaryFile& file_;
  Count next_, end_;
  std::vector<char> bytes_ = std::vector<char>(block);
  std::size_t passed_ = 0, filled_ = 0;  ///< number of bytes parsed, and number of bytes read
};

/// Whether a text has only ASCII characters other than controls and the backslash. The text is tested in words of eight
/// bytes: each test sets the high bit of every byte that fails it.
bool is_plain(std::string_view text) {
  constexpr std::uint64_t ones = 0x0101010101010101, high = 0x80 * ones;
  const auto failed = [](std::uint64_t w) { return w | (w - 0x20 * ones) | ((w ^ '\\' * ones) - ones); };
  std::uint64_t word = 0, bad = 0;
  for (; text.size() >= sizeof word; text.remove_prefix(sizeof word)) {
    std::memcpy(&word, text.data(), sizeof word);
    bad |= failed(word);
  }
  word = ' ' * ones;
  std::memcpy(&word, text.data(), text.size());
  return ((bad | failed(word)) & high) == 0;
}

/// A read position in plain JSON. If a method does not find its value, the position is unspecified afterwards.
class PlainJson {
 public:
  explicit PlainJson(std::string_view rest) : rest_(rest) {}
  std::string_view rest() const { return rest_; }

  void skip_space() {
    while (!rest_.empty() && rest_[0] <= ' ' && std::string_view(" \n\t\r").find(rest_[0]) != std::string_view::npos)
      rest_.remove_prefix(1);
  }
  bool take(char c) {
    skip_space();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  /// Reads a string in quotes.
  bool take(std::string_view& text) {
    if (!take('"')) return false;
    text = rest_.substr(0, rest_.find('"'));
    if (text.size() == rest_.size() || !is_plain(text)) return false;
    rest_.remove_prefix(text.size() + 1);
    return true;
  }
  /// Reads a number of at most 18 digits.
  bool take(Count& number) {
    constexpr std::size_t longest = 18;
    skip_space();
    const std::string_view digits = rest_.substr(0, longest + 1);
    std::size_t n = 0;
    Count value = 0;
    for (; n < digits.size() && '0' <= digits[n] && digits[n] <= '9'; ++n) value = 10 * value + (digits[n] - '0');
    if (n == 0 || n > longest || (n > 1 && digits[0] == '0')) return false;
    rest_.remove_prefix(n);
    number = value;
    return true;
  }
  /// Reads a list of numbers.
  bool take(std::vector<Count>& numbers) {
    numbers.clear();
    if (!take('[')) return false;
    if (take(']')) return true;
    do {
      if (!take(numbers.emplace_back())) return false;
    } while (take(','));
    return take(']');
  }
  /// Reads an object and returns its text, including the closing brace.
  std::optional<std::string_view> object() {
    skip_space();
    const std::string_view from = rest_;
    int depth = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i] == '"') quoted = !quoted;
      if (from[i] == '\\')
        ++i;
      else if (!quoted && (from[i] == '{' || from[i] == '}'))
        depth += from[i] == '{' ? 1 : -1;
      if (depth > 0 || i >= from.size()) continue;
      rest_.remove_prefix(i + 1);
      return from.substr(0, i + 1);
    }
    return std::nullopt;
  }

 private:
  std::string_view rest_;
};

/// Whether a JSON text is a map of strings, as the metadata must be.
bool is_metadata(std::string_view text) {
  try {
    const json::Value value = json::parse(text, "metadata");
    return value.is_object() &&
           std::all_of(value.begin(), value.end(), [](const json::Value& v) { return v.is_string(); });
  } catch (const InputError&) {
    return false;
  }
}

class PlainHeader {
 public:
  PlainHeader(HeaderWindow window, const std::function<bool(const PlainTensor&)>& found)
      : window_(std::move(window)), found_(found) {}

  bool read() {
    if (!window_.extend() || !window_.rest().starts_with('{')) return false;
    window_.pass_all_but(window_.rest().size() - 1);
    while (!ended_) {
      while (!read_entry())
        if (!window_.extend()) return false;
      if (!was_wanted_) return false;
    }
    return is_space_to_end();
  }

 private:
  /// Reads a key, its value, and the comma or brace that follows. Returns false if the window has no such entry.
  bool read_entry() {
    PlainJson in(window_.rest());
    if (!in.take(tensor_.name) || !in.take(':')) return false;
    const bool of_tensor = tensor_.name != safetensors_metadata_key;
    const auto metadata = of_tensor ? std::nullopt : in.object();
    if (of_tensor ? !read_tensor(in) : !metadata) return false;
    if (!in.take(',')) {
      if (!in.take('}')) return false;
      ended_ = true;
    }
    was_wanted_ = of_tensor ? found_(tensor_) : is_only_metadata(*metadata);
    window_.pass_all_but(in.rest().size());
    return true;
  }

  /// Reads the three fields of a tensor, in any order.
  bool read_tensor(PlainJson& in) {
    constexpr int all = 7;
    int fields = 0;
    if (!in.take('{')) return false;
    do {
      const int field = read_field(in);
      if (field == 0 || (fields & field) != 0) return false;
      fields |= field;
    } while (in.take(','));
    tensor_.shape = shape_;
    if (fields != all || offsets_.size() != 2) return false;
    tensor_.begin = offsets_[0], tensor_.end = offsets_[1];
    return in.take('}');
  }

  /// The bit of the field that was read, or 0.
  int read_field(PlainJson& in) {
    std::string_view key;
    if (!in.take(key) || !in.take(':')) return 0;
    if (key == "dtype") return in.take(tensor_.dtype) ? 1 : 0;
    if (key == "shape") return in.take(shape_) ? 2 : 0;
    return key == "data_offsets" && in.take(offsets_) ? 4 : 0;
  }

  bool is_only_metadata(std::string_view text) {
    const bool first = !has_metadata_;
    has_metadata_ = true;
    return first && is_metadata(text);
  }

  bool is_space_to_end() {
    do {
      PlainJson in(window_.rest());
      in.skip_space();
      window_.pass_all_but(in.rest().size());
    } while (window_.rest().empty() && window_.extend());
    return window_.rest().empty();
  }

  HeaderWindow window_;
  const std::function<bool(const PlainTensor&)>& found_;
  PlainTensor tensor_;
  std::vector<Count> shape_, offsets_;
  bool ended_ = false, was_wanted_ = true, has_metadata_ = false;
};

}  // namespace

bool read_plain_header(const BinaryFile& file, Count length, const std::function<bool(const PlainTensor&)>& found) {
  return PlainHeader(HeaderWindow(file, safetensors_length_bytes, safetensors_length_bytes + length), found).read();
}

}  // namespace llmcalc
