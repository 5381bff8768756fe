#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calc/textbook/muon.hpp"
#include "calc/textbook/stored.hpp"
#include "calc/textbook/weights.hpp"
#include "calc/training/offload.hpp"
#include "report/explain/definition.hpp"
#include "report/explain/formats.hpp"
#include "report/explain/sum.hpp"
#include "report/explain/train/alive.hpp"
#include "report/explain/train/pipeline.hpp"
#include "report/explain/train/process.hpp"
#include "report/report.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

/// Whether the textbook's formulas do not apply: a GPU has the layers of one of several stages, sharded experts, a part
/// of each sequence, partly frozen weights, or MTP modules.
bool is_beyond_textbook(S s) {
  const Layout& l = s.layout();
  return ranks(l, Group::pipeline) > 1 || folds_experts(l) || ranks(l, Group::context) > 1 || trains_part(s.plan()) ||
         s.plan().mtp > 0;
}

Formula held(S s) {
  if (is_beyond_textbook(s))
    return from_engine(s, "N_stage", "parameters of the fullest stage's layers on one GPU", "memory.parameters");
  return {textbook::all_parameters(s.arch(), s.trained_sizes()).text()};
}

/// Number of elements per GPU: sharded if the ZeRO stage is at least `from`.
std::string shared_numbers(S s, Zero from) {
  if (s.layout().zero < from || ranks(s.layout(), Group::shard) == 1) return "N_T";
  return "ceil(N_T/d)";
}
/// Whether expert states are sharded across fewer ranks than all other states.
bool has_two_groups(S s, Zero from) { return s.layout().zero >= from && folds_experts(s.layout()); }

/// The bytes that remain on the device.
Formula on_device(Formula f, Ratio away) {
  if (away.numerator == 0) return f;
  const std::string all = "(" + f.expression + ")";
  f.expression =
      all + " - floor(" + product({std::to_string(away.numerator), all}) + "/" + std::to_string(away.denominator) + ")";
  return f;
}

std::string weight_size(S s) {
  return number_text(static_cast<double>(training_weights(s.plan()).format().element_bits) / 8);
}
Formula weights_held(S s) {
  if (trains_part(s.plan()))
    return from_engine(s, "M_w", "frozen weights in their storage format and trained weights, bytes",
                       "memory.weights_bytes");
  if (has_two_groups(s, Zero::weights))
    return from_engine(s, "M_w", "shards of weights and of experts, bytes", "memory.weights_bytes");
  if (shared_numbers(s, Zero::weights) == "N_T") {
    if (is_beyond_textbook(s)) return {product({weight_size(s), "N_T"})};
    return weight_bytes(s, training_weights(s.plan()), "memory.parameters");
  }
  return {product({weight_size(s), shared_numbers(s, Zero::weights)})};
}

Formula gradients_held(S s) {
  if (trains_part(s.plan()))
    return from_engine(s, "M_g", "gradients of trained parameters, bytes", "memory.gradients_bytes");
  if (has_two_groups(s, Zero::gradients))
    return from_engine(s, "M_g", "shards of gradients and of expert gradients, bytes", "memory.gradients_bytes");
  return {product({"p_g", shared_numbers(s, Zero::gradients)})};
}

Formula optimizer_states(S s) {
  const Plan& p = s.plan();
  const OptimizerTraits& t = traits(p.optimizer);
  const std::string n = shared_numbers(s, Zero::optimizer);
  if (trains_part(p) || has_two_groups(s, Zero::optimizer) || (is_beyond_textbook(s) && t.updates_matrices()))
    return from_engine(s, "M_o", "the GPU's shard of the optimizer state, bytes", "memory.optimizer_bytes");
  const auto shared_out = [&](const std::string& numbers) {
    return n == "N_T" ? numbers : "ceil(" + ratio(numbers, "d") + ")";
  };
  const std::string master = p.master && training_weights(p).format().element_bits < 32 ? "4*" + n + " + " : "";
  if (t.moments == 0) return {master.empty() ? "0" : "4*" + n};
  if (t.storage == MomentStorage::coded)
    return {fmt::format("{}{}*{} + {}*ceil({}/{})", master, t.moments, n, 4 * t.moments, n, coded_block)};
  if (t.storage == MomentStorage::factored)
    return {master + product({"4", shared_out(textbook::factored_numbers(s.arch(), s.trained_sizes()).text())})};
  if (t.orthogonalizes) {
    const std::string adamw = textbook::adamw_parameters(s.arch(), s.trained_sizes()).text();
    return {master + product({"p_s", n + " + " + shared_out(adamw)})};
  }
  return {master + (t.moments > 1 ? fmt::format("{}*", t.moments) : "") + "p_s*" + n};
}

