#include "report/serve/serving_sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ask/answer/interval.hpp"
#include "ask/answer/power.hpp"
#include "ask/answer/serving/capacity.hpp"
#include "ask/answer/serving/engine.hpp"
#include "ask/answer/serving/engine_capacity.hpp"
#include "ask/answer/serving/prices.hpp"
#include "ask/answer/serving/run.hpp"
#include "ask/answer/serving/steady.hpp"
#include "ask/answer/serving/traffic.hpp"
#include "ask/answer/serving/whole_run.hpp"
#include "ask/request/check/serving.hpp"
#include "ask/request/offload.hpp"
#include "ask/request/prices.hpp"
#include "ask/request/request.hpp"
#include "ask/request/server.hpp"
#include "ask/request/serving_inputs.hpp"
#include "report/interval.hpp"
#include "report/model/model_sections.hpp"
#include "report/report.hpp"
#include "report/serve/serving_report.hpp"
#include "report/train/run_section.hpp"
#include "text/counted.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

constexpr double million = 1e6;

/// A time's mean and percentiles for JSON; text has them in the table of times.
void add_spread(Section& s, const std::string& key, const Spread& t) {
  const std::array values{std::pair{"mean", t.mean}, std::pair{"p50", t.p50}, std::pair{"p90", t.p90},
                          std::pair{"p95", t.p95},   std::pair{"p99", t.p99}, std::pair{"p999", t.p999}};
  for (const auto& [name, value] : values) s.add(fmt::format("{}.{}", key, name), "", value);
}

/// The ends of the mean's interval, if the interval is known.
void add_ends_of_mean(Section& s, const std::string& key, const Request& r, InferenceClass kind, Seconds mean) {
  const auto interval = interval_of(r, kind);
  if (!interval) return;
  s.add(key + ".mean_low", "", 1 / interval->factor * mean);
  s.add(key + ".mean_high", "", interval->factor * mean);
}

/// "1,102 to 3,001 tokens/s; 1,819 per GPU".
std::string throughput_text(const Request& r, const Served& of, const std::optional<RelativeInterval>& ends) {
  const std::string each = human_text(of.token_rate / real(serving_gpus(r)), Unit::tokens_per_second);
  if (!ends || ends->is_exact()) return each + " per GPU";
  return fmt::format("{}; {} per GPU",
                     interval_text(ends->low * of.token_rate, ends->high * of.token_rate, Unit::tokens_per_second),
                     each.substr(0, each.find(' ')));
}

void add_rates(Section& s, const Request& r, const Served& of, const std::optional<RelativeInterval>& ends) {
  s.add("throughput_in_tok_s", "prompt tokens", of.prompt_rate, Unit::tokens_per_second);
  s.add("throughput_out_tok_s", "generated tokens", of.token_rate, Unit::tokens_per_second,
        throughput_text(r, of, ends));
  s.add("throughput_req_s", "requests per second", of.request_rate, Unit::none,
        fmt::format("{} in {}", of.counted.requests, human_text(of.counted.time.value, Unit::seconds)));
  add_relative_ends(s, "throughput_in_tok_s", ends, of.prompt_rate, Unit::tokens_per_second);
  add_relative_ends(s, "throughput_out_tok_s", ends, of.token_rate, Unit::tokens_per_second);
  add_relative_ends(s, "throughput_req_s", ends, of.request_rate);
  s.add("counted_requests", "", of.counted.requests);
  s.add("counted_s", "", of.counted.time);
  s.add("requests", "", of.requests);
  s.add("duration_s", "", of.duration);
}

void add_limits_of(Section& s, const Request& r, const Served& of) {
  const ServingInputs& v = r.serving;
  if (!v.slo_first_token && !v.slo_per_token) return;
  s.add("goodput_req_s", "within the SLO", of.goodput, Unit::none, "requests per second");
  s.add("slo_met", "  of all requests", of.met, Unit::ratio);
}

void add_load(Section& s, const Request& r, const ServingEngine& e, const ServingRun& run, const Served& of) {
  const Seconds begin = of.counted.begin, time = of.counted.time;
  const double blocks = run.share * all_blocks(r, e),
               used = integral(run.run.timeline.samples(), begin, begin + time, &Sample::blocks_used);
  s.add("utilization", "busy", of.utilization, Unit::ratio, "share of time with a running pass");
  if (time.value > 0) s.add("kv_occupancy", "KV cache in use", used / time.value / blocks, Unit::ratio, "on average");
  s.add("kv_occupancy_max", "  maximum", real(run.run.most_blocks) / real(e.rules.scheduler.blocks), Unit::ratio);
  if (of.cached > 0) s.add("prefix_hits", "prompt tokens from the cache", of.cached, Unit::ratio);
  s.add("preemptions", "preemptions", of.preemptions);
}

