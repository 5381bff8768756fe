#include "ask/request/options/option_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "text/quantity.hpp"

namespace llmcalc {

using Text = std::string_view;

void refuse_value(Text where, const std::string& expected, Text text) {
  throw InputError(fmt::format("{}: expected {}, got {}", where, expected, in_quotes(text)));
}

namespace {

/// Reads the text `yes` as true and `no` as false.
bool read_either(Text text, Text where, Text yes, Text no) {
  if (!same_spelling(text, yes) && !same_spelling(text, no))
    refuse_value(where, fmt::format("{} or {}", yes, no), text);
  return same_spelling(text, yes);
}
std::string nearest_format(Text text) {
  std::vector<std::string> known;
  for (const Format& f : formats) known.emplace_back(f.name);
  const std::vector<std::string> near = nearest(text, known, 1);
  return near.empty() ? "" : fmt::format(", did you mean {}?", near[0]);
}

std::string_view axis_name(Axis a) {
  constexpr std::array names{Text("tp"), Text("cp"), Text("ep"), Text("dp"), Text("pp")};
  return names[static_cast<std::size_t>(a)];
}

}  // namespace

bool read_master(Text text, Text where) { return read_either(text, where, "fp32", "none"); }
bool read_switch(Text text, Text where) { return read_either(text, where, "on", "off"); }

DType read_stored(Text text, Text where) {
  if (const std::optional<DType> t = dtype(lower(text))) return *t;
  constexpr std::array mixes{"_s", "_m", "_l"};  // suffixes of GGUF types with some tensors in a larger format
  for (const Text ending : mixes)
    if (lower(text).ends_with(ending))
      if (const std::optional<DType> t = dtype(lower(text.substr(0, text.size() - ending.size()))))
        throw InputError(fmt::format("{}: {} is a mix of formats; pass {}, its smallest, for a lower bound", where,
                                     in_quotes(text), t->name()));
  throw InputError(fmt::format("{}: expected a number format ('llmcalc list dtypes' shows them), got {}{}", where,
                               in_quotes(text), nearest_format(text)));
}

CacheFormats read_cache(Text text, Text where) {
  if (text.find('=') == Text::npos) return read_stored(text, where);
  const std::size_t comma = text.find(',');
  const Text first = text.substr(0, comma), second = comma == Text::npos ? Text() : text.substr(comma + 1);
  const bool keys_first = first.starts_with("k=");
  const Text keys = keys_first ? first : second, values = keys_first ? second : first;
  if (!keys.starts_with("k=") || !values.starts_with("v="))
    refuse_value(where, "one format, or k=FORMAT,v=FORMAT", text);
  return {read_stored(keys.substr(2), where), read_stored(values.substr(2), where)};
}

std::string cache_text(const CacheFormats& f) {
  if (f.uniform()) return std::string(f.keys.name());
  return fmt::format("k={},v={}", f.keys.name(), f.values.name());
}

DType read_plain(Text text, Text where) {
  const DType t = read_stored(text, where);
  if (!t.plain())
    throw InputError(
        fmt::format("{}: expected a format without blocks (bf16, fp8, fp32), got {}; --weight-precision and "
                    "--kv-precision accept it",
                    where, in_quotes(text)));
  return t;
}

/// Reads a format in which devices run matmuls.
DType read_compute(Text text, Text where) {
  const DType t = read_stored(text, where);
  if (!is_operand_format(t.format()))
    throw InputError(
        fmt::format("{}: expected a compute format (bf16, fp8, fp8-block, mxfp8, nvfp4), got {}; "
                    "--weight-precision and --kv-precision accept it",
                    where, in_quotes(text)));
  return t;
}

Count read_gradient_bytes(Text text, Text where) {
  if (text != "2" && text != "4" && text != "6") refuse_value(where, "2, 4 or 6 bytes per gradient", text);
  return text[0] - '0';
}

LogitStore read_logits(Text text, Text where) {
  constexpr Text chunked = "chunked:", copies = "bytes:";
  if (same_spelling(text, "fp32")) return {};
  if (same_spelling(text, "compute")) return {.format = LogitFormat::compute};
  if (same_spelling(text, "bf16+grad")) return {.format = LogitFormat::with_gradient};
  constexpr Text tokens = " tokens";
  if (text.starts_with(chunked) && text.ends_with(tokens)) {
    const Text number = text.substr(chunked.size(), text.size() - chunked.size() - tokens.size());
    return {.chunk_tokens = parse_positive(number, where)};
  }
  if (text.starts_with(chunked)) return {.chunks = parse_positive(text.substr(chunked.size()), where)};
  if (text.starts_with(copies))
    return {.format = LogitFormat::copies, .bytes = parse_positive(text.substr(copies.size()), where)};
  refuse_value(where, "fp32, compute, bf16+grad, chunked:N or bytes:N", text);
}

Recomputation read_recomputation(Text text, Text where) {
  const std::size_t colon = text.find(':');
  if (colon == Text::npos) {
    if (const auto what = parse<Recompute>(text)) return {.what = *what};
    refuse_value(where, one_of(recomputation_forms), text);
  }
  const Text kind = text.substr(0, colon), rest = text.substr(colon + 1);
  if (kind == name(Recompute::selective))
    return {.what = Recompute::selective, .modules = read_set<RecomputeModule>(rest, where)};
  if (const auto method = parse<RecomputeMethod>(kind))
    return {.what = Recompute::full, .method = *method, .layers = parse_positive(rest, where)};
  refuse_value(where, one_of(recomputation_forms), text);
}

std::string recomputation_text(const Plan& p) {
  if (p.recompute == Recompute::selective && p.recompute_modules != RecomputeModule::core)
    return "selective:" + set_text(p.recompute_modules);
  if (recomputes_block(p) || recomputes_groups(p))
    return std::string(name(p.recompute_method)) + ":" + std::to_string(p.recompute_layers);
  return std::string(name(p.recompute));
}

namespace {
using ParseLength = Count (*)(Text text, Text where);

DocumentRun read_run(Text text, Text where, ParseLength length) {
  const std::size_t times = text.find('x');
  if (times == Text::npos) return {1, length(text, where)};
  return {parse_positive(text.substr(0, times), where), length(text.substr(times + 1), where)};
}
}  // namespace

Documents read_documents(Text text, Text where) {
  Documents all;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find(',', from), text.size());
    if (all.size() == Documents::capacity)
      throw InputError(
          fmt::format("{}: expected at most {} lengths, but {} has more; combine equal lengths, for example 4x512",
                      where, Documents::capacity, in_quotes(text)));
    all.push(read_run(text.substr(from, end - from), where, parse_positive));
    from = end + 1;
  }
  return all;
}

