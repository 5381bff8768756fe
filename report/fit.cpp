#include "report/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ask/answer/fit.hpp"
#include "ask/answer/interval.hpp"
#include "ask/request/check/check.hpp"
#include "ask/request/machine.hpp"
#include "ask/request/offload.hpp"
#include "ask/request/options/options.hpp"
#include "ask/request/server.hpp"
#include "ask/request/settle.hpp"
#include "calc/parameters.hpp"
#include "calc/search.hpp"
#include "presets/estimators/engine_memory_table.hpp"
#include "report/interval.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

/// Names of the weight and matmul formats (empty: the default), and the value of --offload (empty: none).
struct FitFormat {
  std::string_view weights, precision{};
  std::string offload{};
};

constexpr std::string_view usual_on_host = "q4_k_m";

/// The usual formats of the device's engine, widest first: bf16 and the mixes of llama-quantize for GGUF files;
/// otherwise bf16, 8-bit and 4-bit weights, with fp8 and nvfp4 matmuls if the device has peaks for them.
std::vector<FitFormat> usual_formats(const Request& r) {
  const Device& device = r.hardware->cluster.device;
  if (r.engine && r.engine->gguf_weights)
    return {{"bf16"}, {"q8_0"}, {"q6_k"}, {"q5_k_m"}, {usual_on_host}, {"q3_k_m"}, {"q2_k"}, {"iq2_xs"}, {"iq1_m"}};
  const bool has_fp8 = device.peak(dtypes::fp8).value > 0;
  std::vector<FitFormat> all{{"bf16"}, has_fp8 ? FitFormat{"fp8-row", "fp8"} : FitFormat{"int8-row"}, {"awq"}};
  if (device.peak(*dtype("nvfp4")).value > 0) all.push_back({"nvfp4", "nvfp4"});
  return all;
}

/// A request with the weights in one format. `name`: the format as specified; empty: the model's own format.
struct InFormat {
  Request request;
  std::string name;
};

InFormat in_format(const Request& r, const FitFormat& f) {
  Request one = r;
  const std::string wide(working_format(r.plan).name());  // fp16 on a device without bf16
  give(one, *find_option("--weight-precision"), f.weights == "bf16" ? wide : std::string(f.weights));
  if (!f.precision.empty() && !one.gave("--precision")) give(one, *find_option("--precision"), f.precision);
  if (!f.offload.empty()) give(one, *find_option("--offload"), f.offload);
  settle(one);
  return {std::move(one), f.weights == "bf16" ? wide : std::string(f.weights)};
}

/// Bytes of the model's weights, by which formats are sorted.
Bytes stored_bytes(const Request& r) { return weights_bytes(r.model.arch, r.plan, r.layout); }

/// The request in each format that gets a row, widest first: the specified format, otherwise the checkpoint's format
/// and the engine's usual formats. Formats wider than a quantized checkpoint add no precision and are omitted.
std::vector<InFormat> in_formats(const Request& r) {
  std::vector<InFormat> all{{r, ""}};
  if (r.gave("--weight-precision")) return all;
  const bool quantized = r.model.weights && !r.model.weights->plain();
  for (const FitFormat& f : usual_formats(r)) {
    InFormat one = in_format(r, f);
    if (!quantized || stored_bytes(one.request) < stored_bytes(r)) all.push_back(std::move(one));
  }
  const auto is_wider = [](const InFormat& a, const InFormat& b) {
    return stored_bytes(a.request) > stored_bytes(b.request);
  };
  const auto same = [](const InFormat& a, const InFormat& b) {
    return a.request.plan.weight_precision == b.request.plan.weight_precision;
  };
  std::stable_sort(all.begin(), all.end(), is_wider);
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  return all;
}

/// The request with the fewest layers in host memory that make it fit; absent if it does not fit even with all layers
/// there.
std::optional<InFormat> with_layers_on_host(const Request& r) {
  const Count layers = r.model.arch.layers;
  const auto moved = [&](Count n) {
    return in_format(r, {usual_on_host, {}, fmt::format("weights:{:.6f}", real(n) / real(layers))});
  };
  const auto fits = [&](Count n) { return InferenceAnswer(moved(n).request).fits(); };
  const std::optional<Count> fewest = first(layers, fits);
  if (!fewest) return std::nullopt;
  return moved(*fewest);
}

