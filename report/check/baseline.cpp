#include "report/check/baseline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/commands/arguments.hpp"
#include "report/question.hpp"
#include "report/render/render.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

// ---- The repeated question

void check_command(const json::Object& report) {
  const std::string name = report.text("command");
  const bool question =
      std::any_of(questions().begin(), questions().end(), [&](const Question* q) { return q->name == name; });
  if (!question && name != "scaling" && name != "collective")
    throw InputError(
        fmt::format("{}: a report of 'llmcalc {}' cannot be compared; only params, memory, flops, train, infer, "
                    "report, scaling and collective reports can",
                    report.where(), name));
}

/// Origin of a part of a report: the name of a preset, or the path of a file.
std::string origin(const json::Object& part) {
  const std::string source = part.text("source");
  return source.starts_with("preset") ? part.text("name") : source;
}

/// Throws InputError unless this version can read the report.
void check_schema(const json::Object& report) {
  if (!report.has("command") || !report.has("llmcalc"))
    throw InputError(fmt::format("{} is not an llmcalc report; save one with --json", report.where()));
  const Count schema = report.object("llmcalc").count("schema");
  if (schema != report_schema)
    throw InputError(
        fmt::format("{}: the report has schema {}, but this llmcalc reads schema {}; save the report again",
                    report.where(), schema, report_schema));
}

// ---- The comparison

/// Whether a part of a report is prose, without numbers to compare.
bool is_prose(std::string_view key) {
  return key == "llmcalc" || key == "notes" || key == "notes_keyed" || key == "verdict" || key == "conventions";
}

std::string plain(const json::Value& v) { return v.is_string() ? v.get<std::string>() : v.dump(); }

using Leaves = std::vector<std::pair<std::string, json::Value>>;

void flatten(const json::Value& v, const std::string& path, Leaves& out) {
  if (v.is_object()) {
    for (const auto& [key, part] : v.items())
      if ((!path.empty() || !is_prose(key)) && !is_exact_text(v, key))
        flatten(part, path.empty() ? key : path + "." + key, out);
  } else if (v.is_array()) {
    for (std::size_t i = 0; i < v.size(); ++i) flatten(v[i], fmt::format("{}[{}]", path, i), out);
  } else {
    out.emplace_back(path, v);
  }
}

bool equal(const json::Value& before, const json::Value& now, double tolerance) {
  if (before == now) return true;
  if (!before.is_number() || !now.is_number()) return false;
  const double a = before.get<double>(), b = now.get<double>();
  return tolerance > 0 && std::abs(b - a) <= tolerance * std::abs(a);
}

std::string difference(const json::Value& before, const json::Value& now) {
  if (!before.is_number() || !now.is_number() || before.get<double>() == 0) return "";
  return fmt::format("{:+.3g} %", 100 * (now.get<double>() / before.get<double>() - 1));
}

}  // namespace

Report asked_twice(const json::Value& saved, const std::string& where) {
  const json::Object report(saved, where);
  check_schema(report);
  check_command(report);
  json::Value request = json::Value::object();
  for (const char* part : {"model", "hardware"})
    if (report.has(part)) request[part] = origin(report.object(part));
  if (const json::Value* inputs = report.find("inputs")) request["inputs"] = *inputs;
  const Command& command = *answered_command(report.text("command"));
  Runner serial;
  return std::get<Report>(command.answer(Arguments(command, request, Files::read), serial).content);
}

Changes changes_between(const json::Value& saved, const Report& today, double tolerance) {
  Leaves before, now;
  flatten(saved, "", before);
  flatten(json::parse(dump(report_json(today)), "today's report"), "", now);
  std::map<std::string, json::Value> left(now.begin(), now.end());
  Changes changes;
  changes.compared = before.size();
  for (const auto& [path, value] : before) {
    const auto it = left.find(path);
    if (it == left.end()) {
      changes.all.push_back({path, plain(value), "-", "gone"});
      continue;
    }
    if (!equal(value, it->second, tolerance))
      changes.all.push_back({path, plain(value), plain(it->second), difference(value, it->second)});
    left.erase(it);
  }
  for (const auto& [path, value] : now)
    if (left.contains(path)) changes.all.push_back({path, "-", plain(value), "new"});
  return changes;
}

}  // namespace llmcalc
