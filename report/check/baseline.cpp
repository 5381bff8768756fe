#include "report/check/baseline.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>

#include "ask/request/check/check.hpp"
#include "ask/request/options.hpp"
#include "ask/request/request.hpp"
#include "ask/request/settle.hpp"
#include "presets/load.hpp"
#include "report/collective_report.hpp"
#include "report/question.hpp"
#include "report/render/render.hpp"
#include "report/scaling_report.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

// ---- The question again

const Question& question_of(const json::Object& report) {
  const std::string name = report.text("command");
  for (const Question* c : questions())
    if (c->name == name) return *c;
  throw InputError(
      fmt::format("{}: a report of 'llmcalc {}' cannot be compared; one of params, memory, flops, train, infer, "
                  "report, scaling or collective can",
                  report.where(), name));
}

/// A preset by its name, a file by its path.
std::string origin(const json::Object& part) {
  const std::string source = part.text("source");
  return source.starts_with("preset") ? part.text("name") : source;
}

std::string plain(const json::Value& v) { return v.is_string() ? v.get<std::string>() : v.dump(); }

/// The text to type for a saved value; nothing for a flag that was not given.
std::optional<std::string> typed(const Option& o, const json::Value& saved) {
  if (saved.is_object()) return std::nullopt;  // formats by component follow from the model and --precision
  if (saved.is_array()) {                      // layers of stages
    std::string all;
    for (const json::Value& v : saved) all += (all.empty() ? "" : ",") + plain(v);
    return all;
  }
  if (!saved.is_boolean()) return plain(saved);
  const bool on = saved.get<bool>();
  if (!o.value.empty()) return on ? "on" : "off";
  if (on == o.flag.starts_with("--no-")) return std::nullopt;
  return "";
}

/// Efficiencies follow from the software, where no others were given.
bool follows_from_software(const Option& o, const json::Value& saved, Request r) {
  if (o.flag != "--efficiency" && o.flag != "--memory-efficiency") return false;
  settle(r);
  return (r.software || r.engine) && o.field.effective(r) == saved;
}

/// The plan of the saved inputs: each under its option, as if it had been typed.
void read_inputs(const json::Value& inputs, Request& r) {
  for (const Option& o : options()) {
    const auto it = inputs.find(o.key());
    if (it == inputs.end() || !r.has(o.parts) || o.field.read == nullptr) continue;
    if (follows_from_software(o, *it, r)) continue;
    if (const auto text = typed(o, *it)) give(r, o, *text);
  }
}

Report model_report(const json::Object& report) {
  const Question& question = question_of(report);
  Request r;
  r.model = load_model(origin(report.object("model")));
  if (report.has("hardware")) r.hardware = load_hardware(origin(report.object("hardware")));
  r.parts = question.parts;
  if (const json::Value* inputs = report.find("inputs")) read_inputs(*inputs, r);
  settle(r);
  check(r);
  return answer(question, r);
}

Report scaling_again(const json::Object& report) {
  const json::Object in = report.object("inputs");
  const std::string fixed(in.first_of({"compute", "params", "tokens"}));
  return scaling_report({fixed, in.number_or(fixed, 0), in.text_or("fit", "")});
}

Report collective_again(const json::Object& report) {
  const json::Object in = report.object("inputs");
  CollectiveQuestion q;
  q.op = in.text("op");
  q.bytes = Bytes(in.count("bytes"));
  q.ranks = in.positive("ranks");
  if (report.has("hardware")) q.hardware = load_hardware(origin(report.object("hardware")));
  if (in.has("bandwidth_bytes_per_s")) q.bandwidth = BytesPerSecond(in.number_or("bandwidth_bytes_per_s", 0));
  if (in.has("latency_s")) q.latency = Seconds(in.number_or("latency_s", 0));
  return collective_report(q);
}

/// Only what this version writes can be read back.
void check_schema(const json::Object& report) {
  if (!report.has("command") || !report.has("llmcalc"))
    throw InputError(fmt::format("{} is not a report of llmcalc; save one with --json", report.where()));
  const Count schema = report.object("llmcalc").count("schema");
  if (schema != report_schema)
    throw InputError(fmt::format("{}: its schema is {}, and this llmcalc reads schema {}; save the report again",
                                 report.where(), schema, report_schema));
}

// ---- The comparison

/// Parts of a report that say how, not how much.
bool is_prose(std::string_view key) {
  return key == "llmcalc" || key == "notes" || key == "verdict" || key == "conventions";
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

Report asked_again(const json::Value& saved, const std::string& where) {
  const json::Object report(saved, where);
  check_schema(report);
  if (report.text("command") == "scaling") return scaling_again(report);
  if (report.text("command") == "collective") return collective_again(report);
  return model_report(report);
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
