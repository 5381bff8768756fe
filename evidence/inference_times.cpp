#include "evidence/inference_times.hpp"

#include <algorithm>
#include <cmath>

#include "calc/infer.hpp"

namespace llmcalc {

namespace {

Count whole_context(double context) { return std::max<Count>(1, std::llround(std::min(context, 0x1p40))); }

}  // namespace

/// Whether requests come and go while others decode.
bool InferenceTimes::serves() const {
  return !c_.decode_window && (c_.kind == BatchKind::concurrency || c_.kind == BatchKind::max_inflight);
}

double InferenceTimes::prefill_seconds() const {
  return prefill(c_.arch, c_.plan, c_.layout, cluster_, c_.plan.prompt).estimate.total().value;
}

/// A step of all sequences; where the row's figure states no context, in the middle of the answer.
double InferenceTimes::decode_seconds(const Figure& f) const {
  const double context = f.context.value_or(c_.cached + c_.prompt + c_.generate / 2);
  return decode(c_.arch, c_.plan, c_.layout, cluster_, whole_context(context)).estimate.total().value;
}

const ServedMeans& InferenceTimes::served() const {
  if (!served_) served_ = served_means(c_, stack_, cluster_, request_);
  return *served_;
}

double InferenceTimes::whole_seconds() const {
  if (serves()) return served().request.value;
  return infer(c_.arch, c_.plan, c_.layout, cluster_).estimate.total.value;
}

/// Generated tokens per second of all replicas.
double InferenceTimes::output_rate() const {
  if (!serves()) return c_.batch * c_.generate / whole_seconds();
  return static_cast<double>(replicas(c_.layout)) * served().tokens / served().all.value;
}

double InferenceTimes::decoding_seconds() const {
  const Generation g = infer(c_.arch, c_.plan, c_.layout, cluster_).estimate;
  return g.total.value - g.first_token.value;
}

std::optional<double> InferenceTimes::figure(const Figure& f) const {
  switch (f.quantity) {
    case FigureKind::time_per_token:
      return serves() ? served().per_token.value : decode_seconds(f);
    case FigureKind::decode_step:
      return decode_seconds(f);
    case FigureKind::decode_time:
      return decoding_seconds();
    case FigureKind::first_token:
      return serves() ? served().first_token.value : prefill_seconds();
    case FigureKind::prefill_time:
      return prefill_seconds();
    case FigureKind::whole_time:
      return whole_seconds();
    case FigureKind::output_rate:
      return output_rate();
    case FigureKind::total_rate:
      return (c_.prompt + c_.generate) / std::max(1.0, c_.generate) * output_rate();
    case FigureKind::decode_rate:
    case FigureKind::decode_rate_first:
    case FigureKind::decode_rate_last:
      return c_.batch / decode_seconds(f);
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
