#include "report/options.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "text/error.hpp"
#include "text/names.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {

template <typename T, std::size_t N>
struct Choices {
  std::array<std::pair<std::string_view, T>, N> all;

  T read(std::string_view text, std::string_view where) const {
    std::string known;
    for (const auto& [name, value] : all) {
      if (same_name(name, text)) return value;
      known += (known.empty() ? "" : ", ") + std::string(name);
    }
    throw InputError(fmt::format("{} {} is not known; it takes {}", where, in_quotes(text), known));
  }
  std::string_view name(T value) const {
    for (const auto& [n, v] : all)
      if (v == value) return n;
    return "";
  }
};
constexpr Choices<Optimizer, 6> optimizers{{{{"adam", Optimizer::adam},
                                             {"adam8bit", Optimizer::adam8bit},
                                             {"sgd", Optimizer::sgd},
                                             {"momentum", Optimizer::momentum},
                                             {"adafactor", Optimizer::adafactor},
                                             {"lion", Optimizer::lion}}}};
constexpr Choices<Recompute, 3> recomputes{
    {{{"none", Recompute::none}, {"selective", Recompute::selective}, {"full", Recompute::full}}}};
constexpr Choices<AttentionImpl, 2> attentions{{{{"naive", AttentionImpl::naive}, {"flash", AttentionImpl::flash}}}};
constexpr Choices<SoftmaxStore, 2> softmax_stores{{{{"seed", SoftmaxStore::seed}, {"minimal", SoftmaxStore::minimal}}}};
constexpr Choices<GluStore, 3> glu_stores{
    {{{"all", GluStore::all}, {"fused", GluStore::fused}, {"recompute", GluStore::recompute}}}};
constexpr Choices<AttentionFlops, 3> attention_conventions{{{{"full", AttentionFlops::full},
                                                             {"causal-half", AttentionFlops::causal_half},
                                                             {"causal-exact", AttentionFlops::causal_exact}}}};
constexpr Choices<ParamsIn6N, 4> params_in_6n{{{{"total", ParamsIn6N::total},
                                                {"non-embedding", ParamsIn6N::non_embedding},
                                                {"active", ParamsIn6N::active},
                                                {"matmul", ParamsIn6N::matmul}}}};
constexpr Choices<Roofline, 2> rooflines{{{{"op", Roofline::op}, {"step", Roofline::step}}}};
constexpr Choices<Mla, 3> mlas{{{{"auto", Mla::automatic}, {"absorbed", Mla::absorbed}, {"expanded", Mla::expanded}}}};
constexpr Choices<bool, 2> masters{{{{"fp32", true}, {"none", false}}}};
constexpr Choices<bool, 2> switches{{{{"on", true}, {"off", false}}}};

DType read_dtype(std::string_view text, std::string_view where, bool plain) {
  const std::optional<DType> t = dtype(lower(text));
  if (t && (!plain || t->plain())) return *t;
  if (t)
    throw InputError(
        fmt::format("{} {} stores blocks with scales; a plain format such as bf16, fp8 or fp32 is wanted "
                    "here, {} is for --weight-precision and --kv-precision",
                    where, text, text));
  throw InputError(
      fmt::format("{} {} is not a number format; 'llmcalc list dtypes' shows them", where, in_quotes(text)));
}

/// A format that a device can multiply in.
DType read_compute(std::string_view text, std::string_view where) {
  const DType t = read_dtype(text, where, true);
  if (t.format().peak == Peak::none)
    throw InputError(fmt::format("{} {} is a storage format; nothing multiplies in it", where, text));
  return t;
}

LogitStore read_logits(std::string_view text, std::string_view where) {
  if (same_name(text, "fp32")) return {};
  if (same_name(text, "compute")) return {.format = LogitFormat::compute};
  if (same_name(text, "bf16+grad")) return {.format = LogitFormat::with_gradient};
  constexpr std::string_view chunked = "chunked:";
  if (text.starts_with(chunked)) return {.chunks = parse_positive(text.substr(chunked.size()), where)};
  throw InputError(
      fmt::format("{} {} is not known; it takes fp32, compute, bf16+grad or chunked:N", where, in_quotes(text)));
}
std::string logits_name(const LogitStore& l) {
  if (l.format == LogitFormat::compute) return "compute";
  if (l.format == LogitFormat::with_gradient) return "bf16+grad";
  return l.chunks > 1 ? fmt::format("chunked:{}", l.chunks) : "fp32";
}

