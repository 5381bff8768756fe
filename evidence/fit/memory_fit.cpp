#include "evidence/fit/memory_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "evidence/fit/left_out.hpp"
#include "evidence/rows/training_case.hpp"
#include "evidence/trained_process.hpp"

namespace llmcalc {

namespace {

using FitRows = std::vector<MemoryFitRow>;

double log_error(const MemoryFitRow& r, const MemoryParameters& p) {
  return std::fabs(std::log(predicted_bytes(r, p) / r.measured));
}

/// Mean error, averaged first over each family's rows and then over families.
double mean_error(const FitRows& rows, const MemoryParameters& p) {
  std::map<std::string_view, std::pair<double, double>> families;
  for (const MemoryFitRow& r : rows) {
    auto& [sum, n] = families[r.family];
    sum += log_error(r, p);
    n += 1;
  }
  double all = 0;
  for (const auto& [family, sum] : families) all += sum.first / sum.second;
  return all / static_cast<double>(families.size());
}

template <typename Keep>
FitRows chosen(const FitRows& rows, const Keep& keep) {
  FitRows out;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(out), keep);
  return out;
}

constexpr double share_step = 0.005, process_step = 0.25e9;

/// Grid of a parameter: all values within its bounds, one step apart.
std::vector<double> values_of(const ParameterCard& card, double step) {
  std::vector<double> all;
  for (int i = 0; card.low + i * step <= card.high + step / 2; ++i) all.push_back(card.low + i * step);
  return all;
}

/// Keeps the parameters with the smallest error. Among ties, keeps the first.
class LeastError {
 public:
  explicit LeastError(const FitRows& rows) : rows_(rows) {}
  void see(const MemoryParameters& p) {
    const double e = mean_error(rows_, p);
    if (seen_ && e >= error_) return;
    seen_ = true;
    error_ = e;
    best_ = p;
  }
  const MemoryParameters& best() const { return best_; }

 private:
  const FitRows& rows_;
  MemoryParameters best_;
  double error_ = 0;
  bool seen_ = false;
};

double fit_reserved(const FitRows& rows) {
  LeastError least(rows);
  for (const double x : values_of(memory_parameter_cards[0], share_step)) least.see({.reserved = x});
  return least.best().reserved;
}

MemoryParameters fit_process(const FitRows& rows) {
  LeastError least(rows);
  for (const double share : values_of(memory_parameter_cards[1], share_step))
    for (const double bytes : values_of(memory_parameter_cards[2], process_step))
      least.see({.fragmented = share, .process = bytes});
  return least.best();
}

}  // namespace

double predicted_bytes(const MemoryFitRow& r, const MemoryParameters& p) {
  if (r.process) return r.bytes * (1 + p.fragmented) + p.process;
  return r.reserved ? r.bytes * (1 + p.reserved) : r.bytes;
}

FitRows memory_fit_rows(const std::vector<TrainingCase>& cases) {
  FitRows out;
  for (const TrainingCase& c : cases) {
    if (!c.skip.empty()) continue;
    for (const MeasuredMemory& m : c.memory)
      out.push_back({.family = c.head.family,
                     .reserved = m.kind == MemoryKind::reserved,
                     .process = m.kind == MemoryKind::process,
                     .stated = m.stated,
                     .bytes = static_cast<double>(total(process_memory(c, m, {})).value),
                     .measured = m.bytes});
  }
  return out;
}

MemoryParameters fit_memory(const FitRows& rows) {
  MemoryParameters p;
  if (const FitRows process = chosen(rows, [](const MemoryFitRow& r) { return r.process && r.stated; });
      !process.empty())
    p = fit_process(process);
  if (const FitRows reserved = chosen(rows, [](const MemoryFitRow& r) { return r.reserved && r.stated; });
      !reserved.empty())
    p.reserved = fit_reserved(reserved);
  return p;
}

MemoryEstimate fitted_memory(const FitRows& rows) {
  MemoryEstimate e{.parameters = fit_memory(rows)};
  std::map<std::string, MemoryParameters> without;
  for (const MemoryFitRow& r : rows)
    if (!without.contains(r.family))
      without[r.family] = fit_memory(chosen(rows, [&](const MemoryFitRow& o) { return o.family != r.family; }));
  for (const auto& c : choices<MemoryClass>) {
    std::map<std::string, std::vector<double>> errors;
    for (const MemoryFitRow& r : rows)
      if (r.process == (c.value == MemoryClass::process)) errors[r.family].push_back(log_error(r, without[r.family]));
    if (errors.empty()) continue;
    e.intervals[static_cast<std::size_t>(c.value)] = interval_of(errors);
  }
  return e;
}

}  // namespace llmcalc
