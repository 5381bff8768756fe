// A server under traffic: its capacity and its prices.

#include "ask/answer/serving/serving.hpp"
#include "ask/answer/interval.hpp"
#include "ask/answer/serving/capacity.hpp"
#include "ask/answer/serving/engine.hpp"
#include "ask/answer/serving/prices.hpp"
#include "ask/answer/serving/steady.hpp"
#include "ask/answer/serving/whole_run.hpp"
#include "ask/request/request.hpp"
#include "ask/request/server.hpp"
#include "ask/request/serving_inputs.hpp"
#include "report/explain/definition.hpp"
#include "report/explain/infer/media_encoders.hpp"
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
Symbol prompt_tokens(S s) {
  return as_symbol(s, "R_in", "tokens of prompts per second", "serving.throughput_in_tok_s");
}
Symbol answer_tokens(S s) {
  return as_symbol(s, "R_out", "answered tokens per second", "serving.throughput_out_tok_s");
}
Symbol share_of_prompts(S s) {
  return as_symbol(s, "phi", "share of the passes' time that prompts take", "serving.prompt_share");
}

Formula input_price(S s) { return {"1e6*G*price/3600*phi/R_in", {all_gpus(s), share_of_prompts(s), prompt_tokens(s)}}; }
Formula output_price(S s) {
  return {"1e6*G*price/3600*(1 - phi)/R_out", {all_gpus(s), share_of_prompts(s), answer_tokens(s)}};
}

Formula api_break_even(S s) {
  const ApiPrice api = s.request().serving.api_price.value_or(ApiPrice{});
  return {"G*price/3600*lambda_s/((R_in*p_in + R_out*p_out)/1e6)",
          {all_gpus(s),
           as_symbol(s, "lambda_s", "requests per second that were answered", "serving.throughput_req_s"),
           prompt_tokens(s),
           answer_tokens(s),
           {"p_in", "USD per million input tokens of the API", number_text(api.input)},
           {"p_out", "USD per million output tokens of the API", number_text(api.output)}}};
}

Formula energy(S s) {
  return {"W_s/R_out",
          {{"W_s", "watts of all GPUs, cooling included", number_text(serving_watts(s.request()).value_or(1))},
           answer_tokens(s)}};
}

Symbol rate_of_requests(S s) { return as_symbol(s, "lambda", "requests per second", "steady_state.rate_req_s"); }
Symbol steady_capacity(S s) {
  return as_symbol(s, "mu", "capacity, requests per second", "steady_state.capacity_req_s");
}

constexpr std::string_view traffic = "--rate R, --users N or --requests FILE";
constexpr std::string_view priced = "--rate R, --users N or --requests FILE, and a price";
constexpr std::string_view by_time =
    "the GPUs are paid for busy or not; a pass with prompts and answers counts to each as either would take alone";

/// Memory that the other terms leave; terms that the engine does not have are 0.
Formula cache_of_engine(S s) {
  const EngineMemory m = s.serving().engine().memory;
  const auto symbol = [](const char* name, const char* meaning, Bytes b) {
    return Symbol{name, meaning, number_text(b.value)};
  };
  return {"M_g - (M_w + M_tow + M_pad + M_dr + M_ad + M_act + M_lib + M_gr)",
          {symbol("M_g", "bytes that the engine may fill", m.granted), symbol("M_w", "weights, bytes", m.weights),
           symbol("M_tow", "towers, bytes", m.media_encoders), symbol("M_pad", "padding of experts, bytes", m.padding),
           symbol("M_dr", "draft model, bytes", m.draft), symbol("M_ad", "adapters, bytes", m.adapters),
           symbol("M_act", "activations, bytes", m.activations), symbol("M_lib", "libraries, bytes", m.libraries),
           symbol("M_gr", "recorded graphs, bytes; not known", m.graphs)}};
}

Formula adapters_of_engine(S s) {
  const Request& r = s.request();
  ServedAdapters one = r.serving.adapters;
  const Count all = one.resident;
  one.resident = 1;
  const Bytes bytes = adapter_bytes(r.model.arch, r.plan, r.layout, one);
  return {"N_a*M_a",
          {{"N_a", "adapters in memory", number_text(all)}, {"M_a", "bytes of one", number_text(bytes.value)}}};
}

