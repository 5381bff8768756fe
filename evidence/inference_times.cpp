#include "evidence/inference_times.hpp"

#include <algorithm>
#include <cmath>

#include "calc/infer.hpp"

namespace llmcalc {

namespace {

Count whole_context(double context) { return std::max<Count>(1, std::llround(std::min(context, 0x1p40))); }

}  // namespace

/// Whether requests arrive and finish while other requests decode.
bool InferenceTimes::serves() const {
  return !c_.decode_window && (c_.kind == BatchKind::concurrency || c_.kind == BatchKind::max_inflight);
}

/// Prefill time of a prompt that follows cached tokens. Only the prompt's tokens are processed, but they also attend
/// to the cached ones.
double InferenceTimes::prefill_seconds() const {
  Step step = prefill_step(c_.plan, c_.plan.prompt);
  step.past = std::llround(std::min(c_.cached, 0x1p40));
  const Prices prices = price_pass(c_.arch, c_.plan, c_.layout, cluster_.device, step, Phase::prefill);
  return assemble_pass(prices, c_.plan, c_.layout, cluster_).estimate.total().value;
}

/// The plan with cached tokens counted as part of the prompt.
Plan InferenceTimes::behind_cached() const {
  Plan plan = c_.plan;
  plan.prompt = add(plan.prompt, std::llround(std::min(c_.cached, 0x1p40)));
  return plan;
}

namespace {

Seconds of_spread(const Spread& s, Statistic statistic, Seconds least) {
  switch (statistic) {
    case Statistic::mean:
      return s.mean;
    case Statistic::median:
    case Statistic::gap_median:
      return s.p50;
    case Statistic::p90:
      return s.p90;
    case Statistic::p95:
      return s.p95;
    case Statistic::p99:
    case Statistic::gap_p99:
      return s.p99;
    case Statistic::least:
      break;
  }
  return least;
}

}  // namespace

/// The figure's statistic over the requests: mean, percentile or minimum.
double InferenceTimes::served_seconds(const Figure& f) const {
  const ServedTimes& s = served();
  const bool of_gaps = f.statistic == Statistic::gap_median || f.statistic == Statistic::gap_p99;
  if (f.quantity == FigureKind::first_token) return of_spread(s.first_token, f.statistic, s.least_first).value;
  if (f.quantity == FigureKind::whole_time) return of_spread(s.request, f.statistic, s.least).value;
  return of_spread(of_gaps ? s.gap : s.per_token, f.statistic, s.per_token.mean).value;
}

/// Time of one decode step for all sequences. Without a context length in the figure, this is the step halfway
/// through the answer.
double InferenceTimes::decode_seconds(const Figure& f) const {
  const double context = f.context.value_or(c_.cached + c_.prompt + c_.generate / 2);
  return decode(c_.arch, c_.plan, c_.layout, cluster_, whole_context(context)).estimate.total().value;
}

const ServedTimes& InferenceTimes::served() const {
  if (!served_) served_ = times_served(c_, stack_, cluster_, overhead_);
  return *served_;
}

double InferenceTimes::whole_seconds() const {
  if (serves()) return served().request.mean.value;
  return prefill_seconds() + decoding_seconds();
}

/// Generated tokens per second across all replicas.
double InferenceTimes::output_rate() const {
  // In a steady state, each of the clients always has one request (Little's law).
  if (!serves() || c_.start == ClientStart::spread) return c_.batch * c_.generate / whole_seconds();
  return static_cast<double>(simulated_parts(c_)) * served().tokens / served().all.value;
}

double InferenceTimes::utilization() const {
  const InferEstimate e = infer(c_.arch, behind_cached(), c_.layout, cluster_);
  const double flops =
                   static_cast<double>(e.prefill.flops.value) + c_.generate * static_cast<double>(e.middle.flops.value),
               sequences = output_rate() / c_.generate,
               peak = cluster_.device.peak(c_.plan.precision).value * static_cast<double>(c_.head.gpus);
  return flops / static_cast<double>(c_.plan.batch) * sequences / peak;
}

double InferenceTimes::decoding_seconds() const {
  const Generation g = infer(c_.arch, behind_cached(), c_.layout, cluster_).estimate;
  return g.total.value - g.first_token.value;
}

std::optional<double> InferenceTimes::figure(const Figure& f) const {
  switch (f.quantity) {
    case FigureKind::time_per_token:
      return serves() ? served_seconds(f) : decode_seconds(f);
    case FigureKind::decode_step:
      return decode_seconds(f);
    case FigureKind::decode_time:
      return decoding_seconds();
    case FigureKind::first_token:
      return serves() ? served_seconds(f) : prefill_seconds();
    case FigureKind::prefill_time:
      return prefill_seconds();
    case FigureKind::whole_time:
      return serves() ? served_seconds(f) : whole_seconds();
    case FigureKind::output_rate:
      return output_rate();
    case FigureKind::total_rate:
      return (c_.prompt + c_.generate) / std::max(1.0, c_.generate) * output_rate();
    case FigureKind::decode_rate:
    case FigureKind::decode_rate_first:
    case FigureKind::decode_rate_last:
      return c_.batch / decode_seconds(f);
    case FigureKind::user_rate:
      return 1 / (serves() ? served_seconds(f) : decode_seconds(f));
    case FigureKind::peak_output_rate:
      return c_.batch / decode_seconds(f);
    case FigureKind::prefill_rate:
      return c_.batch * c_.prompt / prefill_seconds();
    case FigureKind::bandwidth:
      return static_cast<double>(weights_bytes(c_.arch, c_.plan, c_.layout).value) / decode_seconds(f);
    default:
      return std::nullopt;
  }
}

}  // namespace llmcalc
