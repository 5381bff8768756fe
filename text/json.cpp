#include "text/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "text/json_questions.hpp"
#include "text/json_schema.hpp"
#include "text/json_text.hpp"
#include "text/names.hpp"

namespace llmcalc::json {

namespace {

/// Description of a value for an error message.
std::string spoken(const Value& v) {
  if (v.is_object()) return "an object";
  if (v.is_array()) return "a list";
  if (v.is_string()) return in_quotes(v.get_ref<const std::string&>());
  return shown(v);
}

/// Line and column, both counted from 1, of the byte at `offset`.
std::string line_and_column(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return fmt::format("{}:{}", line, before.size() - start + 1);
}

/// Iterator over a string that counts the bytes read, since the parser does not report positions to its event handlers.
class CountingByte {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingByte(const char* at, std::size_t& passed) : at_(at), passed_(&passed) {}
  reference operator*() const { return *at_; }
  CountingByte& operator++() {
    ++at_;
    ++*passed_;
    return *this;
  }
  CountingByte operator++(int) {
    CountingByte before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingByte& o) const { return at_ == o.at_; }

 private:
  const char* at_;
  std::size_t* passed_;
};

/// Builds the document from the parser's events. The parser has an explicit stack, so nesting does not cause recursion.
class Builder : public nlohmann::json_sax<Value> {
 public:
  Builder(std::string_view text, std::string where) : text_(text), where_(std::move(where)) {}

  Value document() && {
    const char* begin = text_.data();
    Value::sax_parse(CountingByte(begin, passed_), CountingByte(begin + text_.size(), passed_), this);
    return std::move(root_);
  }

