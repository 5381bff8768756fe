#include "evidence/bench/server_counters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

/// A histogram of times per token, and the key of its mean.
struct TokenTimes {
  std::string_view histogram, figure;
};
/// Counters of cached prompt tokens, and of all prompt tokens that were looked up.
struct CachedTokens {
  std::string_view hits, all;
};

/// Names of an engine's metrics; an empty name is not exposed. From
///   vLLM:      github.com/vllm-project/vllm, vllm/engine/metrics.py (V0), vllm/v1/metrics/loggers.py (V1)
///   SGLang:    github.com/sgl-project/sglang, python/sglang/srt/metrics/collector.py
///   llama.cpp: github.com/ggml-org/llama.cpp, tools/server/server-task.cpp, server-context.cpp
struct CounterNames {
  std::string_view engine, prefix;
  std::string_view requests;                      ///< requests that ended
  std::string_view prompt_tokens, answer_tokens;  ///< their tokens; of llama.cpp without cached ones
  std::string_view output_tokens;                 ///< all generated tokens
  std::string_view latency;                       ///< sum of their times
  std::string_view first_token;                   ///< histogram of times to the first token
  std::array<TokenTimes, 3> token_times;          ///< the first one present is used
  std::array<CachedTokens, 2> cached;
  std::string_view drafted,
      accepted_length;       ///< counter of drafted tokens; gauge of tokens per pass, above 1 with them
  std::string_view running;  ///< gauge of requests in progress
};

constexpr std::array counter_names{
    CounterNames{.engine = "vllm",
                 .prefix = "vllm:",
                 .requests = "vllm:request_prompt_tokens_count",
                 .prompt_tokens = "vllm:request_prompt_tokens_sum",
                 .answer_tokens = "vllm:request_generation_tokens_sum",
                 .output_tokens = "vllm:generation_tokens_total",
                 .latency = "vllm:e2e_request_latency_seconds_sum",
                 .first_token = "vllm:time_to_first_token_seconds",
                 .token_times = {TokenTimes{"vllm:request_time_per_output_token_seconds", "tpot_ms"},
                                 {"vllm:inter_token_latency_seconds", "itl_ms"},
                                 {"vllm:time_per_output_token_seconds", "itl_ms"}},
                 .cached = {CachedTokens{"vllm:prefix_cache_hits_total", "vllm:prefix_cache_queries_total"},
                            {"vllm:gpu_prefix_cache_hits_total", "vllm:gpu_prefix_cache_queries_total"}},
                 .drafted = "vllm:spec_decode_num_draft_tokens_total",
                 .accepted_length = "",
                 .running = "vllm:num_requests_running"},
    CounterNames{.engine = "sglang",
                 .prefix = "sglang:",
                 .requests = "sglang:e2e_request_latency_seconds_count",
                 .prompt_tokens = "sglang:prompt_tokens_total",
                 .answer_tokens = "sglang:generation_tokens_total",
                 .output_tokens = "sglang:generation_tokens_total",
                 .latency = "sglang:e2e_request_latency_seconds_sum",
                 .first_token = "sglang:time_to_first_token_seconds",
                 .token_times = {TokenTimes{"sglang:inter_token_latency_seconds", "itl_ms"},
                                 {"sglang:time_per_output_token_seconds", "itl_ms"},
                                 {}},
                 .cached = {CachedTokens{"sglang:cached_tokens_total", "sglang:prompt_tokens_total"}, {}},
                 .drafted = "",
                 .accepted_length = "sglang:spec_accept_length",
                 .running = "sglang:num_running_reqs"},
    CounterNames{.engine = "llama.cpp",
                 .prefix = "llamacpp:",
                 .requests = "",
                 .prompt_tokens = "llamacpp:prompt_tokens_total",
                 .answer_tokens = "llamacpp:tokens_predicted_total",
                 .output_tokens = "llamacpp:tokens_predicted_total",
                 .latency = "",
                 .first_token = "",
                 .token_times = {},
                 .cached = {},
                 .drafted = "llamacpp:spec_decode_num_draft_tokens_total",
                 .accepted_length = "",
                 .running = "llamacpp:requests_processing"}};

constexpr std::size_t longest_model = 200;

