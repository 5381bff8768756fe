#pragma once
/// A plan to run a model: batch, precision, parallelism, stored tensors, and the conventions of the numbers.

#include <cstdint>
#include <optional>

#include "calc/choice.hpp"
#include "calc/formats/cache_formats.hpp"
#include "calc/formats/dtype.hpp"
#include "calc/formats/narrowed.hpp"
#include "calc/formats/weight_formats.hpp"
#include "calc/in_place.hpp"
#include "calc/training/frozen.hpp"
#include "calc/training/optimizer.hpp"
#include "calc/units.hpp"

namespace llmcalc {

enum class Recompute : std::uint8_t {
  none,
  selective,  ///< some modules of every block run again in backward; what lies inside them is not stored
  full        ///< every block runs again in backward; only its input is stored
};
template <>
inline constexpr auto choices<Recompute> = std::array{
    Choice{Recompute::none, "none"}, Choice{Recompute::selective, "selective"}, Choice{Recompute::full, "full"}};

/// Which layers of a chunk (of the model, without a pipeline) run again under full recomputation, as Megatron-LM has
/// it.
enum class RecomputeMethod : std::uint8_t {
  uniform,  ///< all, in groups of N: only the input of a group is stored
  block     ///< the first N, one by one; the others store what they need
};
template <>
inline constexpr auto choices<RecomputeMethod> =
    std::array{Choice{RecomputeMethod::uniform, "uniform"}, Choice{RecomputeMethod::block, "block"}};

/// A part of a block that selective recomputation can run again; calc/training/recompute.hpp says which operators it
/// holds.
enum class RecomputeModule : std::uint8_t { core, norm, act, mlp, up };
template <>
inline constexpr auto choices<RecomputeModule> = std::array{
    Choice{RecomputeModule::core, "core"}, Choice{RecomputeModule::norm, "norm"}, Choice{RecomputeModule::act, "act"},
    Choice{RecomputeModule::mlp, "mlp"}, Choice{RecomputeModule::up, "up"}};

using RecomputeModules = SetOf<RecomputeModule>;

/// Matrices of a block that can have a low-rank adapter, named as in Hugging Face's models: latent attention's
/// projections of queries count as q, those of keys and values as k; experts as the MLP that they are.
enum class LoraTarget : std::uint8_t { q, k, v, out, gate, up, down };
template <>
inline constexpr auto choices<LoraTarget> =
    std::array{Choice{LoraTarget::q, "q"},     Choice{LoraTarget::k, "k"},      Choice{LoraTarget::v, "v"},
               Choice{LoraTarget::out, "out"}, Choice{LoraTarget::out, "o"},    Choice{LoraTarget::gate, "gate"},
               Choice{LoraTarget::up, "up"},   Choice{LoraTarget::down, "down"}};
using LoraTargets = SetOf<LoraTarget>;

enum class AttentionImpl : std::uint8_t {
  naive,  ///< computes and stores the S x S scores
  flash   ///< computes the causal half, stores a log-sum-exp per row (arXiv:2205.14135)
};
template <>
inline constexpr auto choices<AttentionImpl> =
    std::array{Choice{AttentionImpl::naive, "naive"}, Choice{AttentionImpl::flash, "flash"}};

enum class SoftmaxStore : std::uint8_t {
  seed,    ///< scores and softmax output both (Goon 2.5)
  minimal  ///< the softmax output, which is all that backward needs
};
template <>
inline constexpr auto choices<SoftmaxStore> =
    std::array{Choice{SoftmaxStore::seed, "seed"}, Choice{SoftmaxStore::minimal, "minimal"}};

enum class GluStore : std::uint8_t {
  all,       ///< gate, act(gate), up, product: 4 tensors
  fused,     ///< gate, up, product: 3
  recompute  ///< gate, up: 2; the product is computed again
};
template <>
inline constexpr auto choices<GluStore> = std::array{Choice{GluStore::all, "all"}, Choice{GluStore::fused, "fused"},
                                                     Choice{GluStore::recompute, "recompute"}};

/// Query-key pairs that count as work, per head and sequence.
enum class AttentionFlops : std::uint8_t {
  full,         ///< S (S + past)
  causal_half,  ///< S^2/2 + S past
  causal_exact  ///< S (S+1)/2 + S past
};
template <>
inline constexpr auto choices<AttentionFlops> =
    std::array{Choice{AttentionFlops::full, "full"}, Choice{AttentionFlops::causal_half, "causal-half"},
               Choice{AttentionFlops::causal_exact, "causal-exact"}};

/// The N in 6N.
enum class ParamsIn6N : std::uint8_t { total, non_embedding, active, matmul };
template <>
inline constexpr auto choices<ParamsIn6N> =
    std::array{Choice{ParamsIn6N::total, "total"}, Choice{ParamsIn6N::non_embedding, "non-embedding"},
               Choice{ParamsIn6N::active, "active"}, Choice{ParamsIn6N::matmul, "matmul"}};

enum class Roofline : std::uint8_t {
  op,   ///< sum over operators of max(compute, memory)
  step  ///< max(compute, memory) of the whole step; weights and cache are its memory traffic
};
template <>
inline constexpr auto choices<Roofline> = std::array{Choice{Roofline::op, "op"}, Choice{Roofline::step, "step"}};

enum class Mla : std::uint8_t {
  automatic,  ///< absorbed in decode, expanded in prefill
  absorbed,
  expanded
};
template <>
inline constexpr auto choices<Mla> =
    std::array{Choice{Mla::automatic, "auto"}, Choice{Mla::absorbed, "absorbed"}, Choice{Mla::expanded, "expanded"}};

/// Number format of the logits while the loss is computed.
enum class LogitFormat : std::uint8_t {
  fp32,          ///< float32; its gradient takes its place
  compute,       ///< a number of the compute format; its gradient takes its place (karpathy/llm.c)
  with_gradient  ///< the compute format, a float32 copy and a float32 gradient, all at once
};

/// The logits' bytes during the loss: bytes_per_logit x tokens x vocabulary / chunks.
struct LogitStore {
  LogitFormat format = LogitFormat::fp32;
  Count chunks = 1;
  constexpr bool operator==(const LogitStore&) const = default;
};

/// Documents of one length in a packed sequence.
struct DocumentRun {
  Count count = 0, length = 0;
  constexpr bool operator==(const DocumentRun&) const = default;
};
/// The documents that fill a packed sequence. A token attends within its own document.
using Documents = InPlace<DocumentRun, 8>;

/// Fractions of what a device holds that lie in the host's memory, or on its drives, instead
/// (calc/training/offload.hpp).
struct Offload {
  Ratio activations{};  ///< training: of the bytes that each layer keeps for backward
  Ratio optimizer{};    ///< training: of the optimizer's states, and of the updates, which the host computes
  Ratio weights{};      ///< of the weights, or of the rank's shard of them; in inference of the blocks' weights
  Ratio experts{};      ///< inference: of the routed experts' weights; 0: as `weights`
  Ratio cache{};        ///< inference: of keys and values
  constexpr bool any() const { return for_training_alone() || weights.numerator > 0 || for_inference_alone(); }
  constexpr bool for_training_alone() const { return activations.numerator + optimizer.numerator > 0; }
  constexpr bool for_inference_alone() const { return experts.numerator + cache.numerator > 0; }
  constexpr bool operator==(const Offload&) const = default;
};
/// The share of a component's weights that inference has on the host. The token table, norms and the head stay.
constexpr Ratio host_share(const Offload& o, Component c) {
  if (!is_inside_block(c)) return {};
  return c == Component::experts && o.experts.numerator > 0 ? o.experts : o.weights;
}

struct Plan {
  // training
  Count seq = 0, micro_batch = 1, global_batch = 0;
  Documents documents{};  ///< of every sequence; empty: a sequence is one document
  Optimizer optimizer = Optimizer::adam;
  bool master = true;  ///< a float32 copy of 16-bit weights, counted with the optimizer
  DType state_precision = dtypes::fp32;
  Count newton_schulz_steps = 5;  ///< iterations of Muon (calc/training/muon.hpp)
  Count gradient_bytes = 4;       ///< that are held: 6 are one of 16 bits and its float32 sum
  Recompute recompute = Recompute::none;
  RecomputeMethod recompute_method = RecomputeMethod::uniform;
  Count recompute_layers = 1;  ///< N of the method: at least 1 in a group, any number of a block
  RecomputeModules recompute_modules = RecomputeModule::core;  ///< of selective recomputation
  SoftmaxStore softmax_store = SoftmaxStore::minimal;
  GluStore glu_store = GluStore::all;
  bool norm_stats = true, dropout = false;
  LogitStore logits{};
  Count lora_rank = 0;  ///< of adapters (calc/training/adapter.hpp), which alone are trained; 0: the model is trained
  LoraTargets lora_targets = LoraTargets::all();
  WeightFormats base_precision{};  ///< of the frozen weights under LoRA
  Frozen frozen{};                 ///< weights that are not trained, without adapters
  Offload offload{};
  Narrowed narrowed{};  ///< which products are in `precision`, where that has fewer than 16 bits