/// The degrees of parallelism that the engine does not have yet: 1 is fine.
void read_unsupported(std::string_view text, std::string_view where, Count neutral, std::string_view what) {
  if (parse_count(text, where) != neutral)
    throw InputError(
        fmt::format("{} {}: {} is not supported yet; leave it at {} (tensor and sequence parallelism are: "
                    "--tp, --sp)",
                    where, text, what, neutral));
}

template <typename T>
json::Value or_null(const std::optional<T>& v) {
  return v ? json::Value(*v) : json::Value();
}

using R = Request;
using Text = std::string_view;

constexpr unsigned both = for_training | for_inference;
constexpr unsigned train_all = for_training;

using Options = std::vector<Option>;

Options batch_options() {
  return {
      {"--seq", "seq", "N", for_training | for_flops, "tokens per sequence [the model's context, at most 8192]",
       [](R& r, Given& g, Text t, Text w) { r.plan.seq = parse_positive(t, w), g.seq = true; },
       [](const R& r) { return json::Value(r.plan.seq); }},
      {"--micro-batch", "micro_batch", "N", for_training | for_flops, "sequences per micro-batch [1]",
       [](R& r, Given&, Text t, Text w) { r.plan.micro_batch = parse_positive(t, w); },
       [](const R& r) { return json::Value(r.plan.micro_batch); }},
      {"--global-batch", "global_batch", "N", for_training,
       "sequences per optimizer step, all GPUs together [one micro-batch per replica]",
       [](R& r, Given& g, Text t, Text w) { r.plan.global_batch = parse_positive(t, w), g.global_batch = true; },
       [](const R& r) { return json::Value(r.plan.global_batch); }},
      {"--batch", "batch", "N", for_inference, "sequences served at once [1]",
       [](R& r, Given&, Text t, Text w) { r.plan.batch = parse_positive(t, w); },
       [](const R& r) { return json::Value(r.plan.batch); }},
      {"--prompt", "prompt", "N", for_inference, "tokens of the prompt [2048, fewer where learned positions end]",
       [](R& r, Given& g, Text t, Text w) { r.plan.prompt = parse_positive(t, w), g.prompt = true; },
       [](const R& r) { return json::Value(r.plan.prompt); }},
      {"--generate", "generate", "N", for_inference, "tokens to generate [256]",
       [](R& r, Given&, Text t, Text w) { r.plan.generate = parse_positive(t, w); },
       [](const R& r) { return json::Value(r.plan.generate); }},
  };
}

Options precision_options() {
  return {
      {"--precision", "precision", "F", both | for_time | for_flops,
       "compute and activations [bf16, else fp16, else fp32]",
       [](R& r, Given& g, Text t, Text w) { r.plan.precision = read_compute(t, w), g.precision = true; },
       [](const R& r) { return json::Value(std::string(r.plan.precision.name())); }},
      {"--weight-precision", "weight_precision", "F", both, "weights: any of 'llmcalc list dtypes' [as --precision]",
       [](R& r, Given& g, Text t, Text w) {
         r.plan.weight_precision = read_dtype(t, w, false), g.weight_precision = true;
       },
       [](const R& r) { return json::Value(std::string(r.plan.weight_precision.name())); }},
      {"--kv-precision", "kv_precision", "F", for_inference, "KV cache: any of 'llmcalc list dtypes' [as --precision]",
       [](R& r, Given& g, Text t, Text w) { r.plan.kv_precision = read_dtype(t, w, false), g.kv_precision = true; },
       [](const R& r) { return json::Value(std::string(r.plan.kv_precision.name())); }},
  };
}