Expr logit_bytes(S s) {
  const LogitFormat format = s.plan().logits.format;
  if (format == LogitFormat::fp32) return 4;
  if (format == LogitFormat::copies) return Expr(s.plan().logits.bytes);
  return format == LogitFormat::compute ? compute_bytes(s) : compute_bytes(s) + Expr(8);
}
Formula logits(S s) {
  if (!s.arch().head.has_logits()) return {"0"};
  if (is_beyond_textbook(s))
    return from_engine(s, "M_log", "logits of a micro-batch's tokens on one GPU, bytes", "memory.logits_bytes");
  const Count chunks = s.plan().logits.chunks;
  const Expr at_once = chunks == 1 ? s.tokens() : quotient_up(s.tokens(), Expr("n_c", chunks));
  return {(logit_bytes(s) * at_once * s.trained_sizes().cut(s.trained_sizes().V)).text()};
}

/// Additional terms of some layouts: " + M_gat".
std::string besides(S s) {
  std::string text;
  for (const auto& [symbol, path] : {std::pair{"M_gat", "memory.gathered_bytes"},
                                     {"M_buc", "memory.buckets_bytes"},
                                     {"M_exc", "memory.exchange_bytes"},
                                     {"M_tra", "memory.transit_bytes"}})
    if (s.row(path) != nullptr) text += std::string(" + ") + symbol;
  return text;
}
std::vector<Symbol> besides_symbols(S s) {
  return {as_symbol(s, "M_gat", "bytes of gathered weights", "memory.gathered_bytes"),
          as_symbol(s, "M_buc", "bytes of gradient buckets", "memory.buckets_bytes"),
          as_symbol(s, "M_exc", "bytes of messages between stages", "memory.exchange_bytes"),
          as_symbol(s, "M_tra", "bytes in transit between device and host", "memory.transit_bytes")};
}
/// The sum of the named parts; only the last stage has logits.
std::string named_parts(S s) {
  return std::string("M_w + M_g + M_o + M_act") + (s.row("memory.logits_bytes") != nullptr ? " + M_log" : "");
}

Formula peak(S s) {
  if (ranks(s.layout(), Group::pipeline) > 1 || recomputes_block(s.plan()) || recomputes_groups(s.plan()) ||
      s.plan().offload.activations.numerator > 0 || !s.plan().frozen.empty() || s.plan().mtp > 0)
    return {named_parts(s) + " + M_ws" + besides(s) + " - M_dead", [&] {
              std::vector<Symbol> all = besides_symbols(s);
              const Row *sum = s.row("memory.total_bytes"), *most = s.row("memory.peak_bytes");
              all.push_back({"M_dead", "bytes of these terms not live at the peak",
                             number_text(std::get<Count>(sum->value) - std::get<Count>(most->value))});
              return all;
            }()};
  return {"M_w + M_g + M_o" + besides(s) + " + sum(b_i)", besides_symbols(s), {alive_terms(alive_in_training(s))}};
}
Formula memory_total(S s) { return {named_parts(s) + besides(s) + " + M_ws", besides_symbols(s)}; }
Formula memory_workspace(S s) {
  std::string parts = named_parts(s) + besides(s);
  for (std::size_t at = 0; (at = parts.find(" + ", at)) != std::string::npos;) parts.replace(at, 3, " - ");
  return {"max(0, M_peak - " + parts + ")", besides_symbols(s)};
}
Formula gathered_weights(S s) {
  return from_engine(s, "M_gat", "weights of embedding and head, and of the two largest adjacent layers, bytes",
                     "memory.gathered_bytes");
}
Formula gradient_buckets(S s) {
  return from_engine(s, "M_buc",
                     accumulates_gradients(s.layout())
                         ? "unsharded gradients of all layers of the stage, bytes"
                         : "gradients of the largest layer, or of embedding and head, bytes",
                     "memory.buckets_bytes");
}
Formula messages_held(S s) {
  return {"2*M_msg",
          {{"M_msg", "bytes of a micro-batch's residual stream on one GPU",
            number_text(std::get<Count>(s.row("memory.exchange_bytes")->value) / 2)}}};
}

