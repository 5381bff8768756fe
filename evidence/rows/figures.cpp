#include "evidence/rows/figures.hpp"

#include <algorithm>
#include <cmath>

#include "calc/parameters.hpp"

namespace llmcalc {

namespace {

/// Underlying quantity of a figure. Figures that share it can be computed from each other.
enum class Heart { decode, prefill, whole, cache, none };

Heart heart_of(FigureKind q, BatchKind kind) {
  switch (q) {
    case FigureKind::decode_rate:
    case FigureKind::decode_step:
    case FigureKind::decode_time:
    case FigureKind::bandwidth:
      return Heart::decode;
    case FigureKind::time_per_token:
    case FigureKind::user_rate:
      return kind == BatchKind::fixed ? Heart::decode : Heart::none;
    case FigureKind::prefill_rate:
    case FigureKind::prefill_time:
      return Heart::prefill;
    case FigureKind::first_token:
      return kind == BatchKind::fixed ? Heart::prefill : Heart::none;
    case FigureKind::output_rate:
    case FigureKind::total_rate:
    case FigureKind::whole_time:
      return Heart::whole;
    case FigureKind::cache_tokens:
      return Heart::cache;
    default:
      return Heart::none;
  }
}

/// Whether an output rate is merely the batch size divided by the time per token, as in some sources; such a rate
/// excludes prompts.
bool is_time_per_token(const Figure& rate, const std::vector<Figure>& before, double batch) {
  return rate.quantity == FigureKind::output_rate && std::any_of(before.begin(), before.end(), [&](const Figure& f) {
           return f.quantity == FigureKind::time_per_token && std::fabs(rate.value * f.value / batch - 1) < 0.005;
         });
}

bool repeats_another(const Figure& f, const std::vector<Figure>& before, const InferenceCase& c) {
  if (f.quantity == FigureKind::utilization || f.quantity == FigureKind::bandwidth) return !before.empty();
  const Heart heart = heart_of(f.quantity, c.kind);
  const bool same = heart != Heart::none && std::any_of(before.begin(), before.end(), [&](const Figure& other) {
                      return heart_of(other.quantity, c.kind) == heart;
                    });
  return same || is_time_per_token(f, before, c.batch);
}

bool is_of_decoding(FigureKind q) {
  return q == FigureKind::time_per_token || q == FigureKind::user_rate || q == FigureKind::decode_step ||
         q == FigureKind::decode_time || q == FigureKind::decode_rate || q == FigureKind::bandwidth ||
         q == FigureKind::layer_time;
}

std::optional<double> context_of(FigureKind q, const InferenceCase& c) {
  if (q == FigureKind::decode_rate_first) return 64;  // 128 tokens from an empty cache
  if (q == FigureKind::decode_rate_last) return c.prompt + c.generate / 2;
  if (!is_of_decoding(q)) return std::nullopt;
  if (c.decode_context) return c.decode_context;
  return c.cached + c.prompt + c.generate / 2;
}

/// Factor that converts a rate per device or per node to the rate of the whole run.
double devices_in_share(Share share, const InferenceCase& c, FigureKind q) {
  if (q == FigureKind::bandwidth || share == Share::all) return 1;
  return static_cast<double>(share == Share::device ? c.head.gpus : c.nodes);
}

/// Number of devices over which a memory figure is counted: all pipeline stages for memory in use, otherwise one.
Count devices_of(FigureKind q, const InferenceCase& c) {
  return q == FigureKind::memory ? ranks(c.layout, Group::pipeline) : 1;
}

/// Whether a source writes GB for 2^30 bytes, as is the case if the memory in units of 10^9 bytes would be smaller
/// than the weights.
bool is_binary(const Figure& f, double value, const InferenceCase& c) {
  const WeightFormats& w = c.plan.weight_precision;
  if (f.quantity != FigureKind::memory || f.unit != 1e9 || !w.uniform() || !w.plain()) return false;
  const double bytes = bits_per_weight(w[Component::mlp]) / 8 * static_cast<double>(parameters(c.arch).total);
  return value * 1e9 < bytes;
}

/// Whether GB means 2^30 bytes, as in SGLang's log of its cache pool (memory_pool.py).
bool is_binary_pool(const Figure& f, const InferenceCase& c) {
  return c.engine.name == "sglang" && (f.quantity == FigureKind::key_cache || f.quantity == FigureKind::value_cache);
}

}  // namespace

std::vector<Figure> figures_of(const MeasuredValues& measured, const InferenceCase& c) {
  std::vector<Figure> out;
  for (const auto& [name, value] : measured) {
    const FigureKey* key = figure_key(name);
    if (key == nullptr) continue;
    Figure f;
    f.key = name;
    f.said = value;
    f.quantity = key->quantity;
    f.unit = key->unit * devices_in_share(key->share, c, key->quantity);
    if (is_binary(f, value, c)) f.unit = 0x1p30;
    if (key->quantity == FigureKind::cache_tokens && name == "kv_blocks")
      f.unit *= static_cast<double>(c.limits.block_tokens);
    if (name == "requests_s") f.unit *= c.generate;
    if (name == "ms_per_token_per_batch_item") f.unit *= c.batch;
    if (is_binary_pool(f, c)) f.unit = 0x1p30;
    f.statistic = key->statistic;
    f.value = value * f.unit;
    f.context = context_of(f.quantity, c);
    if (f.value <= 0) f.doubt = "the value is not positive, so no relative error exists";
    f.devices = devices_of(f.quantity, c);
    f.repeats = repeats_another(f, out, c);
    out.push_back(std::move(f));
  }
  return out;
}

}  // namespace llmcalc
