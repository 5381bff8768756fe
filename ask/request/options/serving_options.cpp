#include "ask/request/options/serving_options.hpp"

#include <fmt/format.h>

#include <array>

#include "ask/request/options/option_fields.hpp"
#include "ask/request/options/option_values.hpp"
#include "ask/request/options/serving_values.hpp"
#include "ask/request/request.hpp"
#include "ask/request/server.hpp"
#include "ask/request/serving_inputs.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {
namespace serving_fields {
using namespace option_fields;
using V = ServingInputs;

/// Field that is shown only if there is traffic.
template <auto member, auto read>
constexpr Field of_server{value<member, read>.read, [](const Request& r) {
                            return has_traffic(r.serving) ? shown(in(r, member)) : json::Value();
                          }};
/// Field that is shown only if its value is not the default.
template <auto member, auto read>
constexpr Field unusual{value<member, read>.read, [](const Request& r) {
                          static const Request usual;
                          const auto& now = in(r, member);
                          return now == in(usual, member) ? json::Value() : shown(now);
                        }};
constexpr Field arrivals{value<&V::arrival_variation, read_arrivals>.read, [](const Request& r) {
                           const V& v = r.serving;
                           return v.rate ? json::Value(arrivals_text(v.arrival_variation)) : json::Value();
                         }};
/// Field that shows the limit in effect: the specified one, otherwise the engine's default.
template <auto member, auto limit>
constexpr Field of_limits{value<member, parse_positive>.read, [](const Request& r) {
                            return has_traffic(r.serving) && r.hardware ? json::Value(serving_limits(r).*limit)
                                                                        : json::Value();
                          }};
constexpr Field batching{value<&V::batching, read_choice<Batching>>.read, [](const Request& r) {
                           return has_traffic(r.serving) ? json::Value(std::string(name(batching_of(r))))
                                                         : json::Value();
                         }};
constexpr Field lengths{
    [](Request& r, Text text, Text where) {
      const LengthsText l = read_lengths(text, where);
      r.serving.length_variation = l.variation;
      r.serving.lengths = l.file;
    },
    [](const Request& r) {
      const V& v = r.serving;
      return v.rate || v.users ? json::Value(lengths_text({v.length_variation, v.lengths})) : json::Value();
    }};
constexpr Field acceptance{value<&V::acceptance, read_acceptance>.read, [](const Request& r) {
                             return r.serving.acceptance.empty() ? json::Value()
                                                                 : json::Value(acceptance_text(r.serving.acceptance));
                           }};
constexpr Field pools{
    [](Request& r, Text text, Text where) { r.serving.pools = read_pools(text, where); },
    [](const Request& r) { return r.serving.pools ? json::Value(pools_text(*r.serving.pools)) : json::Value(); }};
constexpr Field adapters{[](Request& r, Text text, Text where) { r.serving.adapters = read_adapters(text, where); },
                         [](const Request& r) {
                           return r.serving.adapters.resident > 0 ? json::Value(adapters_text(r.serving.adapters))
                                                                  : json::Value();
                         }};
constexpr Field api_price{[](Request& r, Text text, Text where) { r.serving.api_price = read_api_price(text, where); },
                          [](const Request& r) {
                            const auto& p = r.serving.api_price;
                            return p ? json::Value(fmt::format("{:g},{:g}", p->input, p->output)) : json::Value();
                          }};
}  // namespace serving_fields

