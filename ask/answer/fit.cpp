#include "ask/answer/fit.hpp"

#include <cmath>

#include "calc/elementary.hpp"

namespace llmcalc {
namespace {

double normal_distribution(double x) { return 0.5 * elementary::erfc(-x / std::sqrt(2.0)); }

Fit fit_of(double needed, double all, double factor) {
  constexpr double end = 1.6448536269514722;  // half-width of a 90 % interval, in standard deviations
  const double probability = normal_distribution(end * elementary::log(all / needed) / elementary::log(factor));
  if (needed * factor <= all) return {FitVerdict::yes, probability};
  if (needed / factor > all) return {FitVerdict::no, probability};
  return {probability >= 0.5 ? FitVerdict::likely : FitVerdict::unlikely, probability};
}

double as_real(Bytes b) { return static_cast<double>(b.value); }

/// Bytes that an engine always needs: weights, media encoders and the batch's KV cache.
Bytes exact_bytes(const Memory& m) { return m.weights + m.media_encoders + m.kv_cache; }

/// Makes the verdict agree with the exact check. Near P = 0.5 they can disagree, because the exact check counts whole
/// blocks and micro-batches and the estimate is continuous.
Fit decided(Fit fit, bool fits) {
  if (fits == fit.is_expected()) return fit;
  return fits ? Fit{FitVerdict::likely, 0.5} : Fit{FitVerdict::unlikely, std::nextafter(0.5, 0)};
}

}  // namespace

Fit fit_of(const TrainingAnswer& a) {
  if (!a.fits()) return {};
  if (!a.process()) return {FitVerdict::yes, 1};
  const ProcessEstimate& p = *a.process();
  return fit_of(as_real(p.needed()), as_real(p.capacity), p.interval.factor);
}

Fit fit_of(const InferenceAnswer& a) {
  const bool fits = a.fits();
  if (!a.capacity()) return fits ? Fit{FitVerdict::yes, 1} : Fit{};
  const Device& device = a.fullest_request().hardware->cluster.device;
  const bool impossible = exact_bytes(a.memory()) > device.memory || !device.host.holds(a.memory().host);
  if (impossible) return {};
  return decided(fit_of(as_real(a.memory().peak), as_real(a.usable()), a.capacity()->interval().factor), fits);
}

}  // namespace llmcalc
