#include "evidence/rows/figure.hpp"

#include <algorithm>

namespace llmcalc {

namespace {

constexpr double gib = 0x1p30, mib = 0x1p20;

/// Key of a time in milliseconds with a statistic other than the mean.
constexpr FigureKey one_of_many(std::string_view key, FigureKind quantity, Statistic statistic) {
  return {key, quantity, 1e-3, Share::all, false, statistic};
}

constexpr FigureKey all_figures[] = {
    {"tpot_ms", FigureKind::time_per_token, 1e-3},
    {"itl_ms", FigureKind::time_per_token, 1e-3},
    one_of_many("tpot_p50_ms", FigureKind::time_per_token, Statistic::median),
    one_of_many("tpot_p90_ms", FigureKind::time_per_token, Statistic::p90),
    one_of_many("tpot_p95_ms", FigureKind::time_per_token, Statistic::p95),
    one_of_many("tpot_p99_ms", FigureKind::time_per_token, Statistic::p99),
    one_of_many("itl_p50_ms", FigureKind::time_per_token, Statistic::gap_median),
    one_of_many("itl_median_of_steps_ms", FigureKind::time_per_token, Statistic::gap_median),
    one_of_many("itl_p99_ms", FigureKind::time_per_token, Statistic::gap_p99),
    {"time_per_output_token_s", FigureKind::time_per_token, 1},
    {"time_per_output_token_ms", FigureKind::time_per_token, 1e-3},
    {"ms_per_token", FigureKind::time_per_token, 1e-3},
    {"ms_per_token_per_batch_item", FigureKind::decode_step, 1e-3},  // multiplied by the batch in figures_of()
    {"tok_s_per_user", FigureKind::user_rate, 1},
    {"output_tok_s_per_user", FigureKind::user_rate, 1},
    {"ttft_ms", FigureKind::first_token, 1e-3},
    one_of_many("ttft_min_ms", FigureKind::first_token, Statistic::least),
    one_of_many("ttft_p50_ms", FigureKind::first_token, Statistic::median),
    one_of_many("ttft_p90_ms", FigureKind::first_token, Statistic::p90),
    one_of_many("ttft_p95_ms", FigureKind::first_token, Statistic::p95),
    one_of_many("ttft_p99_ms", FigureKind::first_token, Statistic::p99),
    {"prefill_tok_s", FigureKind::prefill_rate, 1},
    {"prefill_tok_s_per_gpu", FigureKind::prefill_rate, 1, Share::device},
    {"input_tok_s_per_node", FigureKind::prefill_rate, 1, Share::node},
    {"prefill_ms", FigureKind::prefill_time, 1e-3},
    {"decode_tok_s", FigureKind::decode_rate, 1},
    {"decode_tok_s_per_gpu", FigureKind::decode_rate, 1, Share::device},
    {"decode_tok_s_per_node", FigureKind::decode_rate, 1, Share::node},
    {"decode_tok_s_first128", FigureKind::decode_rate_first, 1},
    {"decode_tok_s_last128", FigureKind::decode_rate_last, 1},
    {"decode_step_ms", FigureKind::decode_step, 1e-3},
    {"decode_total_ms", FigureKind::decode_time, 1e-3},
    {"decode_total_s", FigureKind::decode_time, 1},
    {"output_tok_s", FigureKind::output_rate, 1},
    {"output_tok_s_per_gpu", FigureKind::output_rate, 1, Share::device},
    {"requests_s", FigureKind::output_rate, 1},  // multiplied by the answer's tokens in figures_of()
    {"inout_tok_s", FigureKind::total_rate, 1},
    {"total_tok_s", FigureKind::total_rate, 1},
    {"total_tok_s_per_gpu", FigureKind::total_rate, 1, Share::device},
    {"peak_output_tok_s", FigureKind::peak_output_rate, 1},
    {"e2e_latency_ms", FigureKind::whole_time, 1e-3},
    one_of_many("e2e_latency_p50_ms", FigureKind::whole_time, Statistic::median),
    one_of_many("e2e_latency_p90_ms", FigureKind::whole_time, Statistic::p90),
    one_of_many("e2e_latency_p95_ms", FigureKind::whole_time, Statistic::p95),
    one_of_many("e2e_latency_p99_ms", FigureKind::whole_time, Statistic::p99),
    {"layer_ms", FigureKind::layer_time, 1e-3},
    {"kv_tokens", FigureKind::cache_tokens, 1},
    {"kv_blocks", FigureKind::cache_tokens, 1},  // multiplied by the block size in figures_of()
    {"memory_gb", FigureKind::memory, 1e9},
    {"memory_mb", FigureKind::memory,
     mib},  // binary: the source states 15947 MB for Qwen3-8B, whose weights have 16.4e9 bytes
    {"memory_mb_torch", FigureKind::memory, mib},
    {"model_size_gb", FigureKind::weight_memory, 1e9},
    {"weights_gib_per_gpu", FigureKind::weight_memory, gib},
    {"kv_gib_per_gpu", FigureKind::cache_memory, gib, Share::all, true},
    {"kv_mib_total", FigureKind::context_cache, mib},
    {"k_size_gb", FigureKind::key_cache, 1e9},
    {"v_size_gb", FigureKind::value_cache, 1e9},
    {"activation_gib_per_gpu", FigureKind::activation_memory, gib},
    {"non_torch_gib_per_gpu", FigureKind::library_memory, gib},
    {"cuda_graph_gib_per_gpu", FigureKind::graph_memory, gib, Share::all, true},
    {"achieved_bw_gb_s", FigureKind::bandwidth, 1e9},
    {"achieved_bw_gb_s_per_gpu", FigureKind::bandwidth, 1e9, Share::device},
    {"mfu_pct", FigureKind::utilization, 1e-2},
    {"power_w", FigureKind::power, 1},
};

}  // namespace

std::span<const FigureKey> figure_keys() { return all_figures; }

const FigureKey* figure_key(std::string_view key) {
  const auto found =
      std::find_if(std::begin(all_figures), std::end(all_figures), [&](const FigureKey& f) { return f.key == key; });
  return found == std::end(all_figures) ? nullptr : &*found;
}

}  // namespace llmcalc
