#include "report/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "presets/load.hpp"
#include "presets/weight_formats.hpp"
#include "text/error.hpp"
#include "text/names.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {

using Text = std::string_view;

[[noreturn]] void refuse(Text where, const std::string& expected, Text text) {
  throw InputError(fmt::format("{}: expected {}, got {}", where, expected, in_quotes(text)));
}

// ---- Readers of values

template <Named E>
E read_choice(Text text, Text where) {
  if (const auto value = parse<E>(text)) return *value;
  refuse(where, one_of(choice_names<E>), text);
}

/// "fp32" or "on" is true, its counterpart false.
bool read_either(Text text, Text where, Text yes, Text no) {
  if (!same_spelling(text, yes) && !same_spelling(text, no)) refuse(where, fmt::format("{} or {}", yes, no), text);
  return same_spelling(text, yes);
}
bool read_master(Text text, Text where) { return read_either(text, where, "fp32", "none"); }
bool read_switch(Text text, Text where) { return read_either(text, where, "on", "off"); }

std::string nearest_format(Text text) {
  std::vector<std::string> known;
  for (const Format& f : formats) known.emplace_back(f.name);
  const std::vector<std::string> near = nearest(text, known, 1);
  return near.empty() ? "" : fmt::format(", did you mean {}?", near[0]);
}

DType read_stored(Text text, Text where) {
  if (const std::optional<DType> t = dtype(lower(text))) return *t;
  constexpr std::array mixes{"_s", "_m", "_l"};  // of GGUF's files, in which some tensors have a larger format
  for (const Text ending : mixes)
    if (lower(text).ends_with(ending))
      if (const std::optional<DType> t = dtype(lower(text.substr(0, text.size() - ending.size()))))
        throw InputError(fmt::format("{}: {} is a mix of formats; give {}, its smallest, for a lower bound", where,
                                     in_quotes(text), t->name()));
  throw InputError(fmt::format("{}: expected a number format ('llmcalc list dtypes' shows them), got {}{}", where,
                               in_quotes(text), nearest_format(text)));
}

DType read_plain(Text text, Text where) {
  const DType t = read_stored(text, where);
  if (!t.plain())
    throw InputError(
        fmt::format("{}: expected a format without blocks (bf16, fp8, fp32), got {}; --weight-precision and "
                    "--kv-precision take it",
                    where, in_quotes(text)));
  return t;
}

/// A format that a device can multiply in.
DType read_compute(Text text, Text where) {
  const DType t = read_plain(text, where);
  if (t.format().peak == Peak::none)
    throw InputError(fmt::format("{}: expected a format that devices multiply in, got {}", where, in_quotes(text)));
  return t;
}

Count read_gradient_bytes(Text text, Text where) {
  if (text != "2" && text != "4") refuse(where, "2 or 4 bytes per gradient", text);
  return text == "2" ? 2 : 4;
}

LogitStore read_logits(Text text, Text where) {
  constexpr Text chunked = "chunked:";
  if (same_spelling(text, "fp32")) return {};
  if (same_spelling(text, "compute")) return {.format = LogitFormat::compute};
  if (same_spelling(text, "bf16+grad")) return {.format = LogitFormat::with_gradient};
  if (text.starts_with(chunked)) return {.chunks = parse_positive(text.substr(chunked.size()), where)};
  refuse(where, "fp32, compute, bf16+grad or chunked:N", text);
}

double read_price(Text text, Text where) { return parse_price(text, where, Bare::allowed); }
double read_watts(Text text, Text where) { return parse_watts(text, where, Bare::allowed); }

double read_pue(Text text, Text where) {
  const double x = parse_real(text, where);
  if (x < 1) refuse(where, "a number of at least 1, which is what its machines draw", text);
  return x;
}

/// A degree of parallelism that the engine does not have yet: 1 is fine.
void read_unsupported(Text text, Text where, Count neutral, Text what) {
  if (parse_count(text, where) != neutral)
    throw InputError(
        fmt::format("{}: {} is not supported yet; leave it at {} (tensor and sequence parallelism are: --tp, --sp)",
                    where, what, neutral));
}

// ---- Where a value lies in a request

template <typename R, typename T>
auto& in(R& r, T Plan::*member) {
  return r.plan.*member;
}
template <typename R, typename T>
auto& in(R& r, T Layout::*member) {
  return r.layout.*member;
}
template <typename R, typename T>
auto& in(R& r, T RunInputs::*member) {
  return r.run.*member;
}
template <typename R, typename T>
auto& in(R& r, T Request::*member) {
  return r.*member;
}

