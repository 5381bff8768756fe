#include "report/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ask/answer/interval.hpp"
#include "ask/answer/serving/engine.hpp"
#include "ask/answer/serving/serving.hpp"
#include "ask/request/check/check.hpp"
#include "ask/request/options.hpp"
#include "ask/request/server.hpp"
#include "ask/request/settle.hpp"
#include "calc/parameters.hpp"
#include "presets/estimators/engine_memory_table.hpp"
#include "report/interval.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

/// Names of the weight format and of the matmul format; empty: the default.
struct FitFormat {
  std::string_view weights, precision{};
};

/// The usual formats of the device's engine, widest first: bf16 and GGUF blocks for llama.cpp; otherwise bf16, 8-bit
/// and 4-bit weights, with fp8 and nvfp4 matmuls if the device has peaks for them.
std::vector<FitFormat> usual_formats(const Request& r) {
  const Device& device = r.hardware->cluster.device;
  if (r.engine && r.engine->name == "llama.cpp") return {{"bf16"}, {"q8_0"}, {"q6_k"}, {"q5_k"}, {"q4_k"}, {"q3_k"}};
  const bool has_fp8 = device.peak(dtypes::fp8).value > 0;
  std::vector<FitFormat> all{{"bf16"}, has_fp8 ? FitFormat{"fp8-row", "fp8"} : FitFormat{"int8-row"}, {"awq"}};
  if (device.peak(*dtype("nvfp4")).value > 0) all.push_back({"nvfp4", "nvfp4"});
  return all;
}

Request in_format(const Request& r, const FitFormat& f) {
  Request one = r;
  const std::string wide(working_format(r.plan).name());  // fp16 on a device without bf16
  give(one, *find_option("--weight-precision"), f.weights == "bf16" ? wide : std::string(f.weights));
  if (!f.precision.empty() && !one.gave("--precision")) give(one, *find_option("--precision"), f.precision);
  settle(one);
  return one;
}

/// Bytes of the model's weights; the sort key of formats.
Bytes stored_bytes(const Request& r) { return weights_bytes(r.model.arch, r.plan, r.layout); }

/// The request in each format for which a row makes sense, widest first: the given format, else the checkpoint's and
/// the engine's. Formats wider than a quantized checkpoint add no precision and are left out.
std::vector<Request> in_formats(const Request& r) {
  std::vector<Request> all{r};
  if (r.gave("--weight-precision")) return all;
  const bool quantised = r.model.weights && !r.model.weights->plain();
  for (const FitFormat& f : usual_formats(r)) {
    Request one = in_format(r, f);
    if (!quantised || stored_bytes(one) < stored_bytes(r)) all.push_back(std::move(one));
  }
  const auto is_wider = [](const Request& a, const Request& b) { return stored_bytes(a) > stored_bytes(b); };
  const auto same = [](const Request& a, const Request& b) {
    return a.plan.weight_precision == b.plan.weight_precision;
  };
  std::stable_sort(all.begin(), all.end(), is_wider);
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  return all;
}

/// Whether a known engine would serve the request: it limits the size of a pass, runs its largest pass at startup, and
/// gives the remaining memory to the cache. Otherwise a prompt is one pass of any length.
bool has_engine(const Request& r) {
  return r.engine && r.engine->inference && r.plan.kv_cache && !r.model.arch.is_encoder_decoder();
}

/// Scheduler rules with the cache blocks available to one sequence of a batch. Micro-batches split both batch and
/// blocks.
SchedulerRules of_one(const SchedulerRules& rules, Count batch, Count parts) {
  SchedulerRules one = rules;
  one.blocks /= ceil_div(batch, parts);
  return one;
}

/// Memory of the engine that 'serve' simulates, for the request's sequences.
struct EngineCapacity {
  ServingEngine engine;
  Count parts = 1;  ///< micro-batches that split a batch
  explicit EngineCapacity(const Request& r) : engine(serving_room(r)), parts(engine.rules.ranks / replicas(r.layout)) {}

  Count longest(const Request& r) const {
    if (engine.memory.kv_cache <= Bytes()) return 0;
    return longest_sequence(of_one(engine.rules.scheduler, r.plan.batch, parts), r.model.arch.local.reach);
  }
  Count most(const Request& r) const {
    SchedulerRules any = engine.rules.scheduler;
    any.sequences = any.blocks;
    return mul(most_sequences(any, r.model.arch.local.reach, add(r.plan.prompt, r.plan.generate), 0), parts);
  }
  /// Peak device memory with the cache of the plan's sequences, in whole blocks if the engine has blocks.
  Bytes peak(const Request& r) const {
    const EngineMemory& m = engine.memory;
    return m.granted - m.kv_cache + cache(r);
  }

