// A server under traffic: its capacity and its prices.

#include <fmt/format.h>

#include "ask/answer/interval.hpp"
#include "ask/answer/serving/capacity.hpp"
#include "ask/answer/serving/engine.hpp"
#include "ask/answer/serving/prices.hpp"
#include "ask/answer/serving/serving.hpp"
#include "ask/answer/serving/steady.hpp"
#include "ask/answer/serving/whole_run.hpp"
#include "ask/request/request.hpp"
#include "ask/request/server.hpp"
#include "ask/request/serving_inputs.hpp"
#include "report/explain/definition.hpp"
#include "report/explain/infer/media_encoders.hpp"
#include "report/explain/infer/profiled_pass.hpp"
#include "report/explain/interval.hpp"
#include "report/interval.hpp"
#include "report/plan/planned.hpp"
#include "report/serve/serving_report.hpp"
#include "report/serve/serving_sections.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

/// GPUs of all engines.
Symbol all_gpus(S s) { return {"G", "GPUs of all engines", number_text(serving_gpus(s.request()))}; }
Symbol prompt_tokens(S s) { return as_symbol(s, "R_in", "prompt tokens per second", "serving.throughput_in_tok_s"); }
Symbol answer_tokens(S s) { return as_symbol(s, "R_out", "output tokens per second", "serving.throughput_out_tok_s"); }
Symbol share_of_prompts(S s) {
  return as_symbol(s, "phi", "fraction of pass time spent on prompts", "serving.prompt_share");
}

Formula input_price(S s) { return {"1e6*G*price/3600*phi/R_in", {all_gpus(s), share_of_prompts(s), prompt_tokens(s)}}; }
Formula output_price(S s) {
  return {"1e6*G*price/3600*(1 - phi)/R_out", {all_gpus(s), share_of_prompts(s), answer_tokens(s)}};
}

Formula api_break_even(S s) {
  const ApiPrice api = s.request().serving.api_price.value_or(ApiPrice{});
  return {"G*price/3600*lambda_s/((R_in*p_in + R_out*p_out)/1e6)",
          {all_gpus(s),
           as_symbol(s, "lambda_s", "completed requests per second", "serving.throughput_req_s"),
           prompt_tokens(s),
           answer_tokens(s),
           {"p_in", "API price per million input tokens, USD", number_text(api.input)},
           {"p_out", "API price per million output tokens, USD", number_text(api.output)}}};
}

Formula energy(S s) {
  return {"W_s/R_out",
          {as_symbol(s, "W_s", "mean power of all GPUs including cooling, W", "serving.watts"), answer_tokens(s)}};
}

Symbol rate_of_requests(S s) { return as_symbol(s, "lambda", "requests per second", "steady_state.rate_req_s"); }
Symbol steady_capacity(S s) {
  return as_symbol(s, "mu", "capacity, requests per second", "steady_state.capacity_req_s");
}

constexpr std::string_view traffic = "--rate R, --users N or --requests FILE";
constexpr std::string_view priced = "--rate R, --users N or --requests FILE, and a price";
constexpr std::string_view by_time =
    "GPUs are billed busy or idle; a pass with prompts and answers is split in proportion to the times of separate "
    "passes";

/// An engine's cache: the granted memory minus all other terms. Terms that the engine does not have are 0.
Formula cache_of_engine(S s) {
  const EngineMemory m = s.serving().engine().memory;
  const auto symbol = [](const char* name, const char* meaning, Bytes b) {
    return Symbol{name, meaning, number_text(b.value)};
  };
  return {
      "M_g - (M_w + M_tow + M_pad + M_dr + M_ad + M_act + M_lib + M_gr)",
      {symbol("M_g", "memory available to the engine, bytes", m.granted), symbol("M_w", "weights, bytes", m.weights),
       symbol("M_tow", "vision and audio encoders, bytes", m.media_encoders),
       symbol("M_pad", "expert padding, bytes", m.padding), symbol("M_dr", "draft model, bytes", m.draft),
       symbol("M_ad", "adapters, bytes", m.adapters), symbol("M_act", "activations, bytes", m.activations),
       symbol("M_lib", "libraries, bytes", m.libraries),
       symbol("M_gr", "recorded graphs, bytes, if reserved before the cache", m.graphs)}};
}

Formula adapters_of_engine(S s) {
  const Request& r = s.request();
  ServedAdapters one = r.serving.adapters;
  const Count all = one.resident;
  one.resident = 1;
  const Bytes bytes = adapter_bytes(r.model.arch, r.plan, r.layout, one);
  return {"N_a*M_a",
          {{"N_a", "adapters in memory", number_text(all)}, {"M_a", "bytes per adapter", number_text(bytes.value)}}};
}