/// The request in the usual host format with experts in host memory or, if that is not enough, with layers there.
/// Absent unless the engine computes on the host and the request does not fit otherwise.
std::optional<InFormat> on_host(const Request& r) {
  if (has_stages(r)) return {};
  if (!r.engine || !r.engine->computes_on_host || r.gave("--weight-precision") || r.gave("--offload")) return {};
  if (InferenceAnswer(in_format(r, {usual_on_host}).request).fits()) return {};
  if (!r.model.arch.has_experts()) return with_layers_on_host(r);
  InFormat one = in_format(r, {usual_on_host, {}, "experts"});
  return InferenceAnswer(one.request).fits() ? std::optional(std::move(one)) : with_layers_on_host(r);
}

/// A request's row, without speeds.
FitRow row_of_memory(const InferenceAnswer& a) {
  const Request& r = a.request();
  FitRow row{.model = r.model.name,
             .released = r.model.released,
             .parameters = parameters(r.model.arch).total,
             .weights = r.plan.weight_precision,
             .precision = r.plan.precision,
             .context = r.model.arch.context,
             .tokens = add(r.plan.prompt, r.plan.generate)};
  row.peak = a.placement() ? a.placement()->peak() : a.memory().peak;
  row.host = a.memory().host;
  if (r.plan.offload.any()) row.offload = offload_text(r.plan.offload);
  row.layers_on_host = std::llround(r.plan.offload.weights.value() * real(r.model.arch.layers));
  row.fit = fit_of(a);
  return row;
}

void add_speeds(FitRow& row, const InferenceAnswer& a) {
  const Request& r = a.request();
  const Plan& p = r.plan;
  const PassEstimate prompts = prefill(r.model.arch, p, r.layout, a.pass_stages(), p.prompt),
                     step = DecodeSteps(r.model.arch, p, r.layout, a.pass_stages()).at(p.prompt + p.generate / 2);
  row.speed = 1 / step.estimate.total().value;
  row.prompt_speed = real(mul(p.batch, p.prompt)) / prompts.estimate.total().value;
  row.speed_interval = a.interval_of_pass(InferenceClass::decode, step);
  row.prompt_interval = a.interval_of_pass(InferenceClass::prefill, prompts);
}

/// Adds the limits to a row. An unlimited sequence length is replaced by the model's context.
void add_limits(FitRow& row, const InferenceAnswer& a) {
  row.limits = a.limits();
  if (row.limits.max_batch && !row.limits.max_context) row.limits.max_context = row.context;
}

}  // namespace

Bytes memory_to_fit(const Request& r) {
  Bytes all;
  for (Count i = 0; i < ranks(r.layout, Group::pipeline); ++i) {
    const HardwareCard& card = card_of_stage(r, i);
    all += granted_memory(has_engine_memory(r) ? visible_memory(card) : card.cluster.device.memory,
                          r.plan.memory_utilization);
  }
  return all;
}

Bytes capacity_to_fit(const Request& r) {
  Bytes all;
  for (Count i = 0; i < ranks(r.layout, Group::pipeline); ++i) all += card_of_stage(r, i).cluster.device.memory;
  return all;
}

Request request_to_fit(Request r, const FitQuestion& q) {
  const Count made_for = r.model.arch.context;
  if (q.context && *q.context > made_for)
    throw InputError(fmt::format("--context {}: {} supports at most {} tokens", *q.context, r.model.name, made_for));
  const Count tokens = q.context.value_or(add(r.plan.prompt, r.plan.generate));
  const bool given = r.gave("--prompt") || r.gave("--generate");
  r.plan = with_context(r.plan, given ? tokens : std::min(tokens, made_for));
  r.given.push_back("--prompt");  // keeps the prompt unchanged when a format's defaults are filled in
  if (!r.gave("--memory-utilization") && !has_engine_memory(r)) {
    constexpr double usual = 0.9;
    r.plan.memory_utilization = r.hardware->usable > 0 ? std::min(usual, r.hardware->usable) : usual;
    r.given.push_back("--memory-utilization");  // keeps the share of memory unchanged
  }
  check(r);
  return r;
}

ModelFit model_fit(const Request& r, const FitQuestion& q) {
  ModelFit fit{.model = r.model.name, .request = r};
  std::vector<InFormat> formats = in_formats(r);
  if (q.all_formats)
    if (std::optional<InFormat> hosted = on_host(r)) formats.push_back(std::move(*hosted));
  for (InFormat& one : formats) {
    const InferenceAnswer answer(std::move(one.request));
    FitRow row = row_of_memory(answer);
    row.format = one.name;
    fit.least = row;
    if (!row.fit.is_expected()) continue;
    add_speeds(row, answer);
    fit.least = row;
    if (row.speed < q.min_speed) continue;
    add_limits(row, answer);
    fit.rows.push_back(row);
    if (!q.all_formats) break;
  }
  return fit;
}

}  // namespace llmcalc