std::string documents_text(const Documents& documents) {
  std::string all;
  for (const DocumentRun& d : documents)
    all += fmt::format("{}{}{}", all.empty() ? "" : ",", d.count > 1 ? fmt::format("{}x", d.count) : "", d.length);
  return all;
}

Count tokens_in(const Documents& documents) {
  Count all = 0;
  for (const DocumentRun& d : documents) all = add(all, mul(d.count, d.length));
  return all;
}

LoraText read_lora(Text text, Text where) {
  const std::size_t colon = text.find(':');
  LoraText lora{.rank = parse_positive(text.substr(0, colon), where)};
  if (colon != Text::npos) lora.targets = read_set<LoraTarget>(text.substr(colon + 1), where);
  return lora;
}

std::string lora_text(Count rank, LoraTargets targets) {
  const std::string text = std::to_string(rank);
  return targets == LoraTargets::all() ? text : text + ":" + set_text(targets);
}

namespace {
constexpr Text layers_prefix = "layers:";

/// Adds the layers in "0-15" or "7" to a set.
void add_layers(Text text, Text where, LayerSet& to) {
  const std::size_t dash = text.find('-');
  const Count first = parse_count(text.substr(0, dash), where);
  const Count last = dash == Text::npos ? first : parse_count(text.substr(dash + 1), where);
  if (last < first) refuse_value(where, "layers in ascending order (layers:0-15)", text);
  if (last >= max_layers)
    throw InputError(fmt::format("{}: layer {} exceeds the maximum of {} layers", where, last, max_layers));
  for (Count i = first; i <= last; ++i) to.insert(i);
}
}  // namespace