Formula measured_most(S s) {
  const ServingCapacity& c = s.serving().capacity();
  return {"P*n_c/t_c",
          {{"P", "parts of the server, of which one was measured", number_text(c.parts)},
           {"n_c", "requests that it answers in a stretch of a run", number_text(c.requests)},
           {"t_c", "time of that stretch, s", number_text(c.time.value)}}};
}

Formula busy_share(S s) {
  const WholeRun& w = s.run();
  return {"t_b/(E*t_r)",
          {{"t_b", "time in passes, of all engines, s", number_text(w.served.counted.busy.value)},
           {"E", "engines", number_text(serving_engines(w.request))},
           as_symbol(s, "t_r", "time in which answers are counted, s", "serving.counted_s")}};
}

Formula steady_most(S s) {
  const SteadyState& l = s.serving().steady_state();
  return {"R*k/T_k",
          {{"R", "ranks that hold requests, of all engines", number_text(l.ranks)},
           {"k", "requests that begin in a pass, at most", number_text(l.begun)},
           {"T_k", "time of a pass with as many, s", number_text(l.full_pass.value)}}};
}

Formula steady_limit(S s) {
  const SteadyState& l = s.serving().steady_state();
  return {"min(k_t, k_s, k_b)",
          {{"k_t", "requests per pass by its tokens", number_text(l.by_tokens)},
           {"k_s", "by sequences in progress", number_text(l.by_sequences)},
           {"k_b", "by blocks of the cache", number_text(l.by_blocks)}}};
}

/// An end of the range of simulated capacities.
Formula steady_end(S s, const char* expression, double error) {
  return {expression, {steady_capacity(s), {"e_c", "the most that the two differ by", number_text(error)}}};
}
Formula steady_least(S s) { return steady_end(s, "mu/(1 + e_c)", s.serving().steady_state().above); }
Formula steady_highest(S s) { return steady_end(s, "mu/(1 - e_c)", s.serving().steady_state().below); }

Formula cache_tokens(S s) {
  const ServingEngine e = s.serving().engine();
  return {"floor(M_kv/(b*m_t))*b",
          {as_symbol(s, "M_kv", "KV cache, bytes", "engine_memory.kv_cache_bytes"),
           {"b", "tokens of a block", number_text(e.limits.block_tokens)},
           {"m_t", "bytes of a token in the caches of all layers", number_text(e.memory.token_cache.value)}}};
}

Formula sequences_at_once(S s) {
  const ServingEngine e = s.serving().engine();
  const SchedulerRules& rules = e.rules.scheduler;
  const Count tokens = usual_tokens(s.request()), shared = shared_blocks(rules, s.request().serving.shared_prefix);
  return {"R_e*min(N_s, floor((B_k - b_p)/(b_s - b_p)))",
          {{"R_e", "ranks of an engine that hold requests", number_text(e.rules.ranks)},
           {"N_s", "sequences that a rank is allowed", number_text(rules.sequences)},
           {"B_k", "its blocks", number_text(rules.blocks)},
           {"b_p", "blocks of the prefix that all share", number_text(shared)},
           {"b_s", "blocks of a sequence", number_text(blocks_of(rules, s.arch().local.reach, tokens))}}};
}

Formula profiled(S s) {
  const ProfiledPass p = s.serving().engine().memory.pass;
  return {"max(M_s + M_h, M_l + 3*M_h)",
          {{"M_s", "the sampler's bytes of all logits", number_text(p.sampler.value)},
           {"M_h", "hidden states of the largest pass, bytes", number_text(p.hidden.value)},
           {"M_l", "the most that one of its layers holds at once, bytes", number_text(p.layer.value)}}};
}

constexpr std::string_view of_engine = "of one GPU; of a pipeline the stage with room for the fewest tokens";
constexpr std::string_view passes = "the passes that the run takes, at mean lengths";
constexpr std::string_view simulated = "the capacities that simulations of many servers measured";

template <InferenceClass kind>
Formula end_of_mean(S s, const char* expression, const char* path) {
  Formula f = within(interval_of(s.request(), kind), expression);
  f.own.push_back(as_symbol(s, "t_mean", "mean of the run, s", path));
  return f;
}
constexpr auto of_first = end_of_mean<InferenceClass::first_token>,
               of_each = end_of_mean<InferenceClass::served_decode>;
constexpr std::string_view known_range = "traffic, and an estimate with a known interval";