/// Null without counters of a known engine.
const CounterNames* names_in(const Exposition& metrics) {
  const auto* found = std::find_if(counter_names.begin(), counter_names.end(),
                                   [&](const CounterNames& n) { return metrics.has(n.prefix); });
  return found == counter_names.end() ? nullptr : found;
}

/// Increases of counters between two readings.
class Increases {
 public:
  explicit Increases(const ServerReadings& r) : r_(r) {}

  /// Absent if the later reading lacks the counter. Before its first event, a counter may be missing. Throws InputError
  /// if it fell.
  std::optional<double> of(std::string_view name) const {
    const std::optional<double> after = r_.after.value(name);
    if (!after) return std::nullopt;
    const double increase = *after - r_.before.value(name).value_or(0);
    if (std::isfinite(increase) && increase >= 0) return increase;
    throw InputError(
        fmt::format("{}: {} fell from {:g} to {:g} between the readings, as after a restart of the server; "
                    "rerun calibrate",
                    r_.where, name, r_.before.value(name).value_or(0), *after));
  }
  double needed(std::string_view name) const {
    if (const std::optional<double> x = of(name)) return *x;
    throw InputError(
        fmt::format("{}: its metrics lack {}; pass a server with all counters of requests, or the output "
                    "of a benchmark to --bench",
                    r_.where, name));
  }
  /// Mean of a histogram's new values; absent without one.
  std::optional<double> mean(std::string_view histogram) const {
    const std::string name(histogram);
    const std::optional<double> sum = of(name + "_sum"), n = of(name + "_count");
    return sum && n && *sum > 0 && *n > 0 ? std::optional(*sum / *n) : std::nullopt;
  }

 private:
  const ServerReadings& r_;
};

/// Requests that ended, and the sums of their tokens and seconds.
struct EndedRequests {
  double count = 0;
  double prompt = 0, cached = 0, answer = 0;  ///< tokens; `cached` is part of `prompt`
  double seconds = 0;
  MeasuredValues times{};
};

[[noreturn]] void refuse_count(const ServerReadings& r, const std::string& count) {
  throw InputError(
      fmt::format("{}: {} in {:.3g} s, but means need at least {:g}; send requests as its users do, or wait "
                  "longer with --seconds N",
                  r.where, count, r.seconds, fewest_requests));
}

/// Throws InputError if too few requests ended for means.
void refuse_few(const ServerReadings& r, double count) {
  if (count < 1) refuse_count(r, "no request ended");
  if (count < fewest_requests)
    refuse_count(r, fmt::format("only {:.0f} request{} ended", std::floor(count), count < 2 ? "" : "s"));
}

/// Throws InputError if the server drafts tokens, which estimates of a calibration leave out.
void refuse_drafts(const ServerReadings& r, const CounterNames& names, const Increases& increase) {
  const bool drafts =
      increase.of(names.drafted).value_or(0) > 0 || r.after.value(names.accepted_length).value_or(0) > 1;
  if (drafts)
    throw InputError(
        fmt::format("{} drafts tokens (speculative decoding), which the estimates for a calibration leave "
                    "out; start it without drafts",
                    r.where));
}

/// Share of the prompts' tokens that the cache held.
double cached_share(const CounterNames& names, const Increases& increase) {
  for (const CachedTokens& c : names.cached)
    if (const std::optional<double> all = increase.of(c.all); all && *all > 0)
      return std::min(1.0, increase.of(c.hits).value_or(0) / *all);
  return 0;
}

void add_time(MeasuredValues& times, std::string_view key, std::optional<double> seconds) {
  if (seconds && *seconds > 0) times.emplace_back(key, 1e3 * *seconds);
}

/// vLLM and SGLang have counters of requests and histograms of their times.
EndedRequests counted_requests(const ServerReadings& r, const CounterNames& names, const Increases& increase) {
  EndedRequests all{.count = increase.of(names.requests).value_or(0)};
  refuse_few(r, all.count);
  all.prompt = increase.needed(names.prompt_tokens);
  all.cached = all.prompt * cached_share(names, increase);
  all.answer = increase.needed(names.answer_tokens);
  all.seconds = increase.needed(names.latency);
  add_time(all.times, "ttft_ms", increase.mean(names.first_token));
  const auto has_mean = [&](const TokenTimes& t) { return increase.mean(t.histogram).has_value(); };
  const auto* found = std::find_if(names.token_times.begin(), names.token_times.end(), has_mean);
  if (found != names.token_times.end()) add_time(all.times, found->figure, increase.mean(found->histogram));
  return all;
}

