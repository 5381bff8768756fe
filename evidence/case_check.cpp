#include "evidence/case_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "calc/memory.hpp"
#include "calc/operator/pricing.hpp"
#include "calc/parameters.hpp"
#include "calc/train.hpp"
#include "evidence/capacity.hpp"
#include "evidence/inference_times.hpp"
#include "evidence/names/inference_stack.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

[[noreturn]] void refuse_measured(const std::string& where, std::string_view key, const std::string& why) {
  throw InputError(fmt::format("{}, \"measured\", {}: {}", where, in_quotes(key), why));
}

// ---- Training step

/// Lowest possible FLOP count of a step, summed over all devices.
double least_step_flops(const TrainingCase& c) {
  Plan least = c.plan;
  least.attention_flops = AttentionFlops::causal_exact;
  const double batches = static_cast<double>(mul(micro_batches(c.plan, c.layout), replicas(c.layout)));
  return batches * static_cast<double>(training_flops(c.arch, least, c.layout, c.cluster()).model_total.value);
}

// ---- Memory

void check_most(const std::string& where, std::string_view key, double bytes, const HardwareCard& card, Count parts) {
  const double all = static_cast<double>(parts) * static_cast<double>(card.cluster.device.memory.value);
  if (bytes > most_of_memory * all)
    refuse_measured(where, key,
                    fmt::format("{:.4g} GiB exceeds the {:.4g} GiB of {} {}; specify the memory of one device, or a "
                                "device with more memory",
                                bytes / 0x1p30, all / 0x1p30, parts, card.title));
}

void check_room(const std::string& where, std::string_view key, double bytes, const HardwareCard& card, Count parts) {
  if (bytes < 0x1p20)
    refuse_measured(
        where, key,
        fmt::format("{:.4g} bytes is less than 1 MiB, too little for any run; give the value in the unit of its key",
                    bytes));
  check_most(where, key, bytes, card, parts);
}

// ---- Inference figures

/// Maximum bandwidth for a figure: the total of the layout's devices, divided by the row's device count for a
/// per-device figure.
BytesPerSecond most_bandwidth(const InferenceCase& c, const Figure& f) {
  const double all = static_cast<double>(devices(c.layout));
  const bool of_one = figure_key(f.key)->share == Share::device;
  return (of_one ? all / static_cast<double>(c.head.gpus) : all) * c.cluster().device.bandwidth;
}

void check_bandwidth(const InferenceCase& c, const Figure& f) {
  const double most = most_bandwidth(c, f).value;
  const bool cached = weights_bytes(c.arch, c.plan, c.layout) <= c.cluster().device.cache;
  if (f.value <= most || cached) return;
  refuse_measured(c.head.where, f.key,
                  fmt::format("{:.5g} GB/s exceeds the {:.5g} GB/s of {}; specify bytes read per second in GB",
                              f.value / 1e9, most / 1e9, c.on.hardware.title));
}

// ---- Times and rates beyond any device

/// Maximum ratio of a figure to its value at datasheet rates. With speculative decoding or cached prompts, which rows
/// do not always mention, tokens are generated several times faster than the counted work suggests.
constexpr double beyond_datasheet = 10;
/// Shortest plausible time: an empty kernel takes a few microseconds.
constexpr double shortest_seconds = 1e-6;
/// FLOP/s that no device has reached so far, for devices without a preset.
constexpr double fastest_device = 1e18;

bool is_time_figure(FigureKind q) {
  return q == FigureKind::time_per_token || q == FigureKind::decode_step || q == FigureKind::decode_time ||
         q == FigureKind::first_token || q == FigureKind::prefill_time || q == FigureKind::whole_time ||
         q == FigureKind::layer_time;
}
bool is_token_rate(FigureKind q) { return q >= FigureKind::output_rate && q <= FigureKind::peak_output_rate; }

[[noreturn]] void refuse_pace(const InferenceCase& c, const Figure& f, const std::string& bound) {
  refuse_measured(
      c.head.where, f.key,
      fmt::format("{:.4g} is beyond the limit of {}; check its unit, the batch, the lengths and the devices",
                  f.value / f.unit, bound));
}

/// Value of the figure at datasheet rates. Times are for a single request.
std::optional<double> datasheet_bound(InferenceCase c, const Figure& f) {
  c.kind = BatchKind::fixed;
  if (c.prompt_pool) c.prompt = static_cast<double>(c.plan.prompt = 1);  // other engines run the prompts
  if (is_time_figure(f.quantity)) c.batch = 1;
  if (is_time_figure(f.quantity)) c.plan.batch = 1;
  return InferenceTimes(c, inference_stack(c), c.cluster()).figure(f);
}