Options optimizer_options() {
  return {
      {"--optimizer", "optimizer", "NAME", train_all, "adam, adam8bit, sgd, momentum, adafactor, lion [adam]",
       [](R& r, Given&, Text t, Text w) { r.plan.optimizer = optimizers.read(t, w); },
       [](const R& r) { return json::Value(std::string(optimizers.name(r.plan.optimizer))); }},
      {"--master", "master", "fp32|none", train_all, "float32 master copy of 16-bit weights [fp32]",
       [](R& r, Given&, Text t, Text w) { r.plan.master = masters.read(t, w); },
       [](const R& r) { return json::Value(std::string(masters.name(r.plan.master))); }},
      {"--state-precision", "state_precision", "F", train_all,
       "optimizer moments [fp32; without a master copy as --precision]",
       [](R& r, Given& g, Text t, Text w) {
         r.plan.state_precision = read_dtype(t, w, true), g.state_precision = true;
       },
       [](const R& r) { return json::Value(std::string(r.plan.state_precision.name())); }},
      {"--gradient-bytes", "gradient_bytes", "2|4", train_all, "bytes per gradient [4]",
       [](R& r, Given&, Text t, Text w) {
         const Count n = parse_count(t, w);
         if (n != 2 && n != 4) throw InputError(fmt::format("{} {}: gradients take 2 or 4 bytes each", w, n));
         r.plan.gradient_bytes = n;
       },
       [](const R& r) { return json::Value(r.plan.gradient_bytes); }},
  };
}

Options parallel_options() {
  return {
      {"--tp", "tp", "N", both, "tensor-parallel ranks; must divide the heads [1]",
       [](R& r, Given&, Text t, Text w) { r.layout.tp = parse_positive(t, w); },
       [](const R& r) { return json::Value(r.layout.tp); }},
      {"--sp", "sp", "", both, "sequence parallelism over the tensor-parallel ranks [off]",
       [](R& r, Given&, Text, Text) { r.layout.sp = true; }, [](const R& r) { return json::Value(r.layout.sp); }},
      {"--cp", "cp", "N", train_all, "context-parallel ranks (not supported yet) [1]",
       [](R&, Given&, Text t, Text w) { read_unsupported(t, w, 1, "context parallelism"); },
       [](const R&) { return json::Value(1); }},
      {"--pp", "pp", "N", train_all, "pipeline ranks (not supported yet) [1]",
       [](R&, Given&, Text t, Text w) { read_unsupported(t, w, 1, "pipeline parallelism"); },
       [](const R&) { return json::Value(1); }},
      {"--ep", "ep", "N", train_all, "expert-parallel ranks (not supported yet) [1]",
       [](R&, Given&, Text t, Text w) { read_unsupported(t, w, 1, "expert parallelism"); },
       [](const R&) { return json::Value(1); }},
      {"--dp", "dp", "N", train_all, "data-parallel ranks (not supported yet) [1]",
       [](R&, Given&, Text t, Text w) { read_unsupported(t, w, 1, "data parallelism"); },
       [](const R&) { return json::Value(1); }},
      {"--zero", "zero", "0..3", train_all, "ZeRO stage (not supported yet) [0]",
       [](R&, Given&, Text t, Text w) { read_unsupported(t, w, 0, "ZeRO sharding"); },
       [](const R&) { return json::Value(0); }},
      {"--gpus", "gpus", "N", for_training | for_run, "GPUs of the run: groups of --tp side by side [--tp]",
       [](R&, Given& g, Text t, Text w) { g.gpus = parse_positive(t, w); },
       [](const R& r) { return json::Value(devices(r.layout)); }},
  };
}