 private:
  Bytes cache(const Request& r) const {
    const SchedulerRules& rules = engine.rules.scheduler;
    const Count of_one = blocks_of(rules, r.model.arch.local.reach, add(r.plan.prompt, r.plan.generate));
    if (rules.blocks <= 0) return inference_memory(r.model.arch, r.plan, r.layout).kv_cache;
    const double share = real(mul(of_one, r.plan.batch)) / real(mul(rules.blocks, parts));
    return Bytes(std::llround(share * real(engine.memory.kv_cache.value)));
  }
};

/// A request's row, without speeds.
FitRow row_of_memory(const Request& r) {
  FitRow row{.model = r.model.name,
             .parameters = parameters(r.model.arch).total,
             .weights = r.plan.weight_precision,
             .precision = r.plan.precision,
             .tokens = add(r.plan.prompt, r.plan.generate)};
  if (has_engine(r)) {
    const EngineCapacity room(r);
    row.peak = room.peak(r);
    row.limits = {room.most(r), room.longest(r)};
    row.fits = *row.limits.max_context >= row.tokens;
    return row;
  }
  row.peak = inference_memory(r.model.arch, r.plan, r.layout, process_bytes(r)).peak;
  row.fits = row.peak <= memory_to_fit(r);
  return row;
}

std::optional<EstimateInterval> interval_of_pass(const Request& r, InferenceClass kind, const PassEstimate& e) {
  const auto interval = interval_of(r, kind);
  return interval ? std::optional(interval->above(e.bound.total(), e.estimate.total())) : std::nullopt;
}

void add_speeds(FitRow& row, const Request& r) {
  const Plan& p = r.plan;
  const Cluster& on = r.hardware->cluster;
  const PassEstimate prompts = prefill(r.model.arch, p, r.layout, on, p.prompt),
                     step = DecodeSteps(r.model.arch, p, r.layout, on).at(p.prompt + p.generate / 2);
  row.speed = 1 / step.estimate.total().value;
  row.prompt_speed = real(mul(p.batch, p.prompt)) / prompts.estimate.total().value;
  row.speed_interval = interval_of_pass(r, InferenceClass::decode, step);
  row.prompt_interval = interval_of_pass(r, InferenceClass::prefill, prompts);
}

void add_limits(FitRow& row, const Request& r) {
  if (!has_engine(r)) row.limits = limits(r.model.arch, r.plan, r.layout, r.hardware->cluster.device);
  if (!row.limits.max_batch) return;  // no limits without a cache
  const Count longest = std::max(r.model.arch.context, row.tokens);
  row.limits.max_context = std::min(row.limits.max_context.value_or(longest), longest);
}

}  // namespace

Bytes memory_to_fit(const Request& r) {
  const Bytes all = has_engine(r) ? visible_memory(*r.hardware) : r.hardware->cluster.device.memory;
  return granted_memory(all, r.plan.memory_utilization);
}

Request request_to_fit(Request r, const FitQuestion& q) {
  const Count made_for = r.model.arch.context;
  if (q.context && *q.context > made_for)
    throw InputError(fmt::format("--context {}: {} supports at most {} tokens", *q.context, r.model.name, made_for));
  const Count tokens = q.context.value_or(add(r.plan.prompt, r.plan.generate));
  const bool given = r.gave("--prompt") || r.gave("--generate");
  r.plan = with_context(r.plan, given ? tokens : std::min(tokens, made_for));
  r.given.push_back("--prompt");  // protects the prompt from defaults when a format is settled
  if (!r.gave("--memory-utilization")) {
    constexpr double usual = 0.9;
    r.plan.memory_utilization = has_engine(r)            ? serving_utilization(r)
                                : r.hardware->usable > 0 ? std::min(usual, r.hardware->usable)
                                                         : usual;
    r.given.push_back("--memory-utilization");  // as above
  }
  check(r);
  return r;
}

ModelFit model_fit(const Request& r, const FitQuestion& q) {
  ModelFit fit{.model = r.model.name, .request = r};
  for (const Request& one : in_formats(r)) {
    FitRow row = row_of_memory(one);
    fit.least = row;
    if (!row.fits) continue;
    add_speeds(row, one);
    fit.least = row;
    if (row.speed < q.min_speed) continue;
    add_limits(row, one);
    fit.rows.push_back(row);
    if (!q.all_formats) break;
  }
  return fit;
}

}  // namespace llmcalc