/// llama.cpp's server has sums of tokens and of the seconds of its slots. Their number of requests follows from the
/// mean prompt. The time of a prompt ends with the first token of its answer.
EndedRequests counted_slots(const ServerReadings& r, const CounterNames& names, const Increases& increase) {
  refuse_unusable(std::string(names.engine), r.prompt, r.where);
  EndedRequests all{.cached = increase.of("llamacpp:prompt_tokens_cached_total").value_or(0)};
  all.prompt = increase.needed(names.prompt_tokens) + all.cached;
  all.answer = increase.needed(names.answer_tokens);
  all.count = all.answer > 0 ? all.prompt / *r.prompt : 0;
  refuse_few(r, all.count);
  const double prompts = increase.needed("llamacpp:prompt_seconds_total"),
               answers = increase.needed("llamacpp:tokens_predicted_seconds_total");
  all.seconds = prompts + answers;
  add_time(all.times, "ttft_ms", prompts / all.count);
  if (all.answer > all.count) add_time(all.times, "tpot_ms", answers / (all.answer - all.count));
  return all;
}

/// Throws InputError for a mean that no server has, from counters with other units or meanings.
double plausible(const ServerReadings& r, const char* name, double x, double most) {
  if (x > 0 && x <= most) return x;
  throw InputError(
      fmt::format("{}: its counters give {:.4g} {}, but a server has more than 0 and at most {:.0f}; pass the "
                  "output of a benchmark to --bench instead",
                  r.where, x, name, most));
}

BenchTest interval_test(const ServerReadings& r, const EndedRequests& all, double output) {
  constexpr double most_tokens = 0x1p22, most_clients = 1e6;
  BenchTest t{.served = true, .steady = true, .requests = all.count};
  t.clients = plausible(r, "requests in progress", all.seconds / r.seconds, most_clients);
  t.cached = all.cached / all.count;
  t.prompt = std::max(1.0, plausible(r, "tokens per prompt", all.prompt / all.count, most_tokens) - t.cached);
  t.generate = plausible(r, "tokens per answer", all.answer / all.count, most_tokens);
  t.measured = all.times;
  if (output > 0) t.measured.emplace_back("output_tok_s", output / r.seconds);
  return t;
}

}  // namespace

BenchRun counted_run(const Exposition& metrics, const std::string& where) {
  const CounterNames* names = names_in(metrics);
  if (names == nullptr)
    throw InputError(
        fmt::format("{}: no metrics of vLLM, SGLang or llama.cpp; pass the address of such a server", where));
  if (metrics.models().size() > 1)
    throw InputError(
        fmt::format("{}: metrics of {} models; pass the address of a server with one", where, metrics.models().size()));
  BenchRun run{.engine = std::string(names->engine)};
  if (!metrics.models().empty()) run.model = shortened(printable(*metrics.models().begin()), longest_model);
  return run;
}

void refuse_unusable(const std::string& engine, std::optional<double> prompt, const std::string& where) {
  if (engine == "llama.cpp" && !prompt)
    throw InputError(
        fmt::format("{}: llama.cpp counts no requests; add --prompt N, the mean tokens of a prompt", where));
}

ServerInterval server_interval(const ServerReadings& r) {
  const CounterNames* names = names_in(r.after);
  if (names == nullptr || names != names_in(r.before))
    throw InputError(fmt::format("{}: the two readings are not of one server; pass two of the same", r.where));
  const Increases increase(r);
  refuse_drafts(r, *names, increase);
  const EndedRequests all =
      names->requests.empty() ? counted_slots(r, *names, increase) : counted_requests(r, *names, increase);
  return {.test = interval_test(r, all, increase.needed(names->output_tokens)),
          .running_before = r.before.value(names->running),
          .running_after = r.after.value(names->running),
          .latency = all.seconds / all.count};
}

}  // namespace llmcalc