Options storage_options() {
  return {
      {"--recompute", "recompute", "WHAT", for_training | for_flops, "none, selective (attention core) or full [none]",
       [](R& r, Given&, Text t, Text w) { r.plan.recompute = recomputes.read(t, w); },
       [](const R& r) { return json::Value(std::string(recomputes.name(r.plan.recompute))); }},
      {"--attention", "attention", "KIND", both | for_flops, "naive or flash [flash]",
       [](R& r, Given&, Text t, Text w) { r.plan.attention = attentions.read(t, w); },
       [](const R& r) { return json::Value(std::string(attentions.name(r.plan.attention))); }},
      {"--dropout", "dropout", "", train_all, "dropout on embedding, attention and residuals [off]",
       [](R& r, Given&, Text, Text) { r.plan.dropout = true; }, [](const R& r) { return json::Value(r.plan.dropout); }},
      {"--softmax-store", "softmax_store", "seed|minimal", train_all, "what naive attention keeps [minimal]",
       [](R& r, Given&, Text t, Text w) { r.plan.softmax_store = softmax_stores.read(t, w); },
       [](const R& r) { return json::Value(std::string(softmax_stores.name(r.plan.softmax_store))); }},
      {"--glu-store", "glu_store", "WHAT", train_all, "what a gated MLP keeps: all, fused, recompute [all]",
       [](R& r, Given&, Text t, Text w) { r.plan.glu_store = glu_stores.read(t, w); },
       [](const R& r) { return json::Value(std::string(glu_stores.name(r.plan.glu_store))); }},
      {"--norm-stats", "norm_stats", "on|off", train_all, "keep the norms' statistics [on]",
       [](R& r, Given&, Text t, Text w) { r.plan.norm_stats = switches.read(t, w); },
       [](const R& r) { return json::Value(r.plan.norm_stats); }},
      {"--logits", "logits", "WHAT", train_all, "fp32, compute (as --precision), bf16+grad or chunked:N [fp32]",
       [](R& r, Given&, Text t, Text w) { r.plan.logits = read_logits(t, w); },
       [](const R& r) { return json::Value(logits_name(r.plan.logits)); }},
  };
}

Options convention_options() {
  return {
      {"--attention-flops", "attention_flops", "HOW", both | for_flops, "full, causal-half or causal-exact [full]",
       [](R& r, Given&, Text t, Text w) { r.plan.attention_flops = attention_conventions.read(t, w); },
       [](const R& r) { return json::Value(std::string(attention_conventions.name(r.plan.attention_flops))); }},
      {"--params-in-6n", "params_in_6n", "WHICH", for_training | for_flops,
       "total, non-embedding, active or matmul [total]",
       [](R& r, Given&, Text t, Text w) { r.plan.params_in_6n = params_in_6n.read(t, w); },
       [](const R& r) { return json::Value(std::string(params_in_6n.name(r.plan.params_in_6n))); }},
  };
}

Options speed_options() {
  return {
      {"--roofline", "roofline", "op|step", for_time, "sum over operators, or the step as a whole [op]",
       [](R& r, Given&, Text t, Text w) { r.plan.roofline = rooflines.read(t, w); },
       [](const R& r) { return json::Value(std::string(rooflines.name(r.plan.roofline))); }},
      {"--efficiency", "efficiency", "X", for_time, "achieved fraction of the matmul peak, for an estimate [none]",
       [](R& r, Given&, Text t, Text w) { r.plan.efficiency = parse_fraction(t, w); },
       [](const R& r) {
         const auto measured = [&] { return Device::of(r.hardware->cluster.device.achieved.matmul, r.plan.precision); };
         return json::Value(r.plan.efficiency.value_or(r.hardware ? measured() : 1));
       }},
      {"--memory-efficiency", "memory_efficiency", "X", for_time, "achieved fraction of the memory bandwidth [none]",
       [](R& r, Given&, Text t, Text w) { r.plan.memory_efficiency = parse_fraction(t, w); },
       [](const R& r) {
         return json::Value(
             r.plan.memory_efficiency.value_or(r.hardware ? r.hardware->cluster.device.achieved.memory : 1));
       }},
      {"--overlap", "overlap", "X", for_time, "fraction of communication hidden behind compute [0]",
       [](R& r, Given&, Text t, Text w) {
         r.plan.overlap = parse_real(t, w);
         if (r.plan.overlap > 1) throw InputError(fmt::format("{} {} is more than 1; a fraction is wanted", w, t));
       },
       [](const R& r) { return json::Value(r.plan.overlap); }},
  };
}

