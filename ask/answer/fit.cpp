#include "ask/answer/fit.hpp"

#include <cmath>

namespace llmcalc {
namespace {

double normal_distribution(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

Fit fit_of(const ProcessEstimate& p, Bytes memory) {
  constexpr double end = 1.6448536269514722;  // of a 90 % interval, in standard deviations
  const double all = static_cast<double>(memory.value), needed = static_cast<double>(p.needed().value);
  const double probability = normal_distribution(end * std::log(all / needed) / std::log(p.interval.factor));
  if (p.needed_high() <= all) return {FitVerdict::yes, probability};
  if (p.needed_low() > all) return {FitVerdict::no, probability};
  return {probability >= 0.5 ? FitVerdict::likely : FitVerdict::unlikely, probability};
}

}  // namespace

Fit fit_of(const TrainingAnswer& a) {
  if (!a.fits()) return {};
  if (!a.process()) return {FitVerdict::yes, 1};
  return fit_of(*a.process(), a.request().hardware->cluster.device.memory);
}

Fit fit_of(const InferenceAnswer& a) { return a.fits() ? Fit{FitVerdict::yes, 1} : Fit{}; }

}  // namespace llmcalc