/// Adds the energy per generated token and the mean power. `ends`: of the inverse throughput.
void add_energy(Section& s, const Request& r, const Served& of, const std::optional<RelativeInterval>& ends) {
  const auto watts = serving_watts(r, of);
  if (!watts) return;
  const double joules = watts->value / of.token_rate;
  s.add("joules_per_token", "energy per token, J", joules, Unit::none,
        fmt::format("at {:.0f} W for all GPUs on average", watts->value));
  if (ends) add_relative_ends(s, "joules_per_token", both(watts->ends, *ends), joules);
  s.add("watts", "", watts->value);
  if (!watts->ends.is_exact()) add_relative_ends(s, "watts", watts->ends, watts->value);
}

void add_costs(Section& s, const Request& r, const ServingRun& run, const Served& of,
               const std::optional<RelativeInterval>& throughput) {
  const auto ends = throughput ? std::optional(throughput->inverse()) : std::nullopt;
  add_energy(s, r, of, ends);
  const auto p = serving_prices(r, run, of);
  if (!p) return;
  s.add("usd_per_h", "cost per hour", 3600 * p->usd_per_second, Unit::dollars,
        fmt::format("{} at {:g} USD", counted(serving_gpus(r), "GPU"), *price_of(r)));
  s.add("prompt_share", "  share for prompts", p->prompt_share, Unit::ratio);
  s.add("usd_per_1m_input", "per million input tokens", million * p->input, Unit::dollars);
  add_relative_ends(s, "usd_per_1m_input", ends, million * p->input, Unit::dollars);
  if (p->output > 0) {
    s.add("usd_per_1m_output", "per million output tokens", million * p->output, Unit::dollars);
    add_relative_ends(s, "usd_per_1m_output", ends, million * p->output, Unit::dollars);
  }
  if (p->break_even)
    s.add("break_even_req_s", "break-even with an API at", *p->break_even, Unit::none, "requests per second");
}

/// Adds the number of sequences that fit in the engine's cache, summed over its ranks or micro-batches.
void add_room(Section& s, const Request& r, const ServingEngine& e, Count tokens) {
  const EngineMemory& m = e.memory;
  const SchedulerRules& rules = e.rules.scheduler;
  if (m.kv_tokens > 0) {
    s.add("kv_tokens", "  tokens", m.kv_tokens, Unit::tokens,
          fmt::format("{} blocks of {}{}", m.blocks, e.limits.block_tokens,
                      rules.limited_groups > 0 ? ", if every layer cached every token" : ""));
    if (const auto ends = cache_interval(r, m)) {
      s.add("kv_tokens_low", "", static_cast<Count>(ends->low * real(m.kv_tokens)), Unit::tokens);
      s.add("kv_tokens_high", "", static_cast<Count>(ends->high * real(m.kv_tokens)), Unit::tokens);
    }
    s.add("blocks", "", m.blocks);
  }
  if (m.states > 0)
    s.add("states", "  states", m.states, Unit::none,
          fmt::format("of {}, for any sequence length", bytes_text(m.state)));
  if (e.longest == 0) return;
  if (e.longest < any_length) s.add("longest_sequence", "  longest sequence", e.longest, Unit::tokens);
  if (is_vllm(r) && rules.blocks > 0) {
    const Count context = r.model.arch.context, each = most_blocks_of(rules, r.model.arch.local.reach, context);
    const double sequences = real(rules.blocks) / real(std::max<Count>(1, each));
    s.add("maximum_concurrency", "  at full context", sequences, Unit::none,
          fmt::format("vLLM's \"Maximum concurrency\" for {} tokens", context));
    s.add("concurrent_tokens", "", static_cast<Count>(sequences * real(context)), Unit::tokens);
  }
  if (tokens == 0 && has_lengths_of_its_own(r)) return;
  const Count of = tokens > 0 ? tokens : usual_tokens(r);
  const Count prefix = r.serving.shared_prefix;
  s.add("most_sequences", "  concurrent, at most",
        mul(most_sequences(rules, r.model.arch.local.reach, of, prefix), e.rules.ranks), Unit::sequences,
        fmt::format("of {} tokens{}", of,
                    shared_blocks(rules, prefix) > 0 ? fmt::format(", {} of them shared", prefix) : ""));
}

}  // namespace