json::Value shown(DType t) { return std::string(t.name()); }
/// A format's name, or one by component.
json::Value shown(const WeightFormats& w) { return w.uniform() ? shown(w[Component::mlp]) : weight_formats_json(w); }
json::Value shown(const LogitStore& l) {
  if (l.format == LogitFormat::compute) return "compute";
  if (l.format == LogitFormat::with_gradient) return "bf16+grad";
  return l.chunks > 1 ? fmt::format("chunked:{}", l.chunks) : "fp32";
}
template <typename T>
json::Value shown(const T& value) {
  if constexpr (Named<T>)
    return std::string(name(value));
  else
    return value;
}
template <typename T>
json::Value shown(const std::optional<T>& value) {
  return value ? shown(*value) : json::Value();
}

template <auto member>
json::Value show(const Request& r) {
  return shown(in(r, member));
}

template <auto member, auto read>
constexpr Field value{[](Request& r, Text text, Text where) { in(r, member) = read(text, where); }, show<member>};

template <auto member, bool to = true>
constexpr Field flag{[](Request& r, Text, Text) { in(r, member) = to; }, show<member>};

/// Shown where it is given.
template <auto member>
constexpr Field mark{[](Request& r, Text, Text) { in(r, member) = true; },
                     [](const Request& r) { return r.*member ? json::Value(true) : json::Value(); }};

template <Named E, E Plan::*member>
constexpr Field choice = value<member, read_choice<E>>;

// ---- Fields of their own kind

constexpr Field device{[](Request& r, Text text, Text) { r.hardware = load_hardware(std::string(text)); },
                       [](const Request&) { return json::Value(); }};
constexpr Field master{value<&Plan::master, read_master>.read,
                       [](const Request& r) { return json::Value(r.plan.master ? "fp32" : "none"); }};
constexpr Field gpus{value<&Request::gpus, parse_positive>.read,
                     [](const Request& r) { return json::Value(devices(r.layout)); }};
constexpr Field efficiency{
    value<&Plan::efficiency, parse_fraction>.read, [](const Request& r) {
      const auto measured = [&] {
        return r.hardware ? Device::of(r.hardware->cluster.device.achieved.matmul, r.plan.precision) : 1;
      };
      return json::Value(r.plan.efficiency ? *r.plan.efficiency : measured());
    }};
constexpr Field memory_efficiency{value<&Plan::memory_efficiency, parse_fraction>.read, [](const Request& r) {
                                    const double measured = r.hardware ? r.hardware->cluster.device.achieved.memory : 1;
                                    return json::Value(r.plan.memory_efficiency.value_or(measured));
                                  }};
constexpr Field mla{choice<Mla, &Plan::mla>.read, [](const Request& r) {
                      const bool has = r.model.arch.attention == AttentionKind::latent;
                      return has ? shown(r.plan.mla) : json::Value();
                    }};
constexpr Field pue{value<&RunInputs::pue, read_pue>.read,
                    [](const Request& r) { return r.run.watts ? json::Value(r.run.pue) : json::Value(); }};

constexpr auto one = [](const Request&) { return json::Value(1); };
constexpr Field cp{[](Request&, Text t, Text w) { read_unsupported(t, w, 1, "context parallelism"); }, one};
constexpr Field pp{[](Request&, Text t, Text w) { read_unsupported(t, w, 1, "pipeline parallelism"); }, one};
constexpr Field ep{[](Request&, Text t, Text w) { read_unsupported(t, w, 1, "expert parallelism"); }, one};
constexpr Field dp{[](Request&, Text t, Text w) { read_unsupported(t, w, 1, "data parallelism"); }, one};
constexpr Field zero{[](Request&, Text t, Text w) { read_unsupported(t, w, 0, "ZeRO sharding"); },
                     [](const Request&) { return json::Value(0); }};

// ---- The table

