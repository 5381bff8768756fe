#include "evidence/rows/recorded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/error.hpp"

namespace llmcalc {
namespace {

/// Non-negative seconds under a required key.
Seconds needed_seconds(const json::Object& o, std::string_view key) {
  if (!o.has(key)) throw InputError(fmt::format("{}: \"{}\" is missing", o.where(), key));
  const double s = o.number_or(key, 0);
  if (s < 0) throw InputError(fmt::format("{}, \"{}\": expected seconds of at least 0, got {}", o.where(), key, s));
  return Seconds(s);
}

void refuse_before(const json::Object& o, const char* what, Seconds at, const char* than, Seconds begin) {
  if (at < begin)
    throw InputError(
        fmt::format("{}: \"{}\" ({}) is before \"{}\" ({})", o.where(), what, at.value, than, begin.value));
}

RecordedRequest read_request(const json::Object& o) {
  RecordedRequest r;
  r.id = o.text_or("id", "");
  r.queued = needed_seconds(o, "queued_s");
  r.first_token = needed_seconds(o, "first_token_s");
  r.last_token = needed_seconds(o, "last_token_s");
  r.prompt = o.positive("prompt");
  r.generated = o.positive("generated");
  refuse_before(o, "first_token_s", r.first_token, "queued_s", r.queued);
  refuse_before(o, "last_token_s", r.last_token, "first_token_s", r.first_token);
  return r;
}

/// Index of each known column; absent if the column is missing.
struct SecondColumns {
  std::array<std::optional<std::size_t>, 5> at;
  explicit SecondColumns(const std::vector<std::string>& names) {
    constexpr std::array known{"t", "prompt_throughput", "gen_throughput", "running", "waiting"};
    for (std::size_t i = 0; i < known.size(); ++i)
      if (const auto found = std::find(names.begin(), names.end(), known[i]); found != names.end())
        at[i] = static_cast<std::size_t>(found - names.begin());
  }
};

double cell(const json::Value& row, const std::optional<std::size_t>& column, const std::string& where) {
  if (!column) return 0;
  if (!row.is_array() || row.size() <= *column || !row[*column].is_number())
    throw InputError(fmt::format("{}: expected a number in column {}", where, *column + 1));
  return row[*column].get<double>();
}

}  // namespace

std::optional<Seconds> RecordedRequest::per_token() const {
  if (generated < 2) return std::nullopt;
  return (1 / static_cast<double>(generated - 1)) * (last_token - first_token);
}

std::vector<RecordedRequest> read_recorded_requests(const json::Value& list, const std::string& where) {
  std::vector<RecordedRequest> all;
  for (std::size_t i = 0; i < list.size(); ++i)
    all.push_back(read_request(json::Object(list[i], fmt::format("{}, request {}", where, i + 1))));
  std::stable_sort(all.begin(), all.end(),
                   [](const RecordedRequest& a, const RecordedRequest& b) { return a.queued < b.queued; });
  return all;
}

std::vector<RecordedSecond> read_recorded_seconds(const json::Object& o) {
  std::vector<RecordedSecond> all;
  const SecondColumns columns(o.texts("columns"));
  const json::Value* rows = o.find("rows");
  if (rows == nullptr || !rows->is_array()) throw InputError(o.where() + ", \"rows\": expected a list of rows");
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const std::string where = fmt::format("{}, row {}", o.where(), i + 1);
    const auto number = [&](std::size_t k) { return cell((*rows)[i], columns.at[k], where); };
    all.push_back({Seconds(number(0)), number(1), number(2), number(3), number(4)});
  }
  return all;
}

json::Value recorded_requests_json(const std::vector<RecordedRequest>& all) {
  json::Value list = json::Value::array();
  for (const RecordedRequest& r : all) {
    json::Value v{{"queued_s", r.queued.value},
                  {"first_token_s", r.first_token.value},
                  {"last_token_s", r.last_token.value},
                  {"prompt", r.prompt},
                  {"generated", r.generated}};
    if (!r.id.empty()) v["id"] = r.id;
    list.push_back(std::move(v));
  }
  return list;
}

json::Value recorded_seconds_json(const std::vector<RecordedSecond>& all) {
  json::Value rows = json::Value::array();
  for (const RecordedSecond& s : all) rows.push_back({s.end.value, s.prompt_rate, s.output_rate, s.running, s.waiting});
  return {{"columns", {"t", "prompt_throughput", "gen_throughput", "running", "waiting"}}, {"rows", std::move(rows)}};
}

}  // namespace llmcalc