Options inference_options() {
  return {
      {"--memory-utilization", "memory_utilization", "X", for_inference,
       "fraction of the memory that may be filled [1]",
       [](R& r, Given&, Text t, Text w) { r.plan.memory_utilization = parse_fraction(t, w); },
       [](const R& r) { return json::Value(r.plan.memory_utilization); }},
      {"--no-kv-cache", "kv_cache", "", for_inference, "run the whole sequence again for every token [cache on]",
       [](R& r, Given&, Text, Text) { r.plan.kv_cache = false; },
       [](const R& r) { return json::Value(r.plan.kv_cache); }},
      {"--mla", "mla", "HOW", both | for_flops, "latent attention: absorbed, expanded, auto [absorbed in decode]",
       [](R& r, Given&, Text t, Text w) { r.plan.mla = mlas.read(t, w); },
       [](const R& r) {
         return r.model.arch.attention == AttentionKind::latent ? json::Value(std::string(mlas.name(r.plan.mla)))
                                                                : json::Value();
       }},
  };
}

Options run_options() {
  return {
      {"--tokens", "tokens", "D", for_run | for_flops, "tokens of the whole run, for days, energy and cost [none]",
       [](R& r, Given&, Text t, Text w) { r.run.tokens = parse_positive(t, w); },
       [](const R& r) { return or_null(r.run.tokens); }},
      {"--measured-tokens-per-s", "measured_tokens_per_s", "X", for_run,
       "measured throughput of all --gpus, for MFU [none]",
       [](R& r, Given&, Text t, Text w) {
         r.run.measured_tokens_per_s = parse_real(t, w);
         if (*r.run.measured_tokens_per_s <= 0) throw InputError(fmt::format("{} 0 is no throughput", w));
       },
       [](const R& r) { return or_null(r.run.measured_tokens_per_s); }},
      {"--price", "price", "USD/h", for_run, "price of one GPU-hour [none]",
       [](R& r, Given&, Text t, Text w) { r.run.price = parse_price(t, w, Bare::allowed); },
       [](const R& r) { return or_null(r.run.price); }},
      {"--watts", "watts", "W", for_run, "power of one GPU [none]",
       [](R& r, Given&, Text t, Text w) { r.run.watts = parse_watts(t, w, Bare::allowed); },
       [](const R& r) { return or_null(r.run.watts); }},
      {"--pue", "pue", "X", for_run, "power of the data centre over that of its machines [1]",
       [](R& r, Given&, Text t, Text w) {
         r.run.pue = parse_real(t, w);
         if (r.run.pue < 1)
           throw InputError(fmt::format("{} {} is below 1; a data centre draws at least its machines' power", w, t));
       },
       [](const R& r) { return r.run.watts ? json::Value(r.run.pue) : json::Value(); }},
      {"--co2", "co2", "KG/KWH", for_run, "carbon of the grid [none]",
       [](R& r, Given&, Text t, Text w) { r.run.co2 = parse_real(t, w); },
       [](const R& r) { return or_null(r.run.co2); }},
  };
}

Options output_options() {
  return {
      {"--train", "train", "", for_parts, "training only",
       [](R& r, Given&, Text, Text) { r.parts = r.parts == Parts::inference ? Parts::both : Parts::training; },
       [](const R& r) { return r.parts == Parts::training ? json::Value(true) : json::Value(); }},
      {"--infer", "infer", "", for_parts, "inference only",
       [](R& r, Given&, Text, Text) { r.parts = r.parts == Parts::training ? Parts::both : Parts::inference; },
       [](const R& r) { return r.parts == Parts::inference ? json::Value(true) : json::Value(); }},
      {"--ops", "ops", "", for_tables, "also one line per operator", [](R& r, Given&, Text, Text) { r.ops = true; },
       [](const R& r) { return r.ops ? json::Value(true) : json::Value(); }},
  };
}

Options make_options() {
  Options all;
  for (Options (*part)() : {batch_options, precision_options, optimizer_options, parallel_options, storage_options,
                            convention_options, speed_options, inference_options, run_options, output_options})
    for (const Option& o : part()) all.push_back(o);
  return all;
}

}  // namespace

const std::vector<Option>& options() {
  static const std::vector<Option> all = make_options();
  return all;
}

json::Value inputs_json(const Request& r, unsigned uses) {
  json::Value v = json::Value::object();
  for (const Option& o : options()) {
    if ((o.uses & uses) == 0) continue;
    const json::Value value = o.effective(r);
    if (!value.is_null()) v[std::string(o.key)] = value;
  }
  return v;
}

}  // namespace llmcalc
