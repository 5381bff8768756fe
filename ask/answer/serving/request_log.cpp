#include "ask/answer/serving/request_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "text/csv.hpp"
#include "text/json.hpp"
#include "text/names.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {

constexpr std::array<std::string_view, 6> log_fields{"arrival", "prompt", "generated", "session", "prefix", "priority"};

bool is_log_field(std::string_view name) {
  return std::find(log_fields.begin(), log_fields.end(), name) != log_fields.end();
}

/// Latest arrival in seconds: far beyond today's Unix time of 1.8e9, and within the range of the clock.
constexpr double latest = 1e12;

/// Fields of a request as text; empty if absent.
struct RequestFields {
  std::string where;
  std::size_t number;
  std::map<std::string, std::string, std::less<>> fields;

  const std::string& field(std::string_view name) const {
    static const std::string none;
    const auto found = fields.find(name);
    return found == fields.end() ? none : found->second;
  }
  const std::string& needed(std::string_view name) const {
    const std::string& text = field(name);
    if (text.empty())
      throw InputError(fmt::format("{}: {} is missing; every request requires arrival, prompt and generated", where,
                                   in_quotes(name)));
    return text;
  }
  std::string at(std::string_view name) const { return fmt::format("{}, {}", where, in_quotes(name)); }
};

/// Parses lines into requests.
class LogReader {
 public:
  explicit LogReader(RequestLog& log) : log_(log) {}

  void add(const RequestFields& line) {
    const double arrival = parse_real(line.needed("arrival"), line.at("arrival"));
    if (arrival > latest)
      throw InputError(fmt::format("{}: expected seconds, at most {:g}, got {}", line.at("arrival"), latest,
                                   in_quotes(line.field("arrival"))));
    if (log_.requests.empty()) first_ = last_ = arrival;
    if (arrival < last_)
      throw InputError(fmt::format(
          "{}: the request arrives at {:g} s, before the previous request at {:g} s; sort the log by arrival",
          line.where, arrival, last_));
    last_ = arrival;
    ServerRequest r;
    r.at = Seconds(arrival - first_);
    r.prompt = parse_positive(line.needed("prompt"), line.at("prompt"));
    r.generate = parse_positive(line.needed("generated"), line.at("generated"));
    if (const std::string& name = line.field("session"); !name.empty()) r.session = number_of_name(sessions_, name);
    if (const std::string& text = line.field("prefix"); !text.empty()) read_prefix(r, text, line);
    if (const std::string& text = line.field("priority"); !text.empty())
      r.priority = static_cast<int>(std::min<Count>(parse_count(text, line.at("priority")), 1 << 30));
    log_.requests.push_back(r);
    log_.lines.push_back(line.number);
  }

 private:
  using Names = std::map<std::string, ChainId, std::less<>>;
  static ChainId number_of_name(Names& names, std::string_view name) {
    return names.emplace(std::string(name), static_cast<ChainId>(names.size())).first->second;
  }

  /// Reads the prefix of a request: "1200" or "NAME:1200".
  void read_prefix(ServerRequest& r, std::string_view text, const RequestFields& line) {
    const std::size_t colon = text.rfind(':');
    const std::string_view name = colon == std::string_view::npos ? "" : text.substr(0, colon);
    r.prefix_tokens = parse_count(colon == std::string_view::npos ? text : text.substr(colon + 1),
                                  line.at("prefix") + ", TOKENS or NAME:TOKENS");
    if (r.prefix_tokens == 0) return;
    if (r.prefix_tokens > r.prompt)
      throw InputError(fmt::format("{}: a prefix of {} tokens is longer than the prompt of {}", line.where,
                                   r.prefix_tokens, r.prompt));
    r.prefix = number_of_name(prefixes_, name);
  }

  RequestLog& log_;
  Names sessions_, prefixes_;
  double first_ = 0, last_ = 0;
};

/// Text of a field in either format: strings unchanged, numbers as in JSON.
std::string field_text(const json::Value& value, const std::string& where) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_null()) return value.is_null() ? "" : value.dump();
  throw InputError(fmt::format("{}: expected a number or a name, got {}", where, in_quotes(value.dump())));
}

/// Notes an ignored name. Throws InputError for a near miss of a field name.
void note_unused(RequestLog& log, const std::string& name, const std::string& where) {
  for (const std::string_view field : log_fields)
    if (edits_within(2, lower(name), field) <= 2)
      throw InputError(fmt::format("{}: unknown field {}, did you mean {}?", where, in_quotes(name), in_quotes(field)));
  if (std::find(log.unused.begin(), log.unused.end(), name) == log.unused.end()) log.unused.push_back(name);
}

RequestFields json_line(std::string_view text, const std::string& where, std::size_t number, RequestLog& log) {
  RequestFields line{where, number, {}};
  const json::Value value = json::parse(text, where);
  if (!value.is_object())
    throw InputError(fmt::format(
        "{}: expected an object per line ({{\"arrival\": 0.5, \"prompt\": 900, \"generated\": 120}}), got {}", where,
        in_quotes(text)));
  for (const auto& [name, field] : value.items())
    if (is_log_field(name))
      line.fields.emplace(name, field_text(field, line.at(name)));
    else
      note_unused(log, name, where);
  return line;
}

void read_json_lines(std::string_view text, const std::string& where, RequestLog& log) {
  LogReader reader(log);
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (one.find_first_not_of(" \t\r") != std::string_view::npos)
      reader.add(json_line(one, fmt::format("{}, line {}", where, number), number, log));
  }
}

void read_csv(std::string_view text, const std::string& where, RequestLog& log) {
  const CsvTable table(text, where);
  for (const char* needed : {"arrival", "prompt", "generated"}) table.column(needed);
  LogReader reader(log);
  for (const std::string& name : table.columns())
    if (!is_log_field(name)) note_unused(log, name, where);
  for (std::size_t row = 0; row < table.size(); ++row) {
    RequestFields line{table.where(row), table.line(row), {}};
    for (const std::string_view name : log_fields)
      if (table.has(name)) line.fields.emplace(name, table.text(row, table.column(name)));
    reader.add(line);
  }
}

}  // namespace

RequestLog read_request_log(std::string_view text, const std::string& where) {
  text = without_byte_order_mark(text);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos)
    throw InputError(fmt::format("{} is empty; expected one request per line", where));
  RequestLog log;
  if (text[begin] == '{' || text[begin] == '[')
    read_json_lines(text, where, log);
  else
    read_csv(text, where, log);
  return log;
}

RequestLog read_request_log_file(const std::string& path) {
  return read_request_log(json::file_text(path, "a request log, JSONL or CSV"), path);
}

}  // namespace llmcalc