  // inference
  Count batch = 1, prompt = 2048, generate = 256;
  bool kv_cache = true;
  Bytes towers{};      ///< weights of towers for images and sounds, which lie beside the model on every rank
  Bytes cut_towers{};  ///< of layers beside the model, which tensor-parallel ranks cut (Llama 3.2's for images)
  Mla mla = Mla::automatic;
  NarrowParts multiplied =
      NarrowParts::all();  ///< whose products are in `precision`, where that has fewer than 16 bits

  // both
  Count mtp = 0;                   ///< modules of the model (Mtp) that are trained with it, or that draft for it
  DType precision = dtypes::bf16;  ///< what the matrices of the blocks are multiplied in
  DType working = dtypes::bf16;    ///< all else where `precision` has fewer than 16 bits: see working_format
  CacheFormats kv_precision{};     ///< of keys and values in the cache
  WeightFormats weight_precision{};
  AttentionImpl attention = AttentionImpl::flash;

  // conventions and efficiencies
  AttentionFlops attention_flops = AttentionFlops::full;
  ParamsIn6N params_in_6n = ParamsIn6N::total;
  Roofline roofline = Roofline::op;
  std::optional<double> efficiency{};  ///< achieved / peak FLOP/s of matmuls; absent: the hardware file's, or none
  std::optional<double> memory_efficiency{};  ///< achieved / peak bytes/s; absent: the hardware file's, or none
  std::optional<double> overlap{};  ///< the fraction of exchanges that compute hides; absent: all that can be hidden
  double memory_utilization = 1;    ///< fraction of the device's memory that may be used

