#include "report/infer/remedy_finding.hpp"

#include <fmt/format.h>

#include "ask/answer/serving/inference_remedy.hpp"
#include "text/counted.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

constexpr std::size_t shown_remedies = 4;

std::string remedy_text(const InferenceRemedy& m) {
  const std::string engine = m.engine.empty() ? "" : fmt::format(" with {}", m.engine);
  const std::string gpus = m.gpus > 1 ? " on " + counted(m.gpus, "GPU") : "";
  return fmt::format("{}{} ({}{}, {} per token)", m.option, engine, bytes_text(m.peak), gpus, seconds_text(m.token));
}

}  // namespace

Finding remedy_finding(const InferenceAnswer& a) {
  const std::vector<InferenceRemedy> all = inference_remedies(a);
  if (all.empty()) return {"to fit", "no single option suffices; combine several, or use another device"};
  Finding f{.label = "to fit", .text = {}, .brief = remedy_text(all[0])};
  for (std::size_t i = 0; i < std::min(all.size(), shown_remedies); ++i)
    f.text += (f.text.empty() ? "" : "; ") + remedy_text(all[i]);
  return f;
}

json::Value remedies_json(const InferenceAnswer& a) {
  json::Value rows = json::Value::array();
  for (const InferenceRemedy& m : inference_remedies(a)) {
    rows.push_back({{"of", "inference"},
                    {"key", m.key},
                    {"option", m.option},
                    {"gpus", m.gpus},
                    {"peak_bytes", m.peak.value},
                    {"time_per_token_s", m.token.value}});
    if (!m.engine.empty()) rows.back()["software"] = m.engine;
  }
  return rows;
}

}  // namespace llmcalc
