#include "report/train/training_remedy.hpp"

#include <fmt/format.h>

#include "text/counted.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

std::string remedy_text(const TypedRemedy& m) {
  const std::string gpus = m.changes_gpus ? " on " + counted(m.gpus, "GPU") : "";
  return fmt::format("{} ({}{}, {} per step)", m.option, bytes_text(m.change.peak), gpus, seconds_text(m.change.step));
}

}  // namespace

Finding remedy_finding(const TrainingAnswer& a) {
  const std::vector<TypedRemedy>& all = a.remedies();
  if (all.empty()) return {"to fit", "no single option suffices; 'llmcalc plan train' searches for a plan that fits"};
  Finding f{.label = "to fit", .text = {}, .brief = remedy_text(all.front())};
  for (const TypedRemedy& t : all) f.text += (f.text.empty() ? "" : "; ") + remedy_text(t);
  return f;
}

json::Value remedies_json(const TrainingAnswer& a) {
  json::Value rows = json::Value::array();
  for (const TypedRemedy& t : a.remedies())
    rows.push_back({{"of", "training"},
                    {"key", t.key},
                    {"option", t.option},
                    {"gpus", t.gpus},
                    {"peak_bytes", t.change.peak.value},
                    {"time_s", t.change.step.value}});
  return rows;
}

}  // namespace llmcalc