Formula transit(S s) {
  return from_engine(s, "M_tra",
                     "offloaded parts of a layer's activations, two layers' weights and a layer's gradients, bytes",
                     "memory.transit_bytes");
}
Formula on_host(S s) {
  return from_engine(s, "M_host",
                     "offloaded parts of weights, optimizer states, their gradients and activations in flight, bytes",
                     "memory.host_bytes");
}

/// Demand over capacity: for the tensors, for host memory on the stage that uses it most, and for the process.
Formula fits_training(S s) {
  std::vector<std::string> demands{"M_peak/(u*M)"};
  std::vector<Symbol> own;
  if (s.row("memory.host_capacity_bytes") != nullptr) {
    demands.emplace_back("M_h/M_hc");
    own.push_back({"M_h", "bytes in host memory, for the stage with the most", number_text(s.train().host.value)});
    own.push_back(as_symbol(s, "M_hc", "host memory per GPU, bytes", "memory.host_capacity_bytes"));
  }
  if (const auto& process = s.training().process()) {
    demands.emplace_back("M_p/M_d");
    for (Symbol& symbol : process_symbols(*process)) own.push_back(std::move(symbol));
  }
  return {demands.size() == 1 ? demands[0] : fmt::format("max({})", fmt::join(demands, ", ")), std::move(own)};
}

