// Results of a served run: rates, cache occupancy, percentiles.

#include "ask/answer/serving/whole_run.hpp"
#include "report/explain/definition.hpp"
#include "report/serve/serving_report.hpp"
#include "report/serve/serving_sections.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

constexpr std::string_view whole_traffic = "--rate R, --users N or --requests FILE";
constexpr std::string_view continued = "traffic with answers of several tokens";
constexpr std::string_view while_all_ask =
    "of a rate and of a log all answers; of users those behind as many as there are users, up to the last "
    "that a further request followed";
constexpr std::string_view by_request = "the run, request by request";

Symbol time_counted(S s) { return as_symbol(s, "t_r", "time in which these answers came, s", "serving.counted_s"); }

/// A total over the counted answers, divided by the time in which they came.
Formula over_time(S s, const char* meaning, Count CountedAnswers::*tokens) {
  const WholeRun& w = s.run();
  return {"n_a/t_r", {{"n_a", meaning, number_text(w.served.counted.*tokens)}, time_counted(s)}};
}

Formula prompts_per_second(S s) {
  return over_time(s, "tokens of the counted answers' prompts", &CountedAnswers::prompt_tokens);
}
Formula answers_per_second(S s) { return over_time(s, "tokens of the counted answers", &CountedAnswers::tokens); }
Formula requests_per_second(S s) {
  return {"n_q/t_r", {as_symbol(s, "n_q", "answers that are counted", "serving.counted_requests"), time_counted(s)}};
}
Formula good_requests_per_second(S s) {
  return over_time(s, "counted answers within all limits", &CountedAnswers::met);
}

Formula blocks_in_use(S s) {
  return from_engine(s, "phi_kv", "blocks in use, mean over time, over the blocks of all engines' caches",
                     "serving.kv_occupancy");
}

template <Letters path>
Formula percentile_of(S s) {
  return from_engine(s, "t_p", "between the two nearest in order, s", path.text);
}
template <Letters path>
Formula gap_percentile(S s) {
  return from_engine(s, "t_p", "mean of the gaps in its bin, each bin 1 % wide, s", path.text);
}

/// A percentile of a time of requests.
template <Letters path>
constexpr Definition percentile_row(std::string_view what, std::string_view wants = whole_traffic) {
  return {path.text, what, "s", percentile_of<path>, "of the run's requests", by_request, wants};
}
/// The same for the time between two tokens.
template <Letters path>
constexpr Definition gap_row(std::string_view what) {
  return {path.text, what, "s", gap_percentile<path>, "by token", by_request, continued};
}

constexpr Definition served_table[] = {
    {"serving.throughput_in_tok_s", "tokens of prompts per second", "tokens/s", prompts_per_second,
     "what was in the cache counts too; else as serving.throughput_out_tok_s", by_request, whole_traffic},
    {"serving.throughput_out_tok_s", "answered tokens per second", "tokens/s", answers_per_second, while_all_ask,
     by_request, whole_traffic},
    {"serving.throughput_req_s", "answered requests per second", "requests/s", requests_per_second, while_all_ask,
     by_request, whole_traffic},
    {"serving.goodput_req_s", "requests per second within --slo-ttft and --slo-tpot", "requests/s",
     good_requests_per_second, "a request counts if it meets all limits that were given",
     "DistServe (arXiv:2401.09670)", "--slo-ttft or --slo-tpot, and traffic"},
    {"serving.kv_occupancy", "share of the KV cache in use, mean over time", "", blocks_in_use,
     "blocks that a sequence in progress holds", "the run, pass by pass", whole_traffic},
    percentile_row<"serving.ttft_s.p50">("the time to the first token that half of the requests do not exceed"),
    percentile_row<"serving.ttft_s.p90">("the time to the first token that 90 % of requests do not exceed"),
    percentile_row<"serving.ttft_s.p95">("the time to the first token that 95 % of requests do not exceed"),
    percentile_row<"serving.ttft_s.p99">("the time to the first token that 99 % of requests do not exceed"),
    percentile_row<"serving.ttft_s.p999">("the time to the first token that 99.9 % of requests do not exceed"),
    percentile_row<"serving.tpot_s.p50">("the time per token that half of the requests do not exceed", continued),
    percentile_row<"serving.tpot_s.p90">("the time per token that 90 % of requests do not exceed", continued),
    percentile_row<"serving.tpot_s.p95">("the time per token that 95 % of requests do not exceed", continued),
    percentile_row<"serving.tpot_s.p99">("the time per token that 99 % of requests do not exceed", continued),
    percentile_row<"serving.tpot_s.p999">("the time per token that 99.9 % of requests do not exceed", continued),
    gap_row<"serving.itl_s.p50">("the time between two tokens that half of all do not exceed"),
    gap_row<"serving.itl_s.p90">("the time between two tokens that 90 % of all do not exceed"),
    gap_row<"serving.itl_s.p95">("the time between two tokens that 95 % of all do not exceed"),
    gap_row<"serving.itl_s.p99">("the time between two tokens that 99 % of all do not exceed"),
    gap_row<"serving.itl_s.p999">("the time between two tokens that 99.9 % of all do not exceed"),
    percentile_row<"serving.latency_s.p50">("the time to the last token that half of the requests do not exceed"),
    percentile_row<"serving.latency_s.p90">("the time to the last token that 90 % of requests do not exceed"),
    percentile_row<"serving.latency_s.p95">("the time to the last token that 95 % of requests do not exceed"),
    percentile_row<"serving.latency_s.p99">("the time to the last token that 99 % of requests do not exceed"),
    percentile_row<"serving.latency_s.p999">("the time to the last token that 99.9 % of requests do not exceed"),
};

}  // namespace

std::span<const Definition> served_definitions() { return served_table; }

}  // namespace llmcalc::explain
