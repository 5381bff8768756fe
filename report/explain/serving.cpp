// A server under traffic: its capacity, its long run, its prices.

#include "report/serving.hpp"
#include "report/explain/definition.hpp"
#include "report/serving_prices.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

/// GPUs of all engines.
Symbol all_gpus(S s) { return {"G", "GPUs of all engines", number_text(serving_gpus(s.request()))}; }
Symbol prompts(S s) { return as_symbol(s, "R_in", "tokens of prompts per second", "serving.throughput_in_tok_s"); }
Symbol answers(S s) { return as_symbol(s, "R_out", "answered tokens per second", "serving.throughput_out_tok_s"); }
Symbol share(S s) { return as_symbol(s, "phi", "share of the passes' time that prompts take", "serving.prompt_share"); }

Formula input_price(S s) { return {"1e6*G*price/3600*phi/R_in", {all_gpus(s), share(s), prompts(s)}}; }
Formula output_price(S s) { return {"1e6*G*price/3600*(1 - phi)/R_out", {all_gpus(s), share(s), answers(s)}}; }

Formula api_break_even(S s) {
  const ApiPrice api = s.request().serving.api_price.value_or(ApiPrice{});
  return {"G*price/3600*lambda_s/((R_in*p_in + R_out*p_out)/1e6)",
          {all_gpus(s),
           as_symbol(s, "lambda_s", "requests per second that were answered", "serving.throughput_req_s"),
           prompts(s),
           answers(s),
           {"p_in", "USD per million input tokens of the API", number_text(api.input)},
           {"p_out", "USD per million output tokens of the API", number_text(api.output)}}};
}

Formula energy(S s) {
  return {"W_s/R_out",
          {{"W_s", "watts of all GPUs, cooling included", number_text(serving_watts(s.request()).value_or(1))},
           answers(s)}};
}

constexpr std::string_view traffic = "--rate R, --users N or --requests FILE";
constexpr std::string_view priced = "--rate R, --users N or --requests FILE, and a price";
constexpr std::string_view by_time =
    "the GPUs are paid for busy or not; a pass with prompts and answers counts to each as either would take alone";

constexpr Definition serving_table[] = {
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
