#include "report/check/baseline.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "presets/load.hpp"
#include "report/options.hpp"
#include "report/question.hpp"
#include "report/report.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

/// Parts of a report that say how, not how much.
bool is_prose(std::string_view key) {
  return key == "llmcalc" || key == "notes" || key == "conclusion" || key == "conventions";
}

using Leaves = std::vector<std::pair<std::string, json::Value>>;

void flatten(const json::Value& v, const std::string& path, Leaves& out) {
  if (v.is_object()) {
    for (const auto& [key, part] : v.items())
      if (!path.empty() || !is_prose(key)) flatten(part, path.empty() ? key : path + "." + key, out);
  } else if (v.is_array()) {
    for (std::size_t i = 0; i < v.size(); ++i) flatten(v[i], fmt::format("{}[{}]", path, i), out);
  } else {
    out.emplace_back(path, v);
  }
}

std::string change(const json::Value& before, const json::Value& now) {
  if (!before.is_number() || !now.is_number() || before.get<double>() == 0) return "";
  return fmt::format("{:+.3g} %", 100 * (now.get<double>() / before.get<double>() - 1));
}

const Question& question_of(const json::Object& report) {
  const std::string name = report.text("command");
  for (const Question* c : questions())
    if (c->name == name) return *c;
  throw InputError(
      fmt::format("{}: a report of 'llmcalc {}' is no baseline; one of params, memory, flops, train, infer "
                  "or report with --json is",
                  report.where(), name));
}

/// A preset by its name, a file by its path.
std::string origin(const json::Object& part) {
  const std::string source = part.text("source");
  return source.starts_with("preset") ? part.text("name") : source;
}

std::string plain(const json::Value& v) { return v.is_string() ? v.get<std::string>() : v.dump(); }

/// What to type for a saved value; nothing for a flag that was not given.
std::optional<std::string> typed(const Option& o, const json::Value& saved) {
  if (!saved.is_boolean()) return plain(saved);
  const bool on = saved.get<bool>();
  if (!o.value.empty()) return on ? "on" : "off";
  if (on == o.flag.starts_with("--no-")) return std::nullopt;
  return "";
}

/// The plan of the saved inputs: each under its option, as if it had been typed.
void read_inputs(const json::Value& inputs, Request& r) {
  for (const Option& o : options()) {
    const auto it = inputs.find(o.key());
    if (it == inputs.end() || !r.has(o.parts) || o.field.read == nullptr) continue;
    if (const auto text = typed(o, *it)) give(r, o, *text);
  }
}

}  // namespace

std::vector<Moved> moved_since(const json::Value& saved, const std::string& where, std::size_t& compared) {
  const json::Object report(saved, where);
  if (!report.has("command") || !report.has("model"))
    throw InputError(fmt::format("{} is no llmcalc report; save one with --json", where));
  const Question& question = question_of(report);
  Request r;
  r.model = load_model(origin(report.object("model")));
  if (report.has("hardware")) r.hardware = load_hardware(origin(report.object("hardware")));
  r.parts = question.parts;
  if (const json::Value* inputs = report.find("inputs")) read_inputs(*inputs, r);
  settle(r);
  check(r);

  Leaves before, now;
  flatten(saved, "", before);
  flatten(json::parse(dump(report_json(answer(question, r))), "today's report"), "", now);
  const std::map<std::string, json::Value> today(now.begin(), now.end());
  std::vector<Moved> moved;
  compared = before.size();
  for (const auto& [path, value] : before) {
    const auto it = today.find(path);
    if (it == today.end())
      moved.push_back({path, plain(value), "-", "gone"});
    else if (it->second != value)
      moved.push_back({path, plain(value), plain(it->second), change(value, it->second)});
  }
  return moved;
}

}  // namespace llmcalc