Section engine_memory_section(const Request& r, const ServingEngine& e, Count tokens) {
  const EngineMemory& m = e.memory;
  const ServedAdapters& a = r.serving.adapters;
  Section s{"engine_memory", "memory per GPU", {}};
  s.add("granted_bytes", "granted", m.granted, fmt::format("{:g} % of the device", 100 * r.plan.memory_utilization));
  s.add("weights_bytes", "weights", m.weights, weights_text(r));
  if (m.media_encoders > Bytes())
    s.add("towers_bytes", "media encoders", m.media_encoders, media_encoder_place(r.plan));
  if (m.host > Bytes()) s.add("host_bytes", "  on the host", m.host, offload_text(r.plan.offload));
  if (m.draft > Bytes()) s.add("draft_bytes", "draft model", m.draft);
  if (m.padding > Bytes()) s.add("padding_bytes", "padding", m.padding, "of experts, required by kernels");
  if (m.adapters > Bytes())
    s.add("adapters_bytes", "adapters", m.adapters, fmt::format("{} of rank {}", a.resident, a.rank));
  s.add("activations_bytes", "activations", m.activations,
        fmt::format("of {} tokens and {} sequences", e.limits.pass_tokens, e.limits.sequences));
  if (m.libraries > Bytes()) s.add("libraries_bytes", "libraries", m.libraries);
  if (m.graphs > Bytes())
    s.add("graphs_bytes", "CUDA graphs", m.graphs, "reserved before the cache");
  else
    s.add("", "CUDA graphs", std::string("unknown, counted as 0"));
  if (m.kv_cache < Bytes())
    s.add("missing_bytes", "missing", Bytes() - m.kv_cache);
  else
    s.add("kv_cache_bytes", "KV cache", m.kv_cache, "remaining memory");
  add_room(s, r, e, tokens);
  return s;
}

Section serving_section(const Request& r, const ServingEngine& e, const ServingRun& run, const Served& of,
                        const ServingCapacity& capacity) {
  Section s{"serving", "served", {}};
  add_spread(s, "ttft_s", of.first_token);
  add_ends_of_mean(s, "ttft_s", r, InferenceClass::first_token, of.first_token.mean);
  if (of.continued > 0) {
    add_spread(s, "tpot_s", of.per_token);
    add_ends_of_mean(s, "tpot_s", r, InferenceClass::served_decode, of.per_token.mean);
    add_spread(s, "itl_s", of.gap);
  }
  add_spread(s, "latency_s", of.latency);
  const auto throughput = throughput_interval(r, of, capacity.rate());
  add_rates(s, r, of, throughput);
  s.add("capacity_req_s", "  maximum", capacity.rate(), Unit::none, "without queue growth");
  add_relative_ends(s, "capacity_req_s", capacity_interval(r), capacity.rate());
  if (capacity.depends_on_queue())
    s.add("overloaded_req_s", "  with a queue", capacity.overloaded, Unit::none, "when 1.5 times that rate arrives");
  s.add("duty_cycle", "  duty cycle", of.request_rate / capacity.rate(), Unit::ratio);
  if (r.engine)
    s.add("request_s", "per-request overhead", request_seconds(inference_estimator().parameters, *r.engine->inference),
          "network, tokenizer, queue");
  add_limits_of(s, r, of);
  add_load(s, r, e, run, of);
  add_costs(s, r, run, of, throughput);
  return s;
}

Section served_section(const ServingAnswer& a) {
  const std::optional<WholeRun>& w = a.run();
  return w ? serving_section(w->request, w->engine, w->run, w->served, a.capacity()) : Section();
}

Section long_run_section(const ServingAnswer& a) {
  return a.run() ? steady_state_section(a.run()->request, a.steady_state()) : Section();
}

Section steady_state_section(const Request& r, const SteadyState& s) {
  Section section{"steady_state", "capacity from pass limits", {}};
  section.add("capacity_req_s", "capacity", s.capacity, Unit::none,
              fmt::format("requests per second; simulated, {:.3g} to {:.3g}", s.least_capacity(), s.most_capacity()));
  section.add("capacity_req_s_low", "", s.least_capacity());
  section.add("capacity_req_s_high", "", s.most_capacity());
  section.add("limit", "  limited by", std::string(name(s.limit)));
  if (r.serving.users) return section;
  section.add("rate_req_s", "rate", s.load * s.capacity, Unit::none, "requests per second");
  section.add("load", "load", s.load, Unit::ratio, "of the capacity");
  if (s.growth > 0) section.add("growth_req_s", "queue growth", s.growth, Unit::none, "requests per second");
  return section;
}

}  // namespace llmcalc