/// Parses "attention,norm,layers:0-15".
Frozen read_freeze(Text text, Text where) {
  Frozen f;
  while (true) {
    const std::size_t comma = text.find(',');
    const Text one = text.substr(0, comma);
    if (one.starts_with(layers_prefix))
      add_layers(one.substr(layers_prefix.size()), where, f.layers);
    else if (const auto part = parse<FreezePart>(one))
      f.parts.add(*part);
    else
      refuse_value(where, one_of(std::string(choice_names<FreezePart>) + "|layers:A-B") + ", separated by ','", one);
    if (comma == Text::npos) return f;
    text.remove_prefix(comma + 1);
  }
}

std::string freeze_text(const Frozen& f) {
  std::string s = set_text(f.parts);
  for (Count i = 0; i < max_layers; ++i) {
    if (!f.layers.contains(i)) continue;
    Count last = i;
    while (last + 1 < max_layers && f.layers.contains(last + 1)) ++last;
    s += (s.empty() ? "" : ",") + std::string(layers_prefix) + std::to_string(i);
    if (last > i) s += "-" + std::to_string(last);
    i = last;
  }
  return s;
}

double read_price(Text text, Text where) { return parse_price(text, where, Bare::allowed); }
double read_watts(Text text, Text where) { return parse_watts(text, where, Bare::allowed); }

Bytes read_size(Text text, Text where) {
  const Bytes size = parse_bytes(text, where, Bare::allowed);
  if (size == Bytes()) refuse_value(where, "a size above 0, for example 64GiB", text);
  return size;
}

BytesPerSecond read_storage(Text text, Text where) { return parse_rate(text, where, Bare::allowed); }

bool read_dispatcher(Text text, Text where) {
  const bool once = same_spelling(text, "flex");
  if (!once && !same_spelling(text, "alltoall")) refuse_value(where, "alltoall or flex", text);
  return once;
}

double read_pue(Text text, Text where) {
  const double x = parse_real(text, where);
  if (x < 1) refuse_value(where, "a number of at least 1 (data center power divided by machine power)", text);
  return x;
}

Zero read_zero(Text text, Text where) {
  constexpr std::array stages{Text("0"), Text("1"), Text("2"), Text("3")};
  const auto at = std::find(stages.begin(), stages.end(), text);
  if (at == stages.end()) refuse_value(where, "a ZeRO stage: 0, 1, 2 or 3", text);
  return static_cast<Zero>(at - stages.begin());
}

/// Parses "1.25", a ratio of at least 1, into thousandths.
Ratio read_load(Text text, Text where) {
  const double x = parse_real(text, where);
  if (x < 1 || x > 1000) refuse_value(where, "a number from 1 (balanced) to 1000", text);
  const Count thousandths = std::llround(1000 * x), common = std::gcd(thousandths, Count{1000});
  return {thousandths / common, 1000 / common};
}

std::string order_text(const AxisOrder& order) {
  std::string s;
  for (const Axis a : order) s += (s.empty() ? "" : "-") + std::string(axis_name(a));
  return s;
}
/// Parses "tp-cp-ep-dp-pp": all five axes, each once.
AxisOrder read_order(Text text, Text where) {
  AxisOrder order = usual_order;
  std::sort(order.begin(), order.end());
  do
    if (same_spelling(text, order_text(order))) return order;
  while (std::next_permutation(order.begin(), order.end()));
  refuse_value(where, "tp, cp, ep, dp and pp, each once, separated by '-', neighboring GPUs first (tp-cp-ep-dp-pp)",
               text);
}

/// Parses "8,8,7,9": the number of layers in each chunk.
StageLayers read_stage_layers(Text text, Text where) {
  StageLayers all;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const DocumentRun run = read_run(text.substr(at, comma - at), where, parse_count);
    if (run.count > static_cast<Count>(StageLayers::capacity - all.size()))
      throw InputError(fmt::format("{}: expected at most {} chunks of layers", where, StageLayers::capacity));
    for (Count i = 0; i < run.count; ++i) all.push(run.length);
    at = comma + 1;
  }
  return all;
}

std::string stage_layers_text(std::span<const Count> layers) {
  std::string all;
  for (std::size_t i = 0, next = 0; i < layers.size(); i = next) {
    while (next < layers.size() && layers[next] == layers[i]) ++next;
    all += fmt::format("{}{}{}", i == 0 ? "" : ",", next - i > 1 ? fmt::format("{}x", next - i) : "", layers[i]);
  }
  return all;
}

}  // namespace llmcalc
