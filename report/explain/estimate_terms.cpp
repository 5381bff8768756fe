#include "report/explain/estimate_terms.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "ask/answer/interval.hpp"
#include "ask/request/request.hpp"
#include "ask/request/software.hpp"
#include "evidence/accuracy.hpp"
#include "evidence/rows/measurement_file.hpp"
#include "evidence/rows/published.hpp"
#include "report/interval.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

constexpr std::string_view part_path = "step.breakdown_s.";

/// The estimated time as a function of the parameters.
template <typename Parameters>
using TimeWith = std::function<double(const Parameters&)>;

bool is_step_time(std::string_view path) { return path == "step.time_s" || path.starts_with(part_path); }

double step_value(const StepTime& t, std::string_view path) {
  if (path == "step.time_s") return t.total().value;
  const auto* name = std::find(part_names.begin(), part_names.end(), path.substr(part_path.size()));
  return t.parts[static_cast<std::size_t>(name - part_names.begin())].value;
}

TimeWith<TrainingParameters> step_time_with(S s, std::string_view path) {
  return [&s, path](const TrainingParameters& p) {
    const Request& r = s.request();
    Cluster on = s.cluster();
    on.device.achieved = training_rates(p, *r.hardware, stack_of(*r.software, r.model.arch, r.plan));
    return step_value(train(r.model.arch, r.plan, r.layout, on).estimate, path);
  };
}

TimeWith<InferenceParameters> pass_time_with(S s, bool prompt) {
  return [&s, prompt](const InferenceParameters& p) {
    const Request& r = s.request();
    const Plan& plan = r.plan;
    Cluster on = s.cluster();
    on.device.achieved = achieved_in_inference(p, r);
    const PassEstimate pass = prompt ? prefill(r.model.arch, plan, r.layout, on, plan.prompt)
                                     : decode(r.model.arch, plan, r.layout, on, plan.prompt + plan.generate / 2);
    return pass.estimate.total().value;
  };
}

/// Replaces "the same" in a meaning such as "the same: Hopper" with the full meaning of the nearest preceding card that
/// has a full meaning.
std::string whole_meaning(std::span<const ParameterCard> cards, std::size_t i) {
  constexpr std::string_view same = "the same";
  const std::string_view meaning = cards[i].meaning;
  if (!meaning.starts_with(same)) return std::string(meaning);
  while (cards[i].meaning.starts_with(same)) --i;
  const std::string_view first = cards[i].meaning;
  return std::string(first.substr(0, first.find(':'))) + std::string(meaning.substr(same.size()));
}

/// The parameter's value raised by a tenth; if 0, raised by a tenth of its default or range.
double raised(const ParameterCard& card, double value) {
  if (value != 0) return 1.1 * value;
  return 0.1 * (card.standard != 0 ? card.standard : card.high - card.low);
}

template <typename Parameters>
std::vector<EnteringParameter> entering(const Parameters& fitted, std::span<const ParameterCard> cards,
                                        const TimeWith<Parameters>& time) {
  const double now = time(fitted);
  std::vector<EnteringParameter> all;
  for (std::size_t i = 0; i < cards.size(); ++i) {
    Parameters other = fitted;
    other.values()[i] = raised(cards[i], fitted.values()[i]);
    const double then = time(other);
    if (then == now) continue;
    all.push_back({std::string(cards[i].name), whole_meaning(cards, i), std::string(cards[i].source),
                   fitted.values()[i], cards[i].standard, then / now - 1});
  }
  std::stable_sort(all.begin(), all.end(), [](const EnteringParameter& a, const EnteringParameter& b) {
    return std::fabs(a.effect) > std::fabs(b.effect);
  });
  return all;
}

using SourcesByClass = std::map<std::string, std::set<std::string>>;

/// Sources of the predicted published rows, by class. Empty if the measurements are not installed.
SourcesByClass sources_of(AccuracyKind kind) {
  SourcesByClass all;
  if (!has_published()) return all;
  for (const PredictedRow& r : accuracy(published_measurements(rows_for(kind)), kind).rows)
    if (r.counts()) all[r.of.kind].insert(r.of.family);
  return all;
}
const SourcesByClass& sources_once(AccuracyKind kind) {
  static std::mutex mutex;
  static std::map<AccuracyKind, SourcesByClass> read;
  const std::lock_guard lock(mutex);
  const auto known = read.find(kind);
  return known != read.end() ? known->second : read.emplace(kind, sources_of(kind)).first->second;
}

std::string interval_sentence(const std::optional<EstimateInterval>& interval, AccuracyKind kind,
                              const std::string& name_of_class) {
  if (!interval) return "";
  const auto found = sources_once(kind).find(name_of_class);
  const std::string who = found == sources_once(kind).end() ? "" : fmt::format(": {}", fmt::join(found->second, "; "));
  return fmt::format(
      "a factor of {:.3g} in either direction for class {}, from the errors of {} sources, each predicted without its "
      "own rows{}",
      interval->factor, name_of_class, interval->families, who);
}

EstimateTerms step_terms(S s, std::string_view path) {
  const Request& r = s.request();
  const TrainingEstimator& e = training_estimator();
  return {entering<TrainingParameters>(e.parameters, training_parameter_cards, step_time_with(s, path)), e.fitted,
          interval_sentence(interval_of(r), AccuracyKind::training, std::string(name(class_of(r))))};
}

EstimateTerms pass_terms(S s, bool prompt) {
  const Request& r = s.request();
  const InferenceEstimator& e = inference_estimator();
  const InferenceClass kind = prompt ? InferenceClass::prefill : InferenceClass::decode;
  return {entering<InferenceParameters>(e.parameters, inference_parameter_cards, pass_time_with(s, prompt)), e.fitted,
          interval_sentence(interval_of(r, kind), AccuracyKind::inference, std::string(name(kind)))};
}

}  // namespace

EstimateTerms estimate_terms(const Setting& s, std::string_view path) {
  if (!s.request().hardware) return {};
  const bool estimates = s.request().plan.efficiency == std::nullopt;
  if (is_step_time(path) && s.request().software && estimates) return step_terms(s, path);
  const bool prompt = path == "prefill.time_s";
  if ((prompt || path == "decode.time_per_token_s") && s.request().engine && estimates) return pass_terms(s, prompt);
  return {};
}

}  // namespace llmcalc::explain