constexpr std::string_view shared = "on the most loaded GPU; under ZeRO its shard, ceil(n/d) of n elements";
constexpr std::string_view offloading = "--offload WHAT";
constexpr std::string_view sharded_weights = "--dp above 1 with --zero 3";
constexpr Definition training_memory_table[] = {
    {"memory.parameters", "parameters on one rank", "parameters", held,
     "projections, MLPs, token embedding and head are sharded across T ranks; norms, routers, row biases are "
     "replicated",
     "Megatron (arXiv:1909.08053); Goon (2.12)"},
    {"memory.trained_parameters", "trained parameters", "parameters",
     [](S s) {
       const char* of_adapters = "sum over the target matrices (in, out) of rank x (in + out)";
       return from_engine(s, "N_trained",
                          trains_adapters(s.plan()) ? of_adapters : "parameters minus frozen parameters",
                          "memory.trained_parameters");
     },
     "with --lora only the adapters; with --freeze the parameters that are not frozen", "LoRA (arXiv:2106.09685)",
     "--lora RANK or --freeze PARTS"},
    {"memory.weights_bytes", "weights", "bytes",
     [](S s) { return on_device(weights_held(s), s.plan().offload.weights); }, shared,
     "Goon (2.1), (2.3); ZeRO arXiv:1910.02054"},
    {"memory.gradients_bytes", "gradients", "bytes",
     [](S s) {
       return on_device(gradients_held(s), sends_every_gradient(s.layout()) ? s.plan().offload.optimizer : Ratio{});
     },
     shared, "Goon (2.4); ZeRO arXiv:1910.02054"},
    {"memory.optimizer_bytes", "optimizer state", "bytes",
     [](S s) { return on_device(optimizer_states(s), s.plan().offload.optimizer); },
     "includes a float32 master copy of 16-bit weights, 4 bytes per parameter; --master none omits it",
     "Goon (2.1), (2.3); ZeRO arXiv:1910.02054; 8-bit arXiv:2110.02861; Adafactor arXiv:1804.04235; Muon "
     "arXiv:2502.16982"},
    {"memory.logits_bytes", "logits during the loss", "bytes", logits,
     "--logits fp32: 4 bytes each; compute: as --precision; bf16+grad: like compute, plus a float32 copy and a float32 "
     "gradient; chunked:N: one chunk; bytes:N: N bytes per logit",
     "Korthikanti 2022 (arXiv:2205.05198) 4.3; compute: karpathy/llm.c"},
    {"memory.gathered_bytes", "weights gathered from other ranks' shards", "bytes", gathered_weights,
     "ZeRO 3: embedding and head during a micro-batch, the running layer and the next; all layers with --reshard off",
     "FSDP (arXiv:2304.11277) section 4.2", sharded_weights},
    {"memory.buckets_bytes", "gradient buckets in reduction", "bytes", gradient_buckets,
     "from ZeRO 2 on: gradients of one layer, or of embedding and head; ZeRO 2 in a pipeline: of the whole stage, "
     "unsharded",
     "ZeRO (arXiv:1910.02054)", sharded_weights},
    {"memory.exchange_bytes", "messages between pipeline stages", "bytes", messages_held,
     "one incoming and one outgoing", "Narayanan 2021 (arXiv:2104.04473)", "--pp above 1"},
    {"memory.transit_bytes", "in transit between device and host", "bytes", transit,
     "a layer's activations; weights of the running layer and the next, under ZeRO 3 part of the gathered weights; "
     "from ZeRO 2 on a layer's gradients",
     "PyTorch save_on_cpu; ZeRO-Offload (arXiv:2101.06840); ZeRO-Infinity (arXiv:2104.07857)", offloading},
    {"memory.host_bytes", "host memory", "bytes", on_host,
     "per GPU, not in any other term; gradients: from ZeRO 2 on only on the host, below ZeRO 2 also on the device; "
     "without a master copy, includes the weights that the optimizer updates",
     "PyTorch save_on_cpu; ZeRO-Offload (arXiv:2101.06840); ZeRO-Infinity (arXiv:2104.07857)", offloading},
    {"memory.workspace_bytes", "workspace: live at the peak in addition to the other terms", "bytes", memory_workspace,
     per_gpu, "liveness of the operators' tensors"},
    {"memory.total_bytes", "sum of all parts", "bytes", memory_total, per_gpu, "Goon §2"},
    {"memory.peak_bytes", "peak memory", "bytes", peak,
     "a tensor lives from the operator that writes it to its last reader, in forward or backward",
     "liveness of the operators' tensors"},
    {"memory.capacity_bytes", "device memory", "bytes", fixed<"M">, "datasheet", "the hardware file"},
    {"memory.host_capacity_bytes", "host memory per GPU", "bytes",
     [](S s) {
       return from_engine(s, "M_hc", "bytes of host memory divided by its number of GPUs",
                          "memory.host_capacity_bytes");
     },
     "of the server in the hardware file", "the hardware file", offloading},
    {"memory.fits", "does it fit?", "", fits_training,
     "on the most loaded GPU; with --offload also host memory per GPU; the process where it is known",
     "the hardware file", "", "yes if this is at most 1"},
};

// ---- Tensors saved for backward.

using Tensor = textbook::StoredActivation<Expr>;

textbook::MicroBatch<Expr> micro_batch(S s) {
  const Plan& p = s.plan();
  return {.B = s.micro_batch(),
          .S = s.seq(),
          .p = compute_bytes(s),
          .attention = p.attention,
          .softmax = p.softmax_store,
          .glu = p.glu_store,
          .mla = p.mla,
          .norm_stats = p.norm_stats,
          .attention_dropout = p.dropout,
          .hidden_dropout = p.dropout,
          .log_sum_exps = p.logits.format == LogitFormat::compute,
          .sequence_parallel = sequence_parallel(s.layout()),
          .even = mul(p.micro_batch, p.seq) % ranks(s.layout(), Group::tensor) == 0};
}