  bool null() override { return put(nullptr); }
  bool boolean(bool v) override { return put(v); }
  bool number_integer(number_integer_t v) override { return put(v); }
  bool number_unsigned(number_unsigned_t v) override { return put(v); }
  bool number_float(number_float_t v, const string_t&) override { return put(v); }
  bool string(string_t& v) override { return put(std::move(v)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Value::object()); }
  bool start_array(std::size_t) override { return open(Value::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& k) override {
    if (open_.back().has(k))
      throw InputError(fmt::format("{}:{}: key {} appears twice; remove one", where_, line(), in_quotes(k)));
    key_ = std::move(k);
    return true;
  }

  bool parse_error(std::size_t position, const std::string& token, const nlohmann::detail::exception& e) override {
    const std::string at = fmt::format("{}:{}", where_, line_and_column(text_, position == 0 ? 0 : position - 1));
    if (dynamic_cast<const Value::out_of_range*>(&e) != nullptr)
      throw InputError(fmt::format("{}: {} is outside the range of a double; use a smaller number", at, token));
    if (position > text_.size()) throw InputError(at + ": unexpected end of input; the file is truncated or not JSON");
    throw InputError(fmt::format("{}: unexpected {}; the file is not JSON from here on", at, byte_at(position - 1)));
  }

 private:
  /// The line of the last byte read, counted from 1.
  std::ptrdiff_t line() const {
    const std::string_view read = text_.substr(0, passed_);
    return 1 + std::count(read.begin(), read.end(), '\n');
  }

  struct Level {
    Value* value;
    std::unordered_set<std::size_t> hashes;  ///< hashes of the keys of a large object, whose key list is slow to search

    bool lists(const std::string& key) const {
      const auto& list = value->get_ref<const Value::object_t&>();
      return std::any_of(list.begin(), list.end(), [&](const auto& entry) { return entry.first == key; });
    }

    /// Whether the object has the key. For a large object, also records the key.
    bool has(const std::string& key) {
      const auto& list = value->get_ref<const Value::object_t&>();
      if (list.size() < 16) return lists(key);
      const std::hash<std::string> hash;
      if (hashes.empty())
        for (const auto& [known, ignored] : list) hashes.insert(hash(known));
      return !hashes.insert(hash(key)).second && lists(key);
    }
  };

  std::string byte_at(std::size_t offset) const {
    const auto byte = static_cast<unsigned char>(text_[std::min(offset, text_.size() - 1)]);
    if (byte == '\n') return "end of line";
    return byte > 0x20 && byte < 0x7f ? fmt::format("'{}'", static_cast<char>(byte))
                                      : fmt::format("byte {:#04x}", byte);
  }

  /// Stores a value in the innermost open container and returns the value's address.
  Value* put_at(Value v) {
    if (open_.empty()) {
      root_ = std::move(v);
      return &root_;
    }
    Value& parent = *open_.back().value;
    if (parent.is_array()) return &parent.get_ref<Value::array_t&>().emplace_back(std::move(v));
    return &parent.get_ref<Value::object_t&>().emplace_back(std::move(key_), std::move(v)).second;
  }

  template <typename T>
  bool put(T&& v) {
    put_at(Value(std::forward<T>(v)));
    return true;
  }

  bool open(Value v) {
    if (open_.size() == static_cast<std::size_t>(max_depth))
      throw InputError(fmt::format("{}: nested more than {} levels deep, which is not supported; reduce the nesting",
                                   where_, max_depth));
    open_.push_back({put_at(std::move(v)), {}});
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  std::string where_;
  std::size_t passed_ = 0;  ///< bytes of the text that have been read
  Value root_;
  std::vector<Level> open_;
  std::string key_;
};

}  // namespace

std::string shown(const Value& value) {
  return printable(value.is_string() ? value.get_ref<const std::string&>()
                                     : value.dump(-1, ' ', false, Value::error_handler_t::replace));
}

std::string without_infinities(std::string_view text) {
  static constexpr std::array<std::string_view, 3> names = {"-Infinity", "Infinity", "NaN"};
  std::string out;
  out.reserve(text.size());
  bool quoted = false;
  for (std::size_t i = 0; i < text.size();) {
    const auto named = [&](std::string_view name) { return !quoted && text.substr(i).starts_with(name); };
    const auto name = std::find_if(names.begin(), names.end(), named);
    const bool escape = quoted && text[i] == '\\';
    if (text[i] == '"') quoted = !quoted;
    const std::size_t taken = name != names.end() ? name->size() : escape ? 2 : 1;
    out += name != names.end() ? "null" : text.substr(i, taken);
    i += taken;
  }
  return out;
}

Value parse(std::string_view text, const std::string& where, std::size_t most) {
  if (text.size() > most) throw InputError(fmt::format("{} exceeds the limit of {} MiB", where, most >> 20));
  if (text.find('\0') != std::string_view::npos)
    throw InputError(where + " contains a zero byte and is not JSON; save it as UTF-8 text");
  return Builder(text, where).document();
}

Object::Object(const Value& value, std::string where) : value_(&value), where_(std::move(where)) {
  if (!value.is_object())
    throw InputError(fmt::format("{}: expected an object in braces, got {}", where_, spoken(value)));
}

bool Object::was_read(std::string_view key) const { return std::find(read_.begin(), read_.end(), key) != read_.end(); }

const Value* Object::find(std::string_view key) const {
  if (is_describing()) return current_questions()->find(where_, key);
  if (!was_read(key)) read_.emplace_back(key);
  for (const auto& [name, value] : value_->get_ref<const Value::object_t&>())
    if (name == key) return value.is_null() ? nullptr : &value;
  return nullptr;
}

bool Object::has(std::string_view key) const { return find(key) != nullptr; }

bool is_describing() { return current_questions() != nullptr; }

void Object::expect(std::string_view key, const Expected& value) const {
  current_questions()->expects(where_, key, value);
}

void Object::need(std::string_view key, const Expected& value) const {
  expect(key, value);
  current_questions()->needs(where_, key);
}

namespace {

[[noreturn]] void refuse(const std::string& where, const std::string& what, const Value* found,
                         std::string_view expected) {
  throw InputError(
      fmt::format("{}, {}: expected {}, got {}", where, what, expected, found ? spoken(*found) : "nothing"));
}

constexpr std::string_view whole = "a whole number of at least 0";
constexpr std::string_view whole_from_1 = "a whole number of at least 1";
constexpr std::string_view a_number = "a finite number";
constexpr std::string_view a_flag = "true or false";
constexpr std::string_view a_text = "a string in quotes";

Value type_schema(const char* type) { return {{"type", type}}; }
Value whole_schema(Count least) { return {{"type", "integer"}, {"minimum", least}}; }
Value list_schema(const Value& item) { return {{"type", "array"}, {"items", item}}; }

/// The integer value of a number written with a decimal point or an exponent, if it is in [0, 2^53]; above that,
/// doubles skip integers.
std::optional<Count> integer(double v) {
  return v >= 0 && v <= 0x1p53 && v == std::floor(v) ? std::optional(static_cast<Count>(v)) : std::nullopt;
}

/// The value of `v` if it is an integer in [0, 2^63).
std::optional<Count> integer(const Value& v) {
  if (v.is_number_float()) return integer(v.get<double>());
  if (!v.is_number_integer()) return std::nullopt;
  if (v.is_number_unsigned() && v.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<Count>::max()})
    return std::nullopt;
  const Count n = v.get<Count>();
  return n < 0 ? std::nullopt : std::optional(n);
}

std::string past_the_end(const Value& v, std::string_view expected) {
  const bool large = v.is_number() && v.get<double>() >= 0x1p63;
  return std::string(expected) + (large ? " and below 2^63" : "");
}

Count at_least(const Value& v, Count least, const std::string& where, const std::string& what) {
  const auto n = integer(v);
  if (!n || *n < least) refuse(where, what, &v, past_the_end(v, least == 0 ? whole : whole_from_1));
  return *n;
}

const Value& present(const Value* v, const std::string& where, std::string_view key, std::string_view expected) {
  if (v == nullptr) refuse(where, in_quotes(key), nullptr, expected);
  return *v;
}

}  // namespace

Count Object::count(std::string_view key) const {
  if (is_describing()) need(key, {whole_schema(0), Value::array({1})});
  return at_least(present(find(key), where_, key, whole), 0, where_, in_quotes(key));
}

Count Object::count_or(std::string_view key, Count otherwise) const { return has(key) ? count(key) : otherwise; }

Count Object::positive(std::string_view key) const {
  if (is_describing()) need(key, {whole_schema(1), Value::array({1})});
  return at_least(present(find(key), where_, key, whole_from_1), 1, where_, in_quotes(key));
}

Count Object::positive_or(std::string_view key, Count otherwise) const { return has(key) ? positive(key) : otherwise; }

double Object::number_or(std::string_view key, double otherwise) const {
  if (is_describing()) expect(key, {type_schema("number"), Value::array({1})});
  const Value* v = find(key);
  if (v == nullptr) return otherwise;
  if (!v->is_number() || !std::isfinite(v->get<double>())) refuse(where_, in_quotes(key), v, a_number);
  return v->get<double>();
}

bool Object::flag(std::string_view key) const {
  if (is_describing()) need(key, {type_schema("boolean"), Value::array({true, false})});
  const Value& v = present(find(key), where_, key, a_flag);
  if (!v.is_boolean()) refuse(where_, in_quotes(key), &v, a_flag);
  return v.get<bool>();
}

bool Object::flag_or(std::string_view key, bool otherwise) const { return has(key) ? flag(key) : otherwise; }

std::string Object::text(std::string_view key) const {
  if (is_describing()) need(key, {type_schema("string"), Value::array({"x"})});
  return printable(raw_text(*this, key));
}

std::string Object::text(std::string_view key, std::string_view example) const {
  expects(key, [&] {
    const auto examples = Value::array({example});
    return Expected{{{"type", "string"}, {"examples", examples}}, examples};
  });
  return text(key);
}

std::string Object::word(std::string_view key, std::string_view words) const {
  if (is_describing()) {
    const Value all = split_at_bars(words);
    need(key, {{{"enum", all}}, all});
  }
  return text(key);
}

std::string Object::text_or(std::string_view key, std::string_view otherwise) const {
  return has(key) ? text(key) : std::string(otherwise);
}

std::string raw_text(const Object& o, std::string_view key) {
  const Value& v = present(o.find(key), o.where(), key, a_text);
  if (!v.is_string()) refuse(o.where(), in_quotes(key), &v, a_text);
  return v.get<std::string>();
}

Object Object::object(std::string_view key) const {
  if (is_describing()) need(key, {schema_at(where_ + ", " + in_quotes(key)), Value::array({Value::object()})});
  const Value& v = present(find(key), where_, key, "an object in braces");
  if (!v.is_object()) refuse(where_, in_quotes(key), &v, "an object in braces");
  return Object(v, where_ + ", " + in_quotes(key));
}

std::vector<Count> Object::counts(std::string_view key) const {
  if (is_describing()) need(key, {list_schema(whole_schema(0)), Value::array({Value::array({1})})});
  const Value& list = present(find(key), where_, key, "a list of whole numbers");
  if (!list.is_array()) refuse(where_, in_quotes(key), &list, "a list of whole numbers");
  std::vector<Count> out;
  for (const Value& v : list) out.push_back(at_least(v, 0, where_, fmt::format("{}[{}]", in_quotes(key), out.size())));
  return out;
}

std::vector<std::string> Object::texts(std::string_view key) const {
  if (is_describing()) need(key, {list_schema(type_schema("string")), Value::array({Value::array({"x"})})});
  const Value& list = present(find(key), where_, key, "a list of strings");
  if (!list.is_array()) refuse(where_, in_quotes(key), &list, "a list of strings");
  std::vector<std::string> out;
  for (const Value& v : list) {
    if (!v.is_string()) refuse(where_, fmt::format("{}[{}]", in_quotes(key), out.size()), &v, a_text);
    out.push_back(printable(v.get_ref<const std::string&>()));
  }
  return out;
}

std::string_view Object::first_of(std::initializer_list<std::string_view> keys) const {
  for (const std::string_view key : keys)
    if (has(key)) return key;
  std::string listed;
  for (const std::string_view key : keys) listed += (listed.empty() ? "" : ", ") + in_quotes(key);
  throw InputError(fmt::format("{}: expected one of {}, got none", where_, listed));
}

std::vector<std::string> Object::keys() const {
  std::vector<std::string> out;
  for (const auto& [name, value] : value_->get_ref<const Value::object_t&>()) out.push_back(name);
  return out;
}

std::vector<std::string> Object::unread() const {
  std::vector<std::string> out;
  for (const auto& [name, value] : value_->get_ref<const Value::object_t&>())
    if (!was_read(name)) out.push_back(name);
  return out;
}

void Object::refuse_unread() const {
  if (is_describing()) return current_questions()->closes(where_);
  const auto left = unread();
  if (left.empty()) return;
  std::vector<std::string> keys = read_;
  std::sort(keys.begin(), keys.end());
  const auto near = nearest(left.front(), keys);
  if (!near.empty())
    throw InputError(
        fmt::format("{}: unknown key {}; did you mean {}?", where_, in_quotes(left.front()), in_quotes(near[0])));
  std::string known;
  for (const auto& key : keys) known += (known.empty() ? "" : ", ") + key;
  throw InputError(fmt::format("{}: unknown key {}; valid keys are {}", where_, in_quotes(left.front()), known));
}

}  // namespace llmcalc::json