Formula measured_most(S s) {
  const ServingCapacity& c = s.serving().capacity();
  return {"P*n_c/t_c",
          {{"P", "identical parts of the server, one of them measured", number_text(c.parts)},
           {"n_c", "requests that it completes in an interval of the run", number_text(c.requests)},
           {"t_c", "length of that interval, s", number_text(c.time.value)}}};
}

Formula busy_share(S s) {
  const WholeRun& w = s.run();
  return {"t_b/(E*t_r)",
          {{"t_b", "time in passes, all engines, s", number_text(w.served.counted.busy.value)},
           {"E", "engines", number_text(serving_engines(w.request))},
           as_symbol(s, "t_r", "length of the interval in which answers are counted, s", "serving.counted_s")}};
}

Formula steady_most(S s) {
  const SteadyState& l = s.serving().steady_state();
  return {"R*k/T_k",
          {{"R", "ranks that serve requests, all engines", number_text(l.ranks)},
           {"k", "maximum number of requests that start in a pass", number_text(l.begun)},
           {"T_k", "time of a pass with k new requests, s", number_text(l.full_pass.value)}}};
}

Formula steady_limit(S s) {
  const SteadyState& l = s.serving().steady_state();
  return {"min(k_t, k_s, k_b)",
          {{"k_t", "requests per pass, limited by its tokens", number_text(l.by_tokens)},
           {"k_s", "limited by sequences in progress", number_text(l.by_sequences)},
           {"k_b", "limited by KV-cache blocks", number_text(l.by_blocks)}}};
}

/// One end of the range of simulated capacities.
Formula steady_end(S s, const char* expression, double error) {
  return {expression,
          {steady_capacity(s), {"e_c", "maximum relative difference from simulated servers", number_text(error)}}};
}
Formula steady_least(S s) { return steady_end(s, "mu/(1 + e_c)", s.serving().steady_state().above); }
Formula steady_highest(S s) { return steady_end(s, "mu/(1 - e_c)", s.serving().steady_state().below); }

Formula cache_tokens(S s) {
  const ServingEngine e = s.serving().engine();
  return {"floor(M_kv/(b*m_t))*b",
          {as_symbol(s, "M_kv", "KV cache, bytes", "engine_memory.kv_cache_bytes"),
           {"b", "tokens per block", number_text(e.limits.block_tokens)},
           {"m_t", "bytes per token in the caches of all layers", number_text(e.memory.token_cache.value)}}};
}

Formula sequences_at_once(S s) {
  const ServingEngine e = s.serving().engine();
  const SchedulerRules& rules = e.rules.scheduler;
  const Count tokens = usual_tokens(s.request()), shared = shared_blocks(rules, s.request().serving.shared_prefix);
  return {"R_e*min(N_s, floor((B_k - b_p)/(b_s - b_p)))",
          {{"R_e", "ranks per engine that serve requests", number_text(e.rules.ranks)},
           {"N_s", "maximum number of sequences per rank", number_text(rules.sequences)},
           {"B_k", "blocks per rank", number_text(rules.blocks)},
           {"b_p", "blocks of the shared prefix", number_text(shared)},
           {"b_s", "most blocks that a sequence holds at once",
            number_text(most_blocks_of(rules, s.arch().local.reach, tokens))}}};
}

Formula profiled(S s) { return profiled_pass_formula(s.serving().engine().memory.pass); }

constexpr std::string_view of_engine = "per GPU; in a pipeline, the stage whose cache fits the fewest tokens";
constexpr std::string_view passes = "the run's passes at mean lengths";
constexpr std::string_view simulated = "from capacities measured in simulations of many servers";

template <InferenceClass kind>
Formula end_of_mean(S s, const char* expression, const char* path) {
  Formula f = within(interval_of(s.request(), kind), expression);
  f.own.push_back(as_symbol(s, "t_mean", "mean over the run, s", path));
  return f;
}
constexpr auto of_first = end_of_mean<InferenceClass::first_token>,
               of_each = end_of_mean<InferenceClass::served_decode>;
constexpr std::string_view of_throughput =
    "interval of output rates; with users, by Little's law from the latency; at a rate, exact unless the capacity at "
    "the low end of its interval is lower";
constexpr std::string_view of_pool = "2.5 % of the granted memory: startup logs of vLLM";
constexpr std::string_view priced_range = "traffic, a price and an estimate with a known interval";
constexpr std::string_view known_range = "traffic, and an estimate with a known interval";

