// A server under traffic: its capacity, its long run, its prices.

#include "report/serving.hpp"
#include "report/explain/definition.hpp"
#include "report/serving_prices.hpp"

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

/// What the other terms leave; those that the engine does not have are 0.
Formula cache_of_engine(S s) {
  const EngineMemory m = serving_engine(s.request()).memory;
  const auto symbol = [](const char* name, const char* meaning, Bytes b) {
    return Symbol{name, meaning, number_text(b.value)};
  };
  return {"M_g - (M_w + M_pad + M_dr + M_ad + M_act + M_lib + M_gr)",
          {symbol("M_g", "bytes that the engine may fill", m.granted), symbol("M_w", "weights, bytes", m.weights),
           symbol("M_pad", "padding of experts, bytes", m.padding), symbol("M_dr", "draft model, bytes", m.draft),
           symbol("M_ad", "adapters, bytes", m.adapters), symbol("M_act", "activations, bytes", m.activations),
           symbol("M_lib", "libraries, bytes", m.libraries), symbol("M_gr", "recorded graphs, bytes", m.graphs)}};
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

constexpr std::string_view of_engine = "of one GPU; of a pipeline the stage with room for the fewest tokens";
constexpr std::string_view passes = "the passes that the run takes, at mean lengths";
constexpr std::string_view queueing =
    "Poisson arrivals; Sakasegawa 1977 for a place among N, Pollaczek-Khinchine for one; M/G/infinity for the batch";

constexpr Definition serving_table[] = {
    {"serving.capacity_req_s", "requests per second that are answered while others wait without end", "requests/s",
     [](S s) {
       return from_engine(s, "mu_s", "requests over time, in the middle half of such a run", "serving.capacity_req_s");
     },
     "preemption and the lengths' spread are in it", "a run in which all come at once", traffic},
    {"steady_state.capacity_req_s", "the same by the limits of a pass", "requests/s",
     [](S s) {
       return from_engine(s, "mu", "the most requests of a pass, over its time", "steady_state.capacity_req_s");
     },
     "as many as tokens of a pass, sequences and blocks leave room for", passes, traffic},
    {"steady_state.rate_req_s", "rate of requests", "requests/s",
     [](S s) {
       return from_engine(s, "lambda", "--rate, that of a log, or of users by Little's law", "steady_state.rate_req_s");
     },
     "", "--rate", traffic},
    {"steady_state.load", "rate over capacity", "",
     [](S s) -> Formula {
       return {"lambda/mu", {rate_of_requests(s), steady_capacity(s)}};
     },
     "", queueing, traffic},
    {"steady_state.growth_req_s", "requests per second by which the queue grows", "requests/s",
     [](S s) -> Formula {
       return {"lambda - mu", {rate_of_requests(s), steady_capacity(s)}};
     },
     "", "what comes, less what is answered", "a --rate beyond capacity"},
    {"steady_state.wait_s", "mean wait until a place is free and the pass that runs has ended", "s",
     [](S s) { return from_engine(s, "W_q", "seconds, by the formula for several places", "steady_state.wait_s"); },
     queueing, "serve/steady_state.hpp", "a rate below capacity"},
    {"steady_state.ttft_s", "mean time to the first token", "s",
     [](S s) { return from_engine(s, "t_first", "the wait, and the passes of the prompt", "steady_state.ttft_s"); },
     queueing, passes, "a rate below capacity"},
    {"steady_state.tpot_s", "mean time per token behind it", "s",
     [](S s) {
       return from_engine(s, "t_tok", "a pass, as a request that is answered sees it", "steady_state.tpot_s");
     },
     "the fixed point of a pass and the sequences that come during it", passes, "a rate below capacity"},
    {"steady_state.latency_s", "mean time to the last token", "s",
     [](S s) {
       return from_engine(s, "t_last", "to the first token, and a pass for each further one", "steady_state.latency_s");
     },
     "", passes, "a rate below capacity"},
    {"engine_memory.kv_cache_bytes", "KV cache of an engine", "bytes", cache_of_engine, of_engine,
     "vLLM, gpu_worker.py (determine_available_memory)", traffic},
    {"engine_memory.host_bytes", "weights on the host", "bytes",
     [](S s) {
       return from_engine(s, "M_host", "the offloaded shares of the blocks' weights", "engine_memory.host_bytes");
     },
     of_engine, "--offload", "traffic and --offload"},
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
