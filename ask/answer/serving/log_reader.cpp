#include "ask/answer/serving/log_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text/names.hpp"
#include "text/plain_number.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {

/// Latest arrival in seconds: far beyond today's Unix time of 1.8e9, and within the range of the clock.
constexpr double latest = 1e12;

std::string_view name_of_field(LogField f) { return log_fields[static_cast<std::size_t>(f)]; }

Count logged_tokens(const LoggedLine& line, LogField f) {
  const std::string_view text = line.needed(f);
  const std::optional<Count> n = plain_count(text);
  return n && *n > 0 ? *n : parse_positive(text, line.where(f));
}

int logged_priority(std::string_view text, const LoggedLine& line) {
  return static_cast<int>(std::min<Count>(parse_count(text, line.where(LogField::priority)), 1 << 30));
}

}  // namespace

std::string LoggedLine::where() const { return fmt::format("{}, line {}", file, number); }
std::string LoggedLine::where(LogField f) const { return fmt::format("{}, {}", where(), in_quotes(name_of_field(f))); }

std::string_view LoggedLine::needed(LogField f) const {
  if (!field(f).empty()) return field(f);
  throw InputError(fmt::format("{}: {} is missing; every request requires arrival, prompt and generated", where(),
                               in_quotes(name_of_field(f))));
}

ChainId LogReader::number_of_name(Names& names, std::string_view name) {
  const auto found = names.find(name);
  if (found != names.end()) return found->second;
  return names.emplace(std::string(name), static_cast<ChainId>(names.size())).first->second;
}

/// Seconds of the arrival, not before the previous one.
double LogReader::arrival(const LoggedLine& line) {
  const std::string_view text = line.needed(LogField::arrival);
  const std::optional<double> plain = plain_real(text);
  const double at = plain ? *plain : parse_real(text, line.where(LogField::arrival));
  if (at > latest)
    throw InputError(fmt::format("{}: expected seconds, at most {:g}, got {}", line.where(LogField::arrival), latest,
                                 in_quotes(text)));
  if (log_.requests.empty()) first_ = last_ = at;
  if (at < last_)
    throw InputError(
        fmt::format("{}: the request arrives at {:g} s, before the previous request at {:g} s; sort the log by arrival",
                    line.where(), at, last_));
  return last_ = at;
}

void LogReader::add(const LoggedLine& line) {
  ServerRequest r;
  r.at = Seconds(arrival(line) - first_);
  r.prompt = logged_tokens(line, LogField::prompt);
  r.generate = logged_tokens(line, LogField::generated);
  if (const auto name = line.field(LogField::session); !name.empty()) r.session = number_of_name(sessions_, name);
  if (const auto text = line.field(LogField::prefix); !text.empty()) read_prefix(r, text, line);
  if (const auto text = line.field(LogField::priority); !text.empty()) r.priority = logged_priority(text, line);
  log_.requests.push_back(r);
  log_.lines.push_back(static_cast<std::uint32_t>(line.number));
}

/// Reads a prefix: "1200" or "NAME:1200".
void LogReader::read_prefix(ServerRequest& r, std::string_view text, const LoggedLine& line) {
  const std::size_t colon = text.rfind(':');
  const std::string_view name = colon == std::string_view::npos ? "" : text.substr(0, colon);
  r.prefix_tokens = parse_count(colon == std::string_view::npos ? text : text.substr(colon + 1),
                                line.where(LogField::prefix) + ", TOKENS or NAME:TOKENS");
  if (r.prefix_tokens == 0) return;
  if (r.prefix_tokens > r.prompt)
    throw InputError(fmt::format("{}: a prefix of {} tokens is longer than the prompt of {}", line.where(),
                                 r.prefix_tokens, r.prompt));
  r.prefix = number_of_name(prefixes_, name);
}

}  // namespace llmcalc
