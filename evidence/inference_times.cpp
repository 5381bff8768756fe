#include "evidence/inference_times.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "calc/infer.hpp"

namespace llmcalc {

namespace {

Count whole_context(double context) { return std::max<Count>(1, std::llround(std::min(context, 0x1p40))); }

/// Tokens that an engine takes at most into one pass (vLLM's max_num_batched_tokens).
constexpr Count most_in_a_pass = 8192;

/// A plan whose prompts come one after another, as servers take them.
Plan one_pass(Plan plan) {
  plan.batch = 1;
  plan.prompt = std::min(plan.prompt, most_in_a_pass);
  return plan;
}

}  // namespace

/// Whether requests come and go while others decode.
bool InferenceTimes::serves() const {
  return !c_.decode_window && c_.batch > 1 &&
         (c_.kind == BatchKind::concurrency || c_.kind == BatchKind::max_inflight);
}

double InferenceTimes::prefill_seconds() const {
  return prefill(c_.arch, c_.plan, c_.layout, cluster_, c_.plan.prompt).estimate.total().value;
}

double InferenceTimes::decode_seconds(Count sequences, double context) const {
  return decode(c_.arch, with_batch(c_.plan, sequences), c_.layout, cluster_, whole_context(context)).estimate.total().value;
}

/// A step of all sequences; where the row's figure states no context, in the middle of the answer.
double InferenceTimes::decode_seconds(const Figure& f) const {
  const double context = f.context.value_or(c_.cached + c_.prompt + c_.generate / 2);
  return decode(c_.arch, c_.plan, c_.layout, cluster_, whole_context(context)).estimate.total().value;
}

/// Of one replica.
ClosedLoop InferenceTimes::loop() const {
  const double all = static_cast<double>(replicas(c_.layout)), context = c_.cached + c_.prompt + c_.generate / 2;
  const double room = cache_tokens(c_) / (c_.cached + c_.prompt + c_.generate);
  return {.clients = c_.batch / all,
          .generate = std::max(1.0, c_.generate),
          .most_decoding = std::max(1.0, room / all),
          .prompt = prefill(c_.arch, with_batch(c_.plan, 1), c_.layout, cluster_, c_.plan.prompt).estimate.total(),
          .step = [this, context, known = std::map<Count, Seconds>()](double sequences) mutable {
            const Count n = std::max<Count>(1, std::llround(sequences));
            const auto found = known.find(n);
            return found != known.end() ? found->second : known[n] = Seconds(decode_seconds(n, context));
          }};
}

double InferenceTimes::whole_seconds() const {
  if (serves()) {
    const SteadyState s = steady_state(loop());
    return (s.first_token + std::max(1.0, c_.generate) * s.per_token).value;
  }
  return infer(c_.arch, c_.plan, c_.layout, cluster_).estimate.total.value;
}

double InferenceTimes::decoding_seconds() const {
  const Generation g = infer(c_.arch, c_.plan, c_.layout, cluster_).estimate;
  return g.total.value - g.first_token.value;
}

double InferenceTimes::per_token_seconds(const Figure& f) const {
  return serves() ? steady_state(loop()).per_token.value : decode_seconds(f);
}

double InferenceTimes::first_token_seconds() const {
  return serves() ? steady_state(loop()).first_token.value : prefill_seconds();
}

std::optional<double> InferenceTimes::figure(const Figure& f) const {
  switch (f.quantity) {
    case FigureKind::time_per_token:
      return per_token_seconds(f);
    case FigureKind::decode_step:
      return decode_seconds(f);
    case FigureKind::decode_time:
      return decoding_seconds();
    case FigureKind::first_token:
      return first_token_seconds();
    case FigureKind::prefill_time:
      return prefill_seconds();
    case FigureKind::whole_time:
      return whole_seconds();
    case FigureKind::output_rate:
      return c_.batch * c_.generate / whole_seconds();
    case FigureKind::total_rate:
      return c_.batch * (c_.prompt + c_.generate) / whole_seconds();
    case FigureKind::decode_rate:
    case FigureKind::decode_rate_first:
    case FigureKind::decode_rate_last:
      return c_.batch / decode_seconds(f);
    case FigureKind::peak_output_rate:
      return c_.batch / per_token_seconds(f);
    case FigureKind::prefill_rate:
      return c_.batch * c_.prompt / prefill_seconds();
    case FigureKind::bandwidth:
      return static_cast<double>(weights_bytes(c_.arch, c_.plan, c_.layout).value) / decode_seconds(f);
    default:
      return std::nullopt;
  }
}

double cache_tokens(const InferenceCase& c) {
  const Memory m = inference_memory(c.arch, one_pass(c.plan), c.layout);
  const double usable = c.plan.memory_utilization * static_cast<double>(c.cluster().device.memory.value);
  const double left = usable - static_cast<double>(m.weights.value) - static_cast<double>(m.workspace.value);
  const auto per_token = static_cast<double>(cache_bytes_per_token(c.arch, c.plan, c.layout).value);
  return left / per_token * static_cast<double>(replicas(c.layout));
}

}  // namespace llmcalc