/// Parts of a report go by their short names here; elsewhere these would clash.
namespace option_tables {
using namespace part;
constexpr Parts both = training | inference;
constexpr bool common = true;

constexpr std::array rank_options{
    Option{"--hardware", "HW", "a hardware preset or file", common, part::hardware, "", "", device},
    Option{"--gpus", "N", "GPUs of the run: groups of --tp side by side [--tp]", common, run, "", "", gpus},
    Option{"--tp", "N", "tensor-parallel ranks; must divide the heads [1]", common, both, "", "",
           value<&Layout::tp, parse_positive>},
    Option{"--sp", "", "sequence parallelism over the tensor-parallel ranks [off]", common, both, "", "",
           flag<&Layout::sp>},
    Option{"--cp", "N", "context-parallel ranks; not supported yet [1]", !common, both, "", "", cp},
    Option{"--pp", "N", "pipeline ranks; not supported yet [1]", !common, both, "", "", pp},
    Option{"--ep", "N", "expert-parallel ranks; not supported yet [1]", !common, both, "", "", ep},
    Option{"--dp", "N", "data-parallel ranks; not supported yet [1]", !common, both, "", "", dp},
    Option{"--zero", "0..3", "ZeRO stage; not supported yet [0]", !common, training, "", "", zero},
};
constexpr std::array training_options{
    Option{"--seq", "N", "tokens per sequence [the model's context, at most 8192]", common, training | formulas, "",
           "--prompt", value<&Plan::seq, parse_positive>},
    Option{"--micro-batch", "N", "sequences per micro-batch [1]", common, training | formulas, "", "--batch",
           value<&Plan::micro_batch, parse_positive>},
    Option{"--global-batch", "N", "sequences per optimizer step, all GPUs together [one micro-batch per replica]",
           common, step, "", "--batch", value<&Plan::global_batch, parse_positive>},
    Option{"--recompute", choice_names<Recompute>,
           "what runs again in backward: nothing, the attention core, every block [none]", common, training | formulas,
           "", "", choice<Recompute, &Plan::recompute>},
    Option{"--optimizer", choice_names<Optimizer>, "the optimizer, by the state that it keeps [adam]", common, training,
           "", "", choice<Optimizer, &Plan::optimizer>},
    Option{"--master", "fp32|none", "float32 master copy of 16-bit weights [fp32]", !common, training, "", "", master},
    Option{"--state-precision", "F", "optimizer moments [fp32; without a master copy as --precision]", !common,
           training, "", "", value<&Plan::state_precision, read_plain>},
    Option{"--gradient-bytes", "2|4", "bytes per gradient [4]", !common, training, "", "",
           value<&Plan::gradient_bytes, read_gradient_bytes>},
    Option{"--dropout", "", "dropout on embedding, attention and residuals [off]", !common, training, "", "",
           flag<&Plan::dropout>},
    Option{"--softmax-store", choice_names<SoftmaxStore>, "what naive attention keeps [minimal]", !common, training, "",
           "", choice<SoftmaxStore, &Plan::softmax_store>},
    Option{"--glu-store", choice_names<GluStore>, "what a gated MLP keeps [all]", !common, training, "", "",
           choice<GluStore, &Plan::glu_store>},
    Option{"--norm-stats", "on|off", "keep the statistics of the norms [on]", !common, training, "", "",
           value<&Plan::norm_stats, read_switch>},
    Option{"--logits", "fp32|compute|bf16+grad|chunked:N",
           "logits during the loss: float32; as --precision; that with a float32 copy and gradient; N parts one after "
           "another [fp32]",
           !common, training, "", "", value<&Plan::logits, read_logits>},
};
constexpr std::array inference_options{
    Option{"--batch", "N", "sequences served at once [1]", common, inference, "", "--micro-batch",
           value<&Plan::batch, parse_positive>},
    Option{"--prompt", "N", "tokens of the prompt [2048, fewer where learned positions end]", common, inference, "",
           "--seq", value<&Plan::prompt, parse_positive>},
    Option{"--generate", "N", "tokens to generate [256]", common, inference, "", "--seq",
           value<&Plan::generate, parse_positive>},
    Option{"--kv-precision", "F", "KV cache: any of 'llmcalc list dtypes' [as --precision]", !common, inference, "", "",
           value<&Plan::kv_precision, read_stored>},
    Option{"--no-kv-cache", "", "run the whole sequence again for every token [cache on]", !common, inference, "", "",
           flag<&Plan::kv_cache, false>},
    Option{"--memory-utilization", "X", "fraction of the memory that may be filled [1]", !common, fit, "--hardware", "",
           value<&Plan::memory_utilization, parse_fraction>},
};
constexpr std::array kernel_options{
    Option{"--precision", "F", "compute and activations [bf16, else fp16, else fp32, as the hardware has it]", common,
           both, "", "", value<&Plan::precision, read_compute>},
    Option{"--weight-precision", "F", "weights: any of 'llmcalc list dtypes' [the checkpoint's, else as --precision]",
           common, both, "", "", value<&Plan::weight_precision, read_stored>},
    Option{"--attention", choice_names<AttentionImpl>, "how attention is computed [flash]", !common, both | formulas,
           "", "", choice<AttentionImpl, &Plan::attention>},
    Option{"--mla", choice_names<Mla>,
           "how latent attention is computed [auto: absorbed in decode, expanded in prefill]", !common, both | formulas,
           "", "", mla},
};
constexpr std::array time_options{
    Option{"--efficiency", "X", "achieved fraction of the matmul peak, for an estimate [none]", !common, time,
           "--hardware", "", efficiency},
    Option{"--memory-efficiency", "X", "achieved fraction of the memory bandwidth [none]", !common, time, "--hardware",
           "", memory_efficiency},
    Option{"--overlap", "X", "fraction of communication hidden behind compute [0]", !common, time, "--hardware", "",
           value<&Plan::overlap, parse_share>},
    Option{"--roofline", choice_names<Roofline>, "sum over operators, or the step as a whole [op]", !common, time,
           "--hardware", "", choice<Roofline, &Plan::roofline>},
    Option{"--attention-flops", choice_names<AttentionFlops>, "query-key pairs that count as work [full]", !common,
           model_flops, "", "", choice<AttentionFlops, &Plan::attention_flops>},
    Option{"--params-in-6n", choice_names<ParamsIn6N>, "which N stands in 6N [total]", !common, formulas, "", "",
           choice<ParamsIn6N, &Plan::params_in_6n>},
};
constexpr std::array run_options{
    Option{"--tokens", "D", "tokens of the whole run, for its FLOPs, days, energy and cost [none]", common,
           run | formulas, "", "", value<&RunInputs::tokens, parse_positive>},
    Option{"--price", "USD/h", "price of one GPU-hour [none]", common, run, "--tokens", "",
           value<&RunInputs::price, read_price>},
    Option{"--measured-tokens-per-s", "X", "measured throughput of all --gpus, for MFU [none]", !common, run,
           "--hardware", "", value<&RunInputs::measured_tokens_per_s, parse_positive_real>},
    Option{"--watts", "W", "power of one GPU [none]", !common, run, "--tokens", "",
           value<&RunInputs::watts, read_watts>},
    Option{"--pue", "X", "power of the data centre over that of its machines [1]", !common, run, "--watts", "", pue},
    Option{"--co2", "KG/KWH", "carbon of the grid [none]", !common, run, "--watts", "",
           value<&RunInputs::co2, parse_real>},
};
constexpr std::array output_options{
    Option{"--train", "", "training only", common, halves, "", "", mark<&Request::train>},
    Option{"--infer", "", "inference only", common, halves, "", "", mark<&Request::infer>},
    Option{"--ops", "", "also one line per operator", common, operators, "", "", mark<&Request::ops>},
    Option{"--json", "", "one JSON object in base units, the unit in the key", common, part::json},
    Option{"--markdown", "", "tables in Markdown", common, markdown},
    Option{"--exact", "", "every digit too, in text and Markdown; JSON always has them", common, exact},
    Option{"--help", "", "the options that people use most", common, help},
    Option{"--help-all", "", "all options", common, help},
};
constexpr std::array all_topics{
    Topic{"Hardware and ranks", rank_options},
    Topic{"Training", training_options},
    Topic{"Inference", inference_options},
    Topic{"Number formats and kernels", kernel_options},
    Topic{"Estimates and conventions", time_options},
    Topic{"The whole run", run_options},
    Topic{"Output", output_options},
};
}  // namespace option_tables

std::vector<Option> flattened() {
  std::vector<Option> all;
  for (const Topic& t : option_tables::all_topics) all.insert(all.end(), t.options.begin(), t.options.end());
  return all;
}

}  // namespace

std::string Option::key() const {
  std::string k(flag.substr(flag.starts_with("--no-") ? 5 : 2));
  std::replace(k.begin(), k.end(), '-', '_');
  return k;
}

std::span<const Topic> topics() { return option_tables::all_topics; }

std::span<const Option> options() {
  static const std::vector<Option> all = flattened();
  return all;
}

const Option* find_option(std::string_view flag) {
  for (const Option& o : options())
    if (o.flag == flag) return &o;
  return nullptr;
}

void give(Request& r, const Option& o, std::string_view text) {
  o.field.read(r, text, o.flag);
  r.given.push_back(o.flag);
}

json::Value inputs_json(const Request& r) {
  json::Value v;
  for (const Option& o : options()) {
    if ((o.parts & r.parts) == 0 || o.field.effective == nullptr) continue;
    if (json::Value effective = o.field.effective(r); !effective.is_null()) v[o.key()] = std::move(effective);
  }
  return v;
}

}  // namespace llmcalc