constexpr Definition serving_table[] = {
    {"serving.capacity_req_s", "maximum sustained requests per second", "requests/s", measured_most,
     "includes preemption and varying lengths",
     "middle half of a run with 50 % more arrivals than completions; if the queue grows slightly below that rate or is "
     "stable slightly above it, the highest rate with a stable queue",
     traffic},
    {"serving.overloaded_req_s", "completed requests per second with 50 % more arrivals", "requests/s",
     [](S s) {
       return from_engine(s, "mu_o", "completed requests per second in the middle half of the run",
                          "serving.overloaded_req_s");
     },
     "a queue causes preemptions and evicts cached sessions; identical requests run in lockstep across ranks once "
     "queued",
     "the simulated run, per request", "traffic, and a capacity that changes by more than 5 % with a queue"},
    {"serving.duty_cycle", "fraction of the capacity in use", "",
     [](S s) -> Formula {
       return {"lambda_s/mu_s",
               {as_symbol(s, "lambda_s", "completed requests per second", "serving.throughput_req_s"),
                as_symbol(s, "mu_s", "maximum sustained requests per second", "serving.capacity_req_s")}};
     },
     "", "throughput over capacity", traffic},
    {"serving.request_s", "request overhead outside passes", "s",
     [](S s) {
       return from_engine(
           s, "t_request",
           "network, tokenizer and engine queue; part of every time to first token, but of no fixed batch",
           "serving.request_s");
     },
     "a constant of the engine's profile; 'infer' counts only passes", "presets/estimates/inference.json, request",
     traffic},
    {"serving.ttft_s.mean", "mean time from a request's arrival to its first token", "s",
     [](S s) {
       return from_engine(s, "t_1", "mean over the run's requests: end of the first token's pass minus arrival",
                          "serving.ttft_s.mean");
     },
     "", "the simulated run, per request", traffic},
    {"serving.tpot_s.mean", "mean time per output token after a request's first", "s",
     [](S s) {
       return from_engine(s, "t_each",
                          "mean over requests: time from first to last token over the number of tokens after the first",
                          "serving.tpot_s.mean");
     },
     "per request", "the simulated run, per request", "traffic with outputs of several tokens"},
    {"serving.ttft_s.mean_low", "mean time to first token, low end of the 90 % interval", "s",
     [](S s) { return of_first(s, "t_mean/w", "serving.ttft_s.mean"); }, interval_law, left_out_figures, known_range},
    {"serving.ttft_s.mean_high", "mean time to first token, high end of the 90 % interval", "s",
     [](S s) { return of_first(s, "t_mean*w", "serving.ttft_s.mean"); }, interval_law, left_out_figures, known_range},
    {"serving.tpot_s.mean_low", "mean time per output token, low end of the 90 % interval", "s",
     [](S s) { return of_each(s, "t_mean/w", "serving.tpot_s.mean"); }, interval_law, left_out_figures, known_range},
    {"serving.tpot_s.mean_high", "mean time per output token, high end of the 90 % interval", "s",
     [](S s) { return of_each(s, "t_mean*w", "serving.tpot_s.mean"); }, interval_law, left_out_figures, known_range},
    {"inference_estimate.ttft_families", "sources for the interval of a server's time to first token", "",
     [](S s) { return families(s, "inference_estimate.ttft_families"); }, fitted_to_others, left_out_figures,
     known_range},
    {"inference_estimate.tpot_families", "sources for the interval of a server's time per output token", "",
     [](S s) { return families(s, "inference_estimate.tpot_families"); }, fitted_to_others, left_out_figures,
     known_range},
    {"serving.itl_s.mean", "mean inter-token latency", "s",
     [](S s) { return from_engine(s, "t_gap", "mean over tokens", "serving.itl_s.mean"); }, "per token",
     "the simulated run, per request", "traffic with outputs of several tokens"},
    {"serving.latency_s.mean", "mean time from a request's arrival to its last token", "s",
     [](S s) { return from_engine(s, "t_all", "mean over the run's requests", "serving.latency_s.mean"); }, "",
     "the simulated run, per request", traffic},
    {"serving.utilization", "fraction of time spent in passes", "", busy_share, "mean over engines",
     "the simulated run, per pass", traffic},
    {"steady_state.capacity_req_s", "capacity from the limits of a pass", "requests/s", steady_most,
     "k: limited by tokens per pass, sequences and blocks", passes, traffic},
    {"steady_state.capacity_req_s_low", "lowest throughput of a simulated server of this capacity", "requests/s",
     steady_least, simulated, "tests/cli/serve_capacity_test.cpp", traffic},
    {"steady_state.capacity_req_s_high", "highest throughput of a simulated server of this capacity", "requests/s",
     steady_highest, simulated, "tests/cli/serve_capacity_test.cpp", traffic},
    {"steady_state.limit", "limit on the requests per pass", "", steady_limit, "requests that start in a pass", passes,
     traffic, "named after the smallest of the three"},
    {"steady_state.rate_req_s", "request rate", "requests/s",
     [](S s) { return from_engine(s, "lambda", "--rate, or the rate of the log", "steady_state.rate_req_s"); }, "",
     "--rate", "--rate R or --requests FILE"},
    {"steady_state.load", "rate over capacity", "",
     [](S s) -> Formula {
       return {"lambda/mu", {rate_of_requests(s), steady_capacity(s)}};
     },
     "", "request rate over capacity", "--rate R or --requests FILE"},
    {"steady_state.growth_req_s", "queue growth in requests per second", "requests/s",
     [](S s) -> Formula {
       return {"lambda - mu", {rate_of_requests(s), steady_capacity(s)}};
     },
     "", "request rate minus capacity", "a --rate beyond capacity"},
    {"engine_memory.kv_cache_bytes", "KV cache of an engine", "bytes", cache_of_engine, of_engine,
     "vLLM, gpu_worker.py (determine_available_memory)", traffic},
    {"engine_memory.kv_tokens", "tokens in the KV cache if every layer caches every token", "", cache_tokens, of_engine,
     "PagedAttention (arXiv:2309.06180)", traffic},
    {"engine_memory.most_sequences", "maximum number of concurrent sequences", "", sequences_at_once,
     "per engine; for the given prompt and output lengths, including the tokens of all turns",
     "PagedAttention (arXiv:2309.06180)", traffic},
    {"engine_memory.maximum_concurrency", "concurrent sequences of the model's full context, as vLLM prints it", "",
     [](S s) {
       return from_engine(s, "n_full", "blocks of the cache over blocks of one sequence of that length",
                          "engine_memory.maximum_concurrency");
     },
     of_engine, "vLLM, kv_cache_utils.py (get_max_concurrency_for_kv_cache_config)", traffic},
    {"engine_memory.concurrent_tokens", "tokens of these sequences", "",
     [](S s) {
       return from_engine(s, "n_tok", "maximum concurrency times the model's context, tokens",
                          "engine_memory.concurrent_tokens");
     },
     of_engine, "vLLM, kv_cache_utils.py", traffic},
    {"engine_memory.activations_bytes", "peak activations of an engine's largest pass", "bytes", profiled, of_engine,
     "vLLM, gpu_model_runner.py (profile_run); the sampler's bytes per logit fitted to startup logs", traffic},
    {"engine_memory.graphs_bytes", "memory of recorded graphs, reserved before the cache", "bytes",
     [](S s) {
       return from_engine(s, "M_gr", "estimate of the engine's version, bytes", "engine_memory.graphs_bytes");
     },
     of_engine, "the software file (presets/software)", "an engine that reserves it: vllm since 0.20"},
    {"engine_memory.libraries_bytes", "driver, communicators and libraries", "bytes",
     [](S s) {
       return from_engine(s, "M_lib", "depends on version, ranks and device", "engine_memory.libraries_bytes");
     },
     "per GPU", "startup logs (presets/estimates/engine-memory.json)",
     "traffic, and an engine with known startup logs"},
    {"engine_memory.host_bytes", "weights in host memory", "bytes",
     [](S s) {
       return from_engine(s, "M_host", "offloaded part of the blocks' weights, bytes", "engine_memory.host_bytes");
     },
     of_engine, "--offload", "traffic and --offload"},
    {"engine_memory.towers_bytes", "vision and audio encoders", "bytes", media_encoder_bytes, media_encoder_convention,
     media_encoder_sources, "traffic, and a model with vision or audio encoders"},
    {"engine_memory.padding_bytes", "padding of MXFP4 experts", "bytes",
     [](S s) {
       return from_engine(s, "M_pad",
                          "expert bytes times (f' h' / (f h) - 1), with f' and h' the padded width and hidden size",
                          "engine_memory.padding_bytes");
     },
     of_engine, "vLLM, quantization/mxfp4.py", "traffic, and MXFP4 experts with vLLM"},
    {"engine_memory.adapters_bytes", "adapters in memory", "bytes", adapters_of_engine, "per GPU, without a pipeline",
     "LoRA (arXiv:2106.09685)", "traffic and --adapters"},
    {"serving.usd_per_h", "cost of all GPUs per hour", "USD",
     [](S s) -> Formula {
       return {"G*price", {all_gpus(s)}};
     },
     "", "--price, or the hardware file", priced},
    {"serving.usd_per_1m_input", "price per million input tokens", "USD", input_price, by_time,
     "cost per second over tokens per second", priced},
    {"serving.usd_per_1m_output", "price per million output tokens", "USD", output_price, by_time,
     "cost per second over tokens per second", priced},
    {"serving.break_even_req_s", "request rate at which an API costs the same", "requests/s", api_break_even,
     "the same lengths; GPUs are billed all the time", "--api-price", "--api-price IN,OUT, traffic and a price"},
    {"serving.joules_per_token", "energy per output token", "J", energy,
     "--watts, else a share of the rated power that grows with utilization", "--watts, or the hardware file",
     "traffic, and a device of known power"},
    {"serving.throughput_in_tok_s_low", "prompt tokens per second, low end of the 90 % interval", "tokens/s",
     end_at<"serving.throughput_in_tok_s", "low">, of_throughput, left_out_figures, known_range},
    {"serving.throughput_in_tok_s_high", "prompt tokens per second, high end of the 90 % interval", "tokens/s",
     end_at<"serving.throughput_in_tok_s", "high">, of_throughput, left_out_figures, known_range},
    {"serving.throughput_out_tok_s_low", "output tokens per second, low end of the 90 % interval", "tokens/s",
     end_at<"serving.throughput_out_tok_s", "low">, of_throughput, left_out_figures, known_range},
    {"serving.throughput_out_tok_s_high", "output tokens per second, high end of the 90 % interval", "tokens/s",
     end_at<"serving.throughput_out_tok_s", "high">, of_throughput, left_out_figures, known_range},
    {"serving.throughput_req_s_low", "completed requests per second, low end of the 90 % interval", "requests/s",
     end_at<"serving.throughput_req_s", "low">, of_throughput, left_out_figures, known_range},
    {"serving.throughput_req_s_high", "completed requests per second, high end of the 90 % interval", "requests/s",
     end_at<"serving.throughput_req_s", "high">, of_throughput, left_out_figures, known_range},
    {"serving.capacity_req_s_low", "maximum sustained requests per second, low end of the 90 % interval", "requests/s",
     end_at<"serving.capacity_req_s", "low">, interval_law, left_out_figures, known_range},
    {"serving.capacity_req_s_high", "maximum sustained requests per second, high end of the 90 % interval",
     "requests/s", end_at<"serving.capacity_req_s", "high">, interval_law, left_out_figures, known_range},
    {"serving.usd_per_1m_input_low", "price per million input tokens, low end of the 90 % interval", "USD",
     end_at<"serving.usd_per_1m_input", "low">, of_throughput, left_out_figures, priced_range},
    {"serving.usd_per_1m_input_high", "price per million input tokens, high end of the 90 % interval", "USD",
     end_at<"serving.usd_per_1m_input", "high">, of_throughput, left_out_figures, priced_range},
    {"serving.usd_per_1m_output_low", "price per million output tokens, low end of the 90 % interval", "USD",
     end_at<"serving.usd_per_1m_output", "low">, of_throughput, left_out_figures, priced_range},
    {"serving.usd_per_1m_output_high", "price per million output tokens, high end of the 90 % interval", "USD",
     end_at<"serving.usd_per_1m_output", "high">, of_throughput, left_out_figures, priced_range},
    {"serving.joules_per_token_low", "energy per output token, low end of the 90 % interval", "J",
     end_at<"serving.joules_per_token", "low">, of_throughput, left_out_figures,
     "traffic, a device of known power and an estimate with a known interval"},
    {"serving.joules_per_token_high", "energy per output token, high end of the 90 % interval", "J",
     end_at<"serving.joules_per_token", "high">, of_throughput, left_out_figures,
     "traffic, a device of known power and an estimate with a known interval"},
    {"engine_memory.kv_tokens_low", "tokens in the KV cache, low end of the 90 % interval", "",
     end_at<"engine_memory.kv_tokens", "low">, of_pool, left_out_figures,
     "traffic, and an engine that allocates its cache last"},
    {"engine_memory.kv_tokens_high", "tokens in the KV cache, high end of the 90 % interval", "",
     end_at<"engine_memory.kv_tokens", "high">, of_pool, left_out_figures,
     "traffic, and an engine that allocates its cache last"},
};

}  // namespace

std::span<const Definition> serving_definitions() { return serving_table; }

}  // namespace llmcalc::explain
