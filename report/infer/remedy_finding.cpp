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
  const std::string gpus = m.gpus > 1 ? " per GPU on " + counted(m.gpus, "GPU") : "";
  return fmt::format("{}{} ({}{}, {} per token)", m.option, engine, bytes_text(m.peak), gpus, seconds_text(m.token));
}

}  // namespace

Finding remedy_finding(const InferenceAnswer& a) {
  const std::vector<InferenceRemedy> all = inference_remedies(a);
  if (all.empty()) return {"to fit", "no single option suffices; combine several, or use another device"};
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), shown_remedies); ++i)
    text += (text.empty() ? "" : "; ") + remedy_text(all[i]);
  return {"to fit", text};
}

}  // namespace llmcalc
