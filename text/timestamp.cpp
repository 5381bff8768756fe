#include "text/timestamp.hpp"

#include <algorithm>
#include <chrono>

#include "text/plain_number.hpp"

namespace llmcalc {
namespace {

constexpr std::int64_t per_second = 1'000'000'000;

/// Removes characters from the front of a text.
class TimestampText {
 public:
  explicit TimestampText(std::string_view text) : rest_(text) {}
  bool done() const { return rest_.empty(); }
  bool ok() const { return ok_; }
  /// Removes one of these characters if it comes next. Returns the character, otherwise 0.
  char take(std::string_view any) {
    if (rest_.empty() || any.find(rest_[0]) == std::string_view::npos) return 0;
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }
  void expect(std::string_view any) { ok_ = take(any) != 0 && ok_; }
  /// Removes a number of `digits` digits, at most `most`.
  int number(std::size_t digits, int most) {
    std::uint64_t n = 0;
    std::string_view text = rest_.substr(0, digits);
    const bool found = numerals::take_digits(text, n) == digits && n <= static_cast<std::uint64_t>(most);
    ok_ = ok_ && found;
    rest_.remove_prefix(std::min(digits, rest_.size()));
    return found ? static_cast<int>(n) : 0;
  }
  /// Removes the digits of a fraction of a second, at least one.
  std::int64_t nanoseconds() {
    std::int64_t n = 0, unit = per_second;
    bool any = false;
    for (; !rest_.empty() && numerals::is_decimal(rest_[0]); rest_.remove_prefix(1)) {
      unit /= 10;
      n += unit * (rest_[0] - '0');
      any = true;
    }
    ok_ = ok_ && any;
    return n;
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

/// Seconds from 1970 to the start of a day.
std::int64_t take_day(TimestampText& text) {
  constexpr int first = 1970, last = 2261;
  const int year = text.number(4, last);
  text.expect("-");
  const int month = text.number(2, 12);
  text.expect("-");
  const int day = text.number(2, 31);
  const std::chrono::year_month_day date(std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  if (!text.ok() || year < first || !date.ok()) return -1;
  return std::chrono::seconds(std::chrono::sys_days(date).time_since_epoch()).count();
}

std::int64_t take_time_of_day(TimestampText& text) {
  const int hours = text.number(2, 23);
  text.expect(":");
  const int minutes = text.number(2, 59);
  text.expect(":");
  return 3600 * hours + 60 * minutes + text.number(2, 60);
}

/// Seconds by which a local time is ahead of UTC: "Z", "+02:00", "-0700".
std::int64_t take_offset(TimestampText& text) {
  if (text.take("Zz") != 0) return 0;
  const char sign = text.take("+-");
  if (sign == 0) return 0;
  const int hours = text.number(2, 23);
  text.take(":");
  const int seconds = 3600 * hours + 60 * text.number(2, 59);
  return sign == '-' ? -seconds : seconds;
}

}  // namespace

std::optional<std::int64_t> parse_timestamp(std::string_view text) {
  TimestampText rest(text);
  const std::int64_t day = take_day(rest);
  rest.expect(" T");
  const std::int64_t time = take_time_of_day(rest);
  const std::int64_t fraction = rest.take(".") != 0 ? rest.nanoseconds() : 0;
  const std::int64_t offset = take_offset(rest);
  if (day < 0 || !rest.ok() || !rest.done()) return std::nullopt;
  return (day + time - offset) * per_second + fraction;
}

}  // namespace llmcalc