namespace serving_table {
using namespace part;
using namespace serving_fields;
constexpr bool common = true;

constexpr std::array traffic_rows{
    Option{"--rate", "R", "requests per second", common, serving, "", "", of_server<&V::rate, read_request_rate>},
    Option{"--users", "N", "concurrent users, instead of --rate; each sends its next request after receiving an answer",
           common, serving, "", "", of_server<&V::users, parse_positive>},
    Option{"--start", choice_names<ClientStart>,
           "start of the users: at once, as in benchmarks, or at different times, as people do; together: sends 10 "
           "requests per user unless --num-requests is set, and averages over all of them [spread]",
           !common, simulated, "--users", "", unusual<&V::start, read_choice<ClientStart>>},
    Option{
        "--requests", "FILE",
        "request log, instead of --rate and --users: JSONL or CSV with arrival (s), prompt, generated (tokens); "
        "optionally session (a name), prefix (TOKENS or NAME:TOKENS shared by prompts), priority (0 is served first); "
        "or a Mooncake, Azure LLM or BurstGPT trace as published",
        common, serving, "", "", unusual<&V::log, read_words>},
    Option{"--think-time", "TIME",
           "mean think time of a user between an answer and the next request; exponentially distributed [0 s]", !common,
           serving, "", "", unusual<&V::think, read_time>},
    Option{"--arrivals", "poisson|constant|gamma:CV",
           "distribution of inter-arrival times; CV is standard deviation over mean [poisson]", !common, serving,
           "--rate", "", arrivals},
    Option{"--lengths", "LENGTHS",
           "distribution of prompt and answer lengths: constant, lognormal:CV (standard deviation over mean), or a CSV "
           "file with the columns up_to (length), prompts and answers (weights) [constant]",
           !common, serving, "", "", lengths},
    Option{"--turns", "N", "requests per session; each prompt includes the previous conversation [1]", !common, serving,
           "", "", unusual<&V::turns, parse_positive>},
    Option{"--shared-prefix", "N", "tokens of a prefix shared by all prompts, in addition to --prompt [0]", !common,
           serving, "", "", unusual<&V::shared_prefix, parse_count>},
    Option{"--num-requests", "N", "number of requests to simulate [enough for the percentiles]", !common, serving, "",
           "", of_server<&V::requests, parse_positive>},
    Option{"--duration", "TIME", "period in which requests arrive, instead of --num-requests", !common, simulated,
           "--rate", "", of_server<&V::duration, read_duration>},
    Option{"--seed", "N", "random seed of the generated requests [0]", !common, simulated, "", "",
           of_server<&V::seed, parse_count>},
};

constexpr std::array server_rows{
    Option{"--replicas", "N", "number of engines, each on --tp x --pp x --dp GPUs [1]", common, simulated, "", "",
           of_server<&V::replicas, parse_positive>},
    Option{"--router", choice_names<Routing>, "routing of requests to replicas [round-robin]", !common, simulated,
           "--replicas", "", of_server<&V::routing, read_choice<Routing>>},
    Option{"--pools", "xPyD",
           "separate prefill and decode engines, for example 2P6D, instead of --replicas and --router; prompts are "
           "routed round-robin, answers to the least loaded engine [one pool for both]",
           !common, simulated, "", "", pools},
    Option{"--max-batched-tokens", "N", "maximum tokens per pass [8192; 2048 on small devices, as in vLLM]", !common,
           serving, "", "", of_limits<&V::pass_tokens, &EngineLimits::pass_tokens>},
    Option{"--max-seqs", "N", "maximum concurrent sequences [1024; 256 on small devices, as in vLLM]", !common, serving,
           "", "", of_limits<&V::sequences, &EngineLimits::sequences>},
    Option{"--max-chunk", "N", "maximum tokens of one prompt per pass [as many as fit]", !common, serving, "", "",
           unusual<&V::chunk_tokens, parse_positive>},
    Option{"--poll-interval", "N",
           "decode passes between looks at new requests, as SGLang's --scheduler-recv-interval; the engine also looks "
           "after passes with prompts [1]",
           !common, serving, "", "", unusual<&V::poll_passes, parse_positive>},
    Option{"--batching", choice_names<Batching>,
           "continuous: chunked prefill mixed with decode (vLLM V1); prompts-first: prefill first, in separate passes "
           "(V0, SGLang); static: fixed batches [the engine's]",
           !common, serving, "", "", batching},
    Option{"--policy", choice_names<Admission>, "order in which requests are served [fcfs]", !common, serving, "", "",
           of_server<&V::admission, read_choice<Admission>>},
    Option{"--preemption", choice_names<Preemption>,
           "preemption of sequences when no KV cache block is free [recompute]", !common, serving, "", "",
           of_server<&V::preemption, read_choice<Preemption>>},
    Option{"--block-size", "N", "tokens per KV cache block [the engine's: 16 for vllm, 32 for tensorrt-llm, else 1]",
           !common, serving, "", "", of_limits<&V::block_tokens, &EngineLimits::block_tokens>},
    Option{"--prefix-cache", "on|off", "reuse cached keys and values of shared prompt prefixes [on]", !common, serving,
           "", "", of_server<&V::prefix_cache, read_switch>},
    listed(Option{
        "--adapters", "N:RANK[:TARGETS]",
        "LoRA adapters resident in memory, one per request, on the blocks' matrices (q, k, v, out, gate, up, down) "
        "[none; all matrices]",
        !common, serving, "", "", adapters}),
    Option{"--draft-tokens", "N", "tokens drafted ahead and verified in one pass [0]", !common, serving, "", "",
           unusual<&V::draft_tokens, read_drafts>},
    listed(Option{"--acceptance", "X,X,...",
                  "acceptance probability of a draft token by position; the last value applies to all later positions",
                  !common, serving, "--draft-tokens", "", acceptance}),
    Option{"--draft-model", "MODEL",
           "draft model [the modules of --mtp, else one layer of the served model, without additional memory]", !common,
           serving, "--draft-tokens", "", unusual<&V::draft_model, read_words>},
    Option{"--slo-ttft", "TIME", "maximum time to first token (TTFT), for goodput [none]", common, serving, "", "",
           of_server<&V::slo_first_token, read_limit>},
    Option{"--slo-tpot", "TIME",
           "maximum time per output token after the first (TPOT), averaged over each request [none]", common, serving,
           "", "", of_server<&V::slo_per_token, read_limit>},
    Option{"--percentile", "P", "percentage of requests that must meet the latency limits [95]", common, serving, "",
           "", of_server<&V::percentile, read_percentile>},
    listed(Option{"--api-price", "IN,OUT",
                  "API price in USD per million input and output tokens, for the break-even [none]", !common, serving,
                  "", "", api_price}),
};
}  // namespace serving_table
}  // namespace

std::span<const Option> traffic_options() { return serving_table::traffic_rows; }
std::span<const Option> server_options() { return serving_table::server_rows; }

}  // namespace llmcalc