constexpr Definition serving_table[] = {
    {"serving.capacity_req_s", "the most requests per second that are answered", "requests/s", measured_most,
     "preemption and the lengths' spread are in it",
     "the middle half of a run in which half more requests come than are answered; where a little less leaves a queue "
     "that "
     "grows or a little more leaves none, the most rate that leaves none",
     traffic},
    {"serving.overloaded_req_s", "requests per second that are answered while half more come", "requests/s",
     [](S s) {
       return from_engine(s, "mu_o", "requests over time, in the middle half of the run", "serving.overloaded_req_s");
     },
     "a queue costs preemptions and cached sessions; requests all alike run in step on ranks once they waited",
     "the run, request by request", "traffic, and a capacity that a queue changes by more than 5 %"},
    {"serving.duty_cycle", "share of the capacity that is used", "",
     [](S s) -> Formula {
       return {"lambda_s/mu_s",
               {as_symbol(s, "lambda_s", "requests per second that were answered", "serving.throughput_req_s"),
                as_symbol(s, "mu_s", "the most that are answered", "serving.capacity_req_s")}};
     },
     "", "what is answered over what could be", traffic},
    {"serving.request_s", "time of a request besides passes", "s",
     [](S s) {
       return from_engine(s, "t_request", "network, tokenizer, the engine's queue: of every first token, of no batch",
                          "serving.request_s");
     },
     "a constant of the engine's profile; 'infer' has passes alone", "presets/estimates/inference.json, request",
     traffic},
    {"serving.ttft_s.mean", "time from a request's arrival to its first token, mean of all", "s",
     [](S s) {
       return from_engine(s, "t_1", "mean over the run's requests: end of that pass, less arrival",
                          "serving.ttft_s.mean");
     },
     "", "the run, request by request", traffic},
    {"serving.tpot_s.mean", "time per token behind a request's first, mean of all", "s",
     [](S s) {
       return from_engine(s, "t_each",
                          "mean over requests: from the first token to the last, over the tokens behind it",
                          "serving.tpot_s.mean");
     },
     "by request", "the run, request by request", "traffic with answers of several tokens"},
    {"serving.ttft_s.mean_low", "the least mean time to the first token of 9 in 10 cases", "s",
     [](S s) { return of_first(s, "t_mean/w", "serving.ttft_s.mean"); }, interval_law, left_out_figures, known_range},
    {"serving.ttft_s.mean_high", "the most mean time to the first token of 9 in 10 cases", "s",
     [](S s) { return of_first(s, "t_mean*w", "serving.ttft_s.mean"); }, interval_law, left_out_figures, known_range},
    {"serving.tpot_s.mean_low", "the least mean time per token of 9 in 10 cases", "s",
     [](S s) { return of_each(s, "t_mean/w", "serving.tpot_s.mean"); }, interval_law, left_out_figures, known_range},
    {"serving.tpot_s.mean_high", "the most mean time per token of 9 in 10 cases", "s",
     [](S s) { return of_each(s, "t_mean*w", "serving.tpot_s.mean"); }, interval_law, left_out_figures, known_range},
    {"inference_estimate.ttft_families", "sources behind the interval of a server's first token", "",
     [](S s) { return families(s, "inference_estimate.ttft_families"); }, fitted_to_others, left_out_figures,
     known_range},
    {"inference_estimate.tpot_families", "sources behind the interval of a server's time per token", "",
     [](S s) { return families(s, "inference_estimate.tpot_families"); }, fitted_to_others, left_out_figures,
     known_range},
    {"serving.itl_s.mean", "time between two tokens of a request, mean of all", "s",
     [](S s) { return from_engine(s, "t_gap", "mean over tokens", "serving.itl_s.mean"); }, "by token",
     "the run, request by request", "traffic with answers of several tokens"},
    {"serving.latency_s.mean", "time from a request's arrival to its last token, mean of all", "s",
     [](S s) { return from_engine(s, "t_all", "mean over the run's requests", "serving.latency_s.mean"); }, "",
     "the run, request by request", traffic},
    {"serving.utilization", "share of the time that a pass runs", "", busy_share, "mean over engines",
     "the run, pass by pass", traffic},
    {"steady_state.capacity_req_s", "the same by the limits of a pass", "requests/s", steady_most,
     "k: as many as tokens of a pass, sequences and blocks leave room for", passes, traffic},
    {"steady_state.capacity_req_s_low", "the least that a simulated server of this capacity answers", "requests/s",
     steady_least, simulated, "tests/cli/serve_capacity_test.cpp", traffic},
    {"steady_state.capacity_req_s_high", "the most that a simulated server of this capacity answers", "requests/s",
     steady_highest, simulated, "tests/cli/serve_capacity_test.cpp", traffic},
    {"steady_state.limit", "what keeps a pass from holding more", "", steady_limit, "requests that begin in a pass",
     passes, traffic, "named by the least of the three"},
    {"steady_state.rate_req_s", "rate of requests", "requests/s",
     [](S s) { return from_engine(s, "lambda", "--rate, or that of a log", "steady_state.rate_req_s"); }, "", "--rate",
     "--rate R or --requests FILE"},
    {"steady_state.load", "rate over capacity", "",
     [](S s) -> Formula {
       return {"lambda/mu", {rate_of_requests(s), steady_capacity(s)}};
     },
     "", "what comes, over what is answered", "--rate R or --requests FILE"},
    {"steady_state.growth_req_s", "requests per second by which the queue grows", "requests/s",
     [](S s) -> Formula {
       return {"lambda - mu", {rate_of_requests(s), steady_capacity(s)}};
     },
     "", "what comes, less what is answered", "a --rate beyond capacity"},
    {"engine_memory.kv_cache_bytes", "KV cache of an engine", "bytes", cache_of_engine, of_engine,
     "vLLM, gpu_worker.py (determine_available_memory)", traffic},
    {"engine_memory.kv_tokens", "tokens in the KV cache, if every layer keeps every token", "", cache_tokens, of_engine,
     "PagedAttention (arXiv:2309.06180)", traffic},
    {"engine_memory.most_sequences", "sequences at once, at most", "", sequences_at_once,
     "of an engine; of prompt and answer as given, with every turn's tokens", "PagedAttention (arXiv:2309.06180)",
     traffic},
    {"engine_memory.activations_bytes", "peak of an engine's largest pass", "bytes", profiled, of_engine,
     "vLLM, gpu_model_runner.py (profile_run); the sampler's bytes per logit fitted to logs of starts", traffic},
    {"engine_memory.libraries_bytes", "driver, communicators and libraries", "bytes",
     [](S s) { return from_engine(s, "M_lib", "by version, ranks and device", "engine_memory.libraries_bytes"); },
     "one GPU", "logs of starts (presets/estimates/engine-memory.json)", "traffic and an engine whose logs are known"},
    {"engine_memory.host_bytes", "weights on the host", "bytes",
     [](S s) {
       return from_engine(s, "M_host", "the offloaded shares of the blocks' weights", "engine_memory.host_bytes");
     },
     of_engine, "--offload", "traffic and --offload"},
    {"engine_memory.towers_bytes", "towers for images and sounds", "bytes", media_encoder_bytes,
     media_encoder_convention, media_encoder_sources, "traffic and a model with towers"},
    {"engine_memory.padding_bytes", "padding of experts in MXFP4", "bytes",
     [](S s) {
       return from_engine(s, "M_pad", "experts' bytes times f' h' / (f h) - 1, widths and hidden sizes as padded",
                          "engine_memory.padding_bytes");
     },
     of_engine, "vLLM, quantization/mxfp4.py", "traffic and experts in MXFP4 under vLLM"},
    {"engine_memory.adapters_bytes", "adapters in memory", "bytes", adapters_of_engine, "one GPU, no pipeline",
     "LoRA (arXiv:2106.09685)", "traffic and --adapters"},
    {"serving.usd_per_h", "cost of all GPUs in an hour", "USD",
     [](S s) -> Formula {
       return {"G*price", {all_gpus(s)}};
     },
     "", "--price, else the hardware file", priced},
    {"serving.usd_per_1m_input", "price of a million input tokens", "USD", input_price, by_time,
     "cost of a second over tokens of a second", priced},
    {"serving.usd_per_1m_output", "price of a million output tokens", "USD", output_price, by_time,
     "cost of a second over tokens of a second", priced},
    {"serving.break_even_req_s", "rate at which an API costs as much", "requests/s", api_break_even,
     "the same lengths, the GPUs paid for all the time", "--api-price", "--api-price IN,OUT, traffic and a price"},
    {"serving.joules_per_token", "energy of an answered token", "J", energy, "stated power all the time",
     "--watts, else the hardware file", "traffic and a device whose power is known"},
};

}  // namespace

std::span<const Definition> serving_definitions() { return serving_table; }

}  // namespace llmcalc::explain
