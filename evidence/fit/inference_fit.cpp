#include "evidence/fit/inference_fit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <tuple>

#include "evidence/estimated.hpp"
#include "evidence/names/inference_stack.hpp"
#include "evidence/replay.hpp"
#include "evidence/row_subject.hpp"

namespace llmcalc {

namespace {

/// Runs with drafts or engines for prompts are predicted but not fitted: one source has them, without their settings.
double figure_weight(const InferenceCase& c, const Figure& f) {
  if (f.repeats || !f.doubt.empty() || c.drafts > 0 || c.prompt_pool) return 0;
  const double tier = c.head.quality == "A" ? 1 : c.head.quality == "C" ? 0.1 : 0.6;
  const bool burst = inference_class(c, f.quantity) == InferenceClass::first_token;
  return tier * (c.input_assumed ? 0.3 : 1) * (burst ? 0.3 : 1);
}

struct FigureRow {
  std::shared_ptr<const InferenceCase> c;
  InferenceStack stack;
  Figure figure;
};

/// Caches the times of the most recent row. A row's figures are consecutive and share one simulation.
class LastTimes {
 public:
  const InferenceTimes& of(const FigureRow& row, std::span<const double> values) {
    if (c_ == row.c && std::equal(values.begin(), values.end(), values_.begin(), values_.end())) return *times_;
    c_ = row.c;
    values_.assign(values.begin(), values.end());
    return times_.emplace(estimated_times(*row.c, row.stack, inference_parameters(values)));
  }

 private:
  std::shared_ptr<const InferenceCase> c_;
  std::vector<double> values_;
  std::optional<InferenceTimes> times_;
};

}  // namespace

InferenceParameters inference_parameters(std::span<const double> values) {
  InferenceParameters p;
  std::copy(values.begin(), values.end(), p.values().begin());
  return p;
}

namespace {

/// Functions of the parameter values: the error ln(predicted / measured), and the rates on which it depends.
struct FitRow {
  std::function<double(std::span<const double>)> error;
  std::function<std::tuple<Achieved, Seconds, Seconds>(std::span<const double>)> rates;
};

struct InferenceFitRows {
  FitSet set{.cards = inference_parameter_cards};
  std::vector<FitRow> rows;

  void add(std::string key, std::string family, double weight, FitRow row) {
    set.keys.push_back(std::move(key));
    set.families.push_back(std::move(family));
    set.weights.push_back(weight);
    rows.push_back(std::move(row));
  }
};

/// Rates and time per request of a row: InferenceCase or RunCase.
template <typename Case>
auto rates_of(const std::shared_ptr<const Case>& c, const InferenceStack& stack) {
  return [c, stack](std::span<const double> values) {
    const InferenceParameters p = inference_parameters(values);
    return std::tuple{inference_rates(p, c->on.hardware, stack, c->plan), request_seconds(p, stack),
                      first_wave_seconds(p, stack)};
  };
}

void add_figures(InferenceFitRows& to, const InferenceCase& measured) {
  const auto c = std::make_shared<const InferenceCase>(measured);
  if (!c->skip.empty() || c->cluster().device.peak(c->plan.precision).value <= 0) return;
  for (const Figure& f : c->figures) {
    if (!inference_class(*c, f.quantity) || f.value <= 0) continue;
    const InferenceStack stack = inference_stack(*c);
    const auto error = [of = FigureRow{c, stack, f}](std::span<const double> values) {
      thread_local LastTimes last;
      return std::log(*last.of(of, values).figure(of.figure) / of.figure.value);
    };
    to.add(fit_key(c->head.id, f.key), c->head.family, figure_weight(*c, f), {error, rates_of(c, stack)});
  }
}

/// Weight of a mean of a recorded run, over hundreds of requests whose lengths and arrivals are known.
constexpr double weight_of_run = 10;

double mean_seconds(const std::vector<Seconds>& all) { return spread(all).mean.value; }

void add_means(InferenceFitRows& to, const RunCase& run) {
  const auto c = std::make_shared<const RunCase>(run);
  if (!c->skip.empty()) return;
  for (const auto& [key, times] :
       {std::pair{"ttft_mean_ms", &RequestTimes::first_token}, {"tpot_mean_ms", &RequestTimes::per_token}})
    to.add(fit_key(run.head.id, key), run.head.family, weight_of_run,
           {[c, times = times](std::span<const double> values) {
              const Replay served = replay(*c, estimated_passes(*c, inference_parameters(values)));
              return std::log(mean_seconds(served.times.*times) / mean_seconds(recorded_times(*c).*times));
            },
            rates_of(c, c->stack)});
}

}  // namespace

FitSet inference_fit_set(const std::vector<InferenceCase>& cases, const std::vector<RunCase>& runs) {
  InferenceFitRows all;
  for (const InferenceCase& c : cases) add_figures(all, c);
  for (const RunCase& run : runs) add_means(all, run);
  weigh_families(all.set);
  const auto rows = std::make_shared<const std::vector<FitRow>>(std::move(all.rows));
  all.set.error = [rows](std::size_t i, std::span<const double> values) { return (*rows)[i].error(values); };
  all.set.same = [rows](std::size_t i, std::span<const double> a, std::span<const double> b) {
    return (*rows)[i].rates(a) == (*rows)[i].rates(b);
  };
  return all.set;
}

}  // namespace llmcalc
