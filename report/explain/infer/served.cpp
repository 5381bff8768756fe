// Results of a served run: rates, cache occupancy, percentiles.

#include "ask/answer/serving/whole_run.hpp"
#include "report/explain/definition.hpp"
#include "report/serve/serving_report.hpp"
#include "report/serve/serving_sections.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

constexpr std::string_view whole_traffic = "--rate R, --users N or --requests FILE";
constexpr std::string_view continued = "traffic with outputs of several tokens";
constexpr std::string_view while_all_ask =
    "with --rate or --requests, all answers; with --users N, excludes the first N answers and those after the last one "
    "that triggered another request";
constexpr std::string_view by_request = "the simulated run, per request";

Symbol time_counted(S s) {
  return as_symbol(s, "t_r", "length of the interval in which answers are counted, s", "serving.counted_s");
}

/// A total over the counted answers, divided by the length of the counting interval.
Formula over_time(S s, const char* meaning, Count CountedAnswers::*tokens) {
  const WholeRun& w = s.run();
  return {"n_a/t_r", {{"n_a", meaning, number_text(w.served.counted.*tokens)}, time_counted(s)}};
}

Formula prompts_per_second(S s) {
  return over_time(s, "prompt tokens of the counted answers", &CountedAnswers::prompt_tokens);
}
Formula answers_per_second(S s) {
  return over_time(s, "output tokens of the counted answers", &CountedAnswers::tokens);
}
Formula requests_per_second(S s) {
  return {"n_q/t_r", {as_symbol(s, "n_q", "counted answers", "serving.counted_requests"), time_counted(s)}};
}
Formula good_requests_per_second(S s) {
  return over_time(s, "counted answers within all limits", &CountedAnswers::met);
}

Formula blocks_in_use(S s) {
  return from_engine(s, "phi_kv", "time-averaged blocks in use over the blocks of all engines' caches",
                     "serving.kv_occupancy");
}

template <Letters path>
Formula percentile_of(S s) {
  return from_engine(s, "t_p", "interpolated between the two nearest values in sorted order, s", path.text);
}
template <Letters path>
Formula gap_percentile(S s) {
  return from_engine(s, "t_p", "mean of the latencies in the percentile's bin, each bin 1 % wide, s", path.text);
}

/// A percentile over the requests of one of their times.
template <Letters path>
constexpr Definition percentile_row(std::string_view what, std::string_view wants = whole_traffic) {
  return {path.text, what, "s", percentile_of<path>, "over the run's requests", by_request, wants};
}
/// A percentile of the time between two tokens.
template <Letters path>
constexpr Definition gap_row(std::string_view what) {
  return {path.text, what, "s", gap_percentile<path>, "per token", by_request, continued};
}

constexpr Definition served_table[] = {
    {"serving.throughput_in_tok_s", "prompt tokens per second", "tokens/s", prompts_per_second,
     "includes cached tokens; otherwise as serving.throughput_out_tok_s", by_request, whole_traffic},
    {"serving.throughput_out_tok_s", "output tokens per second", "tokens/s", answers_per_second, while_all_ask,
     by_request, whole_traffic},
    {"serving.throughput_req_s", "completed requests per second", "requests/s", requests_per_second, while_all_ask,
     by_request, whole_traffic},
    {"serving.goodput_req_s", "requests per second within --slo-ttft and --slo-tpot", "requests/s",
     good_requests_per_second, "a request counts if it meets all specified limits", "DistServe (arXiv:2401.09670)",
     "--slo-ttft or --slo-tpot, and traffic"},
    {"serving.kv_occupancy", "mean fraction of the KV cache in use", "", blocks_in_use,
     "blocks allocated to sequences in progress", "the simulated run, per pass", whole_traffic},
    percentile_row<"serving.ttft_s.p50">("time to first token, median of requests"),
    percentile_row<"serving.ttft_s.p90">("time to first token, 90th percentile of requests"),
    percentile_row<"serving.ttft_s.p95">("time to first token, 95th percentile of requests"),
    percentile_row<"serving.ttft_s.p99">("time to first token, 99th percentile of requests"),
    percentile_row<"serving.ttft_s.p999">("time to first token, 99.9th percentile of requests"),
    percentile_row<"serving.tpot_s.p50">("time per output token, median of requests", continued),
    percentile_row<"serving.tpot_s.p90">("time per output token, 90th percentile of requests", continued),
    percentile_row<"serving.tpot_s.p95">("time per output token, 95th percentile of requests", continued),
    percentile_row<"serving.tpot_s.p99">("time per output token, 99th percentile of requests", continued),
    percentile_row<"serving.tpot_s.p999">("time per output token, 99.9th percentile of requests", continued),
    gap_row<"serving.itl_s.p50">("inter-token latency, median of tokens"),
    gap_row<"serving.itl_s.p90">("inter-token latency, 90th percentile of tokens"),
    gap_row<"serving.itl_s.p95">("inter-token latency, 95th percentile of tokens"),
    gap_row<"serving.itl_s.p99">("inter-token latency, 99th percentile of tokens"),
    gap_row<"serving.itl_s.p999">("inter-token latency, 99.9th percentile of tokens"),
    percentile_row<"serving.latency_s.p50">("time to last token, median of requests"),
    percentile_row<"serving.latency_s.p90">("time to last token, 90th percentile of requests"),
    percentile_row<"serving.latency_s.p95">("time to last token, 95th percentile of requests"),
    percentile_row<"serving.latency_s.p99">("time to last token, 99th percentile of requests"),
    percentile_row<"serving.latency_s.p999">("time to last token, 99.9th percentile of requests"),
};

}  // namespace

std::span<const Definition> served_definitions() { return served_table; }

}  // namespace llmcalc::explain
