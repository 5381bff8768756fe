#include "evidence/inference_times.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "calc/infer.hpp"
#include "evidence/case_memory.hpp"

namespace llmcalc {

namespace {

Count whole_context(double context) { return std::max<Count>(1, std::llround(std::min(context, 0x1p40))); }

/// Tokens that an engine takes at most into one pass (vLLM's max_num_batched_tokens).
constexpr Count most_in_a_pass = 8192;

/// Sequences that an engine has in progress at most (vLLM's max_num_seqs on large devices).
constexpr Count usual_sequences = 1024;

/// A number that lies anywhere in [0, 1) with the same chance, evenly spread: the fraction of i times the golden ratio.
double spread(std::size_t i) {
  const double x = static_cast<double>(i) * 0.6180339887498949;
  return x - std::floor(x);
}

/// Limits of a simulation: more requests or clients would have the same means, and no context is longer.
constexpr double most_requests = 4096, most_clients = 1e6, most_tokens = 0x1p22;

/// The requests of one replica. Where lengths are drawn, uniformly between a share of the nominal ones and all of it.
std::vector<RequestLengths> requests_of(const InferenceCase& c, Count clients) {
  const double ratio = c.length_ratio.value_or(1), usual = 10 * static_cast<double>(clients);
  const double all_at_once = static_cast<double>(clients);
  const double n =
      std::min(c.kind == BatchKind::max_inflight ? all_at_once : c.requests.value_or(usual), most_requests);
  const auto drawn = [&](double mean, double at) {
    const double nominal = std::min(2 * mean / (1 + ratio), most_tokens);
    return std::max<Count>(1, std::llround(nominal * (ratio + (1 - ratio) * at)));
  };
  std::vector<RequestLengths> all;
  for (std::size_t i = 0; static_cast<double>(i) < std::max(1.0, n); ++i)
    all.push_back({drawn(c.prompt, spread(i)), drawn(c.generate, spread(7 * i + 3))});
  return all;
}

}  // namespace

/// Whether requests come and go while others decode.
bool InferenceTimes::serves() const {
  return !c_.decode_window && (c_.kind == BatchKind::concurrency || c_.kind == BatchKind::max_inflight);
}

double InferenceTimes::prefill_seconds() const {
  return prefill(c_.arch, c_.plan, c_.layout, cluster_, c_.plan.prompt).estimate.total().value;
}

double InferenceTimes::decode_seconds(Count sequences, double context) const {
  return decode(c_.arch, with_batch(c_.plan, sequences), c_.layout, cluster_, whole_context(context))
      .estimate.total()
      .value;
}

/// A step of all sequences; where the row's figure states no context, in the middle of the answer.
double InferenceTimes::decode_seconds(const Figure& f) const {
  const double context = f.context.value_or(c_.cached + c_.prompt + c_.generate / 2);
  return decode(c_.arch, c_.plan, c_.layout, cluster_, whole_context(context)).estimate.total().value;
}

/// Seconds that a token of a prompt adds to a pass that is full of them.
Seconds InferenceTimes::prompt_token(Seconds step_of_one) const {
  const Count prompts = std::max<Count>(1, most_in_a_pass / c_.plan.prompt);
  const Seconds all =
      prefill(c_.arch, with_batch(c_.plan, prompts), c_.layout, cluster_, c_.plan.prompt).estimate.total();
  return (1 / static_cast<double>(prompts * c_.plan.prompt)) * std::max(Seconds(), all - step_of_one);
}

/// One replica's clients, who send ten requests each where the row does not say how many.
ServedMeans InferenceTimes::served() const {
  const double context = c_.cached + c_.prompt + c_.generate / 2, all = static_cast<double>(replicas(c_.layout));
  const Count clients = std::max<Count>(1, std::llround(std::min(c_.batch / all, most_clients)));
  std::map<Count, Seconds> known;
  const auto step = [&](Count sequences) {
    const auto found = known.find(sequences);
    return found != known.end() ? found->second : known[sequences] = Seconds(decode_seconds(sequences, context));
  };
  const ServerRules rules{.pass_tokens = most_in_a_pass,
                          .sequences = usual_sequences,
                          .cache_tokens = cache_tokens(c_) / all,
                          .prompts_first = stack_.prompts_first};
  return serve_closed_loop(requests_of(c_, clients), clients, rules, {step, prompt_token(step(1)), request_});
}

double InferenceTimes::whole_seconds() const {
  if (serves()) return served().request.value;
  return infer(c_.arch, c_.plan, c_.layout, cluster_).estimate.total.value;
}

/// Generated tokens per second of all replicas.
double InferenceTimes::output_rate() const {
  if (!serves()) return c_.batch * c_.generate / whole_seconds();
  const ServedMeans s = served();
  return static_cast<double>(replicas(c_.layout)) * static_cast<double>(s.tokens) / s.all.value;
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