template <class What>  // a Recompute, or a predicate for tensors
textbook::StoredSum<Expr> saved(S s, const What& what) {
  return textbook::stored(s.arch(), s.trained_sizes(), micro_batch(s), what);
}
template <class What>
Formula saved_bytes(S s, const What& what, const char* path) {
  const bool modules = s.plan().mtp > 0;
  if (trains_part(s.plan()) || modules || (is_beyond_textbook(s) && ranks(s.layout(), Group::pipeline) == 1))
    return from_engine(s, "M_kept", "tensors saved for backward, sum over the GPU's operators, bytes", path);
  return {saved(s, what).bytes(compute_bytes(s)).text()};
}
Formula activations_saved(S s) {
  if (s.plan().offload.activations.numerator > 0)
    return from_engine(s, "M_here",
                       "tensors saved for backward, sum over micro-batches in flight and layers, minus the offloaded "
                       "fraction of each layer, bytes",
                       "memory.activations_bytes");
  if (ranks(s.layout(), Group::pipeline) > 1) return activations_in_flight(s);
  if (recomputes_partly(s.plan()))
    return from_engine(s, "M_kept", "tensors saved by recomputed layers, and all tensors saved by the others, bytes",
                       "memory.activations_bytes");
  return saved_bytes(s, s.plan().recompute, "memory.activations_bytes");
}
std::string saved_numbers(S s) { return saved(s, s.plan().recompute).numbers().text(); }
Formula break_even(S s) { return {ratio("2*N*B", product({"4 - p", saved_numbers(s)}))}; }

constexpr std::string_view inputs = "inputs of every operator, each tensor once; masks 1 byte, statistics 4 bytes each";
constexpr Definition activations[] = {
    {"memory.activations_bytes", "activations saved for backward", "bytes", activations_saved,
     "inputs of every operator, each tensor once: ids, embedding, blocks, head; masks 1 byte; for every micro-batch in "
     "flight",
     "Goon (2.5)-(2.7), (2.14); Korthikanti 2022 (arXiv:2205.05198)"},
    {"activations.blocks_bytes", "activations saved by the blocks", "bytes",
     [](S s) {
       return saved_bytes(
           s, [](const Tensor& x) { return x.in_block; }, "activations.blocks_bytes");
     },
     "without recomputation", "Goon (2.5), (2.6); Korthikanti 2022 (arXiv:2205.05198)"},
    {"activations.attention_core_bytes", "activations saved by the attention cores", "bytes",
     [](S s) {
       return saved_bytes(
           s, [](const Tensor& x) { return x.core; }, "activations.attention_core_bytes");
     },
     "naive: S x S scores and masks, 2p + 1 as in the seed or p + 1 more with dropout; flash: log-sum-exps",
     "Goon (2.5); FlashAttention (arXiv:2205.14135)"},
    {"activations.outside_blocks_bytes", "activations saved by embedding and head", "bytes",
     [](S s) {
       return saved_bytes(
           s, [](const Tensor& x) { return !x.in_block; }, "activations.outside_blocks_bytes");
     },
     inputs, "Korthikanti 2022 (arXiv:2205.05198) 4.3"},
    {"activations.modules_bytes", "activations saved by MTP modules", "bytes",
     [](S s) {
       return from_engine(s, "M_mod", "ids, norms, projection, layer and head of each module, bytes",
                          "activations.modules_bytes");
     },
     inputs, "DeepSeek-V3 (arXiv:2412.19437) 2.2", "--mtp N"},
    {"activations.selective_bytes", "activations saved under selective recomputation", "bytes",
     [](S s) { return saved_bytes(s, Recompute::selective, "activations.selective_bytes"); },
     "attention cores are recomputed", "Korthikanti 2022 (arXiv:2205.05198)"},
    {"activations.full_bytes", "activations saved under full recomputation", "bytes",
     [](S s) { return saved_bytes(s, Recompute::full, "activations.full_bytes"); },
     "the blocks' inputs; blocks are recomputed", "Korthikanti 2022 (arXiv:2205.05198)"},
    {"activations.quadratic_equals_linear_seq", "sequence length at which scores take as much memory as the rest",
     "tokens", fixed<"S*(M_blk - M_core)/M_core">, "assumes that the rest grows with S and the scores with S^2",
     "Goon (2.7)", "--attention naive"},
    {"activations.mixed_precision_break_even_batch", "sequences above which mixed precision saves memory", "sequences",
     break_even, "2 more bytes per parameter (14 instead of 12) against 4 - p fewer bytes per saved element",
     "Goon (2.9)", "a 16-bit precision with a master copy and the whole model on one GPU"},
};

}  // namespace

std::span<const Definition> training_memory_definitions() { return training_memory_table; }
std::span<const Definition> activation_definitions() { return activations; }

}  // namespace llmcalc::explain
