#include "ask/answer/serving/log_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "text/names.hpp"
#include "text/plain_number.hpp"
#include "text/quantity.hpp"
#include "text/timestamp.hpp"

namespace llmcalc {
namespace {

/// Latest arrival in seconds: far beyond today's Unix time of 1.8e9, and within the range of the clock.
constexpr double latest = 1e12;

Count logged_tokens(const LoggedLine& line, LogField f) {
  const std::string_view text = line.needed(f);
  const std::optional<Count> n = plain_count(text);
  return n && *n > 0 ? *n : parse_positive(text, line.where(f));
}

int logged_priority(std::string_view text, const LoggedLine& line) {
  return static_cast<int>(std::min<Count>(parse_count(text, line.where(LogField::priority)), 1 << 30));
}

double units_per_second(const LogFormat& f) { return f.time == LogFormat::Time::milliseconds ? 1000 : 1; }

/// The number of an arrival, in seconds or milliseconds.
double logged_time(const LoggedLine& line) {
  const std::string_view text = line.needed(LogField::arrival);
  const std::optional<double> plain = plain_real(text);
  const double at = plain ? *plain : parse_real(text, line.where(LogField::arrival)),
               most = latest * units_per_second(line.format);
  if (at <= most) return at;
  throw InputError(fmt::format("{}: expected {}, at most {:g}, got {}", line.where(LogField::arrival),
                               most > latest ? "milliseconds" : "seconds", most, in_quotes(text)));
}

/// Reads "[46,47,2353]" into `ids`. Returns false for other text.
bool read_ids(std::string_view text, std::vector<std::uint64_t>& ids) {
  ids.clear();
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return false;
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const char* const end = text.data() + comma;
    if (const auto [stop, error] = std::from_chars(text.data(), end, ids.emplace_back());
        error != std::errc() || stop != end)
      return false;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return true;
}

}  // namespace

std::string LoggedLine::where() const { return fmt::format("{}, line {}", file, number); }
std::string LoggedLine::where(LogField f) const { return fmt::format("{}, {}", where(), in_quotes(format.name(f))); }

std::string_view LoggedLine::needed(LogField f) const {
  if (!field(f).empty()) return field(f);
  throw InputError(fmt::format("{}: {} is missing; every request requires {}, {} and {}", where(),
                               in_quotes(format.name(f)), format.name(LogField::arrival), format.name(LogField::prompt),
                               format.name(LogField::generated)));
}

ChainId LogReader::number_of_name(Names& names, std::string_view name) {
  const auto found = names.find(name);
  if (found != names.end()) return found->second;
  return names.emplace(std::string(name), static_cast<ChainId>(names.size())).first->second;
}

/// Whether a published trace has no prompt or no answer for this request, as BurstGPT for requests that failed.
bool LogReader::failed(const LoggedLine& line) const {
  const auto none = [&](LogField f) { return plain_count(line.field(f)) == Count{0}; };
  return format_.published && (none(LogField::prompt) || none(LogField::generated));
}

/// Seconds of a date after the first date of the log.
double LogReader::time_of_date(const LoggedLine& line) {
  const std::string_view text = line.needed(LogField::arrival);
  const std::optional<std::int64_t> date = parse_timestamp(text);
  if (!date)
    throw InputError(
        fmt::format("{}: expected a date and time (2023-11-16 18:17:03.97 or 2024-05-10 "
                    "00:00:00.009+00:00), got {}",
                    line.where(LogField::arrival), in_quotes(text)));
  if (log_.requests.empty()) first_date_ = *date;
  return static_cast<double>(*date - first_date_) / 1e9;
}

/// Seconds after the first arrival of the log. Except in published traces, arrivals must be in order.
double LogReader::arrival(const LoggedLine& line) {
  if (format_.time == LogFormat::Time::dates) return time_of_date(line);
  const double at = logged_time(line);
  if (log_.requests.empty()) first_ = last_ = at;
  if (at < last_ && !format_.published)
    throw InputError(
        fmt::format("{}: the request arrives at {:g} s, before the previous request at {:g} s; sort the log by arrival",
                    line.where(), at, last_));
  last_ = at;
  return (at - first_) / units_per_second(format_);
}

void LogReader::add(const LoggedLine& line) {
  if (failed(line)) {
    ++log_.failed;
    return;
  }
  ServerRequest r;
  r.at = Seconds(arrival(line));
  r.prompt = logged_tokens(line, LogField::prompt);
  r.generate = logged_tokens(line, LogField::generated);
  if (const auto name = line.field(LogField::session); !name.empty()) r.session = number_of_name(sessions_, name);
  if (const auto text = line.field(LogField::prefix); !text.empty()) read_prefix(r, text, line);
  if (const auto text = line.field(LogField::priority); !text.empty()) r.priority = logged_priority(text, line);
  if (!format_.name(LogField::hash_ids).empty()) read_hash_ids(r.prompt, line);
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

void LogReader::read_hash_ids(Count prompt, const LoggedLine& line) {
  const std::string_view text = line.field(LogField::hash_ids);
  const Count blocks = ceil_div(prompt, hash_block_tokens);
  ids_.clear();
  if (!text.empty() && !read_ids(text, ids_))
    throw InputError(fmt::format("{}: expected an array of whole numbers, one per {} tokens of the prompt, got {}",
                                 line.where(LogField::hash_ids), hash_block_tokens, in_quotes(text)));
  if (!text.empty() && static_cast<Count>(ids_.size()) != blocks)
    throw InputError(fmt::format("{}: expected {} ids for {} prompt tokens, one per {} tokens, got {}",
                                 line.where(LogField::hash_ids), blocks, prompt, hash_block_tokens, ids_.size()));
  hashes_.add(ids_, prompt);
}

/// Sorts the requests by arrival; those that arrive at the same time remain in their order.
void LogReader::sort() {
  const RequestList given = std::move(log_.requests);
  const std::vector<std::uint32_t> lines = std::move(log_.lines);
  std::vector<std::uint32_t> order(given.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return given.at(a) < given.at(b); });
  log_.requests = RequestList();
  log_.requests.reserve(given.size());
  log_.requests.set_prefixes(given.prefixes());
  log_.lines.clear();
  for (const std::uint32_t i : order) {
    ServerRequest r = given[i];
    r.at = r.at - given.at(order.front());
    log_.requests.push_back(r);
    log_.lines.push_back(lines[i]);
  }
}

void LogReader::finish(const std::string& file) {
  if (log_.requests.empty())
    throw InputError(
        fmt::format("{}: none of the {} requests has tokens of a prompt and an answer", file, log_.failed));
  if (!hashes_.empty()) hashes_.set_prefixes(log_.requests);
  for (std::size_t i = 1; i < log_.requests.size(); ++i)
    if (log_.requests.at(i) < log_.requests.at(i - 1)) return sort();
}

}  // namespace llmcalc