  constexpr bool operator==(const Plan&) const = default;
};

/// The fraction of an exchange inside a layer that is hidden: the next operator waits for its result, so none of it
/// unless the plan says so.
constexpr double hidden_inside(const Plan& p) { return p.overlap.value_or(0); }
/// The fraction of an exchange that is hidden by work which does not wait for its result: gathered weights of the next
/// layer, gradients of the last one, keys and values of the next step of a ring.
constexpr double hidden_beside(const Plan& p) { return p.overlap.value_or(1); }

/// The modules of every block that run again while the rest does not.
constexpr RecomputeModules selected_modules(const Plan& p) {
  return p.recompute == Recompute::selective ? p.recompute_modules : RecomputeModules();
}

/// Whether only some layers of a chunk run again.
constexpr bool recomputes_block(const Plan& p) {
  return p.recompute == Recompute::full && p.recompute_method == RecomputeMethod::block;
}

/// Whether groups of several layers run again, of which only the first one's input is stored.
constexpr bool recomputes_groups(const Plan& p) {
  return p.recompute == Recompute::full && p.recompute_method == RecomputeMethod::uniform && p.recompute_layers > 1;
}

/// Whether neither nothing, nor the attention cores, nor every layer by itself runs again.
constexpr bool recomputes_partly(const Plan& p) {
  return recomputes_block(p) || recomputes_groups(p) ||
         (p.recompute == Recompute::selective && p.recompute_modules != RecomputeModule::core);
}

/// Number format of activations, the attention core, routers, norms, the token table and the head: 16 bits where the
/// products of the blocks are in fewer. Sources: DeepSeek-V3 (arXiv:2412.19437) 3.3.1; torchao's Float8Linear, which
/// keeps its operands for backward in 16 bits too. Casts are not modelled, and quantised copies are not held.
constexpr DType working_format(const Plan& p) {
  return whole_bits(p.precision.format()) < 16 ? p.working : p.precision;
}

/// Bytes of a gradient that ranks sum and the optimizer reads: of two that are held, the float32 sum.
constexpr Count summed_gradient_bytes(const Plan& p) { return p.gradient_bytes > 4 ? 4 : p.gradient_bytes; }

/// Whether only adapters are trained.
constexpr bool trains_adapters(const Plan& p) { return p.lora_rank > 0; }

/// Whether some weights are not trained.
constexpr bool trains_part(const Plan& p) { return trains_adapters(p) || !p.frozen.empty(); }

/// Weight format of training: the plan's if it has no groups in any component; a quantised checkpoint is trained in
/// the compute format.
constexpr DType training_weights(const Plan& p) {
  const DType t = p.weight_precision[Component::mlp];
  return p.weight_precision.uniform() && t.plain() ? t : working_format(p);
}

/// Weight formats that training holds: frozen weights keep their own.
constexpr WeightFormats held_weights(const Plan& p) {
  return trains_adapters(p) ? p.base_precision : WeightFormats(training_weights(p));
}

/// Whether ZeRO-3 can gather the weights: all are numbers of one format.
constexpr bool gathers_weights(const Plan& p) { return held_weights(p) == WeightFormats(training_weights(p)); }

}  // namespace llmcalc