void check_against_datasheet(const InferenceCase& c, const Figure& f) {
  const std::optional<double> bound = datasheet_bound(c, f);
  if (!bound) return;
  const double beyond = is_time_figure(f.quantity) ? *bound / f.value : f.value / *bound;
  if (beyond <= beyond_datasheet) return;
  refuse_pace(c, f,
              fmt::format("{} {} according to {} datasheet, {:.3g}, by a factor of {:.3g}", devices(c.layout),
                          c.on.hardware.title, devices(c.layout) == 1 ? "its" : "their", *bound / f.unit, beyond));
}

/// Upper bound on tokens per second, as if all devices ran only the matmuls with the active weights.
double most_tokens_per_second(const InferenceCase& c) {
  double peak = fastest_device;
  if (c.on.preset) {
    peak = 0;
    for (const FlopsPerSecond& p : c.cluster().device.peaks) peak = std::max(peak, p.value);
  }
  return static_cast<double>(devices(c.layout)) * peak / (2 * static_cast<double>(parameters(c.arch).matmul_active));
}

void check_pace(const InferenceCase& c, const Figure& f) {
  if (is_time_figure(f.quantity) && f.value < shortest_seconds)
    refuse_pace(c, f, "any device: a single kernel takes more than a microsecond");
  if (is_token_rate(f.quantity) && f.value > beyond_datasheet * most_tokens_per_second(c))
    refuse_pace(c, f,
                fmt::format("{} {} for matmuls in a second, {:.3g} tokens", devices(c.layout), c.on.hardware.title,
                            most_tokens_per_second(c) / f.unit));
  if (c.on.preset && !c.work_assumed && f.doubt.empty()) check_against_datasheet(c, f);
}

/// Rejects a cache with more tokens than fit in the memory of all devices.
void check_cache(const InferenceCase& c, const Figure& f) {
  const double number = bits_per_weight(c.plan.kv_precision.keys) / 8;
  const double token = number * static_cast<double>(cache_elements_per_token(c.arch));
  const double most = static_cast<double>(devices(c.layout)) * static_cast<double>(c.cluster().device.memory.value);
  if (token <= 0 || f.value <= beyond_datasheet * most / token) return;
  refuse_measured(
      c.head.where, f.key,
      fmt::format(
          "a cache of {:.3g} tokens exceeds the {:.4g} GiB of {} {}, which fit {:.3g}; check its unit and the devices",
          f.value, most / 0x1p30, devices(c.layout), c.on.hardware.title, most / token));
}

}  // namespace

double least_utilization(const TrainingCase& c) {
  const double peak = c.cluster().device.peak(c.plan.precision).value;
  if (!c.step || !c.on.preset || peak <= 0) return 0;
  return least_step_flops(c) / (c.step->value * peak * static_cast<double>(c.head.gpus));
}

void check_step(const TrainingCase& c) {
  if (!c.step) return;
  const double utilization = least_utilization(c);
  if (utilization <= 1) return;
  refuse_measured(c.head.where, c.measured_as,
                  fmt::format("it implies an MFU of {:.3g}, above 1: a step of {:.3g} s exceeds the peak rate of {} {} "
                              "in {}; check its unit, the batch and the devices",
                              utilization, c.step->value, c.head.gpus, c.on.hardware.title, c.plan.precision.name()));
}

void check_memories(const TrainingCase& c) {
  for (const MeasuredMemory& m : c.memory) check_room(c.head.where, m.key, m.bytes, c.on.hardware, 1);
}

void check_figure(const InferenceCase& c, const Figure& f) {
  if (f.quantity == FigureKind::bandwidth) check_bandwidth(c, f);
  if (f.quantity == FigureKind::memory) check_room(c.head.where, f.key, f.value, c.on.hardware, f.devices);
  if (f.quantity == FigureKind::cache_tokens) check_cache(c, f);
  if (f.quantity > FigureKind::memory && f.quantity <= FigureKind::graph_memory)
    check_most(c.head.where, f.key, f.value, c.on.hardware, devices(c.layout));
  if (c.kind == BatchKind::capacity) return;
  if (f.value > 0) check_pace(c, f);
}

}  // namespace llmcalc
