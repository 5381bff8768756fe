#pragma once
/// A plan to run a model: batch, precision, parallelism, stored tensors, and counting conventions.

#include <cstdint>
#include <optional>

#include "calc/choice.hpp"
#include "calc/formats/cache_formats.hpp"
#include "calc/formats/dtype.hpp"
#include "calc/formats/low_precision.hpp"
#include "calc/formats/weight_formats.hpp"
#include "calc/inplace_vector.hpp"
#include "calc/training/frozen.hpp"
#include "calc/training/optimizer.hpp"
#include "calc/units.hpp"

namespace llmcalc {

enum class Recompute : std::uint8_t {
  none,
  selective,  ///< backward recomputes some modules of every block; tensors inside them are not saved
  full        ///< backward recomputes every block; only its input is saved
};
template <>
inline constexpr auto choices<Recompute> = std::array{
    Choice{Recompute::none, "none"}, Choice{Recompute::selective, "selective"}, Choice{Recompute::full, "full"}};

/// The layers of a chunk (without a pipeline, of the model) that full recomputation covers, as in Megatron-LM.
enum class RecomputeMethod : std::uint8_t {
  uniform,  ///< all layers, in groups of N: only the input of each group is saved
  block     ///< the first N layers, individually; all other layers save all tensors that backward needs
};
template <>
inline constexpr auto choices<RecomputeMethod> =
    std::array{Choice{RecomputeMethod::uniform, "uniform"}, Choice{RecomputeMethod::block, "block"}};

/// Parts of a block that selective recomputation can recompute; calc/training/recompute.hpp lists their operators.
enum class RecomputeModule : std::uint8_t { core, norm, act, mlp, up };
template <>
inline constexpr auto choices<RecomputeModule> = std::array{
    Choice{RecomputeModule::core, "core"}, Choice{RecomputeModule::norm, "norm"}, Choice{RecomputeModule::act, "act"},
    Choice{RecomputeModule::mlp, "mlp"}, Choice{RecomputeModule::up, "up"}};

using RecomputeModules = SetOf<RecomputeModule>;

/// Block matrices that can have a LoRA adapter, named as in Hugging Face's models. The query projections of latent
/// attention count as q, and its key and value projections as k. Experts count like a dense MLP.
enum class LoraTarget : std::uint8_t { q, k, v, out, gate, up, down };
template <>
inline constexpr auto choices<LoraTarget> =
    std::array{Choice{LoraTarget::q, "q"},     Choice{LoraTarget::k, "k"},      Choice{LoraTarget::v, "v"},
               Choice{LoraTarget::out, "out"}, Choice{LoraTarget::out, "o"},    Choice{LoraTarget::gate, "gate"},
               Choice{LoraTarget::up, "up"},   Choice{LoraTarget::down, "down"}};
using LoraTargets = SetOf<LoraTarget>;

enum class AttentionImpl : std::uint8_t {
  naive,  ///< computes and saves the S x S scores
  flash   ///< computes only the causal half and saves a log-sum-exp per row (arXiv:2205.14135)
};
template <>
inline constexpr auto choices<AttentionImpl> =
    std::array{Choice{AttentionImpl::naive, "naive"}, Choice{AttentionImpl::flash, "flash"}};

enum class SoftmaxStore : std::uint8_t {
  seed,    ///< saves both scores and softmax output (Goon 2.5)
  minimal  ///< saves only the softmax output, which suffices for backward
};
template <>
inline constexpr auto choices<SoftmaxStore> =
    std::array{Choice{SoftmaxStore::seed, "seed"}, Choice{SoftmaxStore::minimal, "minimal"}};

enum class GluStore : std::uint8_t {
  all,       ///< saves gate, act(gate), up and product: 4 tensors
  fused,     ///< saves gate, up and product: 3 tensors
  recompute  ///< saves gate and up: 2 tensors; their product is recomputed
};
template <>
inline constexpr auto choices<GluStore> = std::array{Choice{GluStore::all, "all"}, Choice{GluStore::fused, "fused"},
                                                     Choice{GluStore::recompute, "recompute"}};

/// Query-key pairs counted in FLOPs, per head and sequence.
enum class AttentionFlops : std::uint8_t {
  full,         ///< S (S + past)
  causal_half,  ///< S^2/2 + S past
  causal_exact  ///< S (S+1)/2 + S past
};
template <>
inline constexpr auto choices<AttentionFlops> =
    std::array{Choice{AttentionFlops::full, "full"}, Choice{AttentionFlops::causal_half, "causal-half"},
               Choice{AttentionFlops::causal_exact, "causal-exact"}};

/// The parameters that N stands for in 6N.
enum class ParamsIn6N : std::uint8_t { total, non_embedding, active, matmul };
template <>
inline constexpr auto choices<ParamsIn6N> =
    std::array{Choice{ParamsIn6N::total, "total"}, Choice{ParamsIn6N::non_embedding, "non-embedding"},
               Choice{ParamsIn6N::active, "active"}, Choice{ParamsIn6N::matmul, "matmul"}};

enum class Roofline : std::uint8_t {
  op,   ///< sum over operators of max(compute, memory)
  step  ///< max(compute, memory) of the whole step; only weights and cache count as memory traffic
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

/// Number format of the logits during the loss.
enum class LogitFormat : std::uint8_t {
  fp32,           ///< float32; the gradient overwrites the logits
  compute,        ///< the compute format; the gradient overwrites the logits (karpathy/llm.c)
  with_gradient,  ///< the compute format, a float32 copy and a float32 gradient, all live at the same time
  copies          ///< several copies: LogitStore::bytes per logit
};

/// Storage of logits during the loss: bytes_per_logit x tokens x vocabulary / chunks bytes.
struct LogitStore {
  LogitFormat format = LogitFormat::fp32;
  Count chunks = 1;
  Count bytes = 0;         ///< bytes per logit, for LogitFormat::copies
  Count chunk_tokens = 0;  ///< number of tokens per chunk, which then determines `chunks`; 0: `chunks` is set directly
  constexpr bool operator==(const LogitStore&) const = default;
};

/// Documents of equal length in a packed sequence.
struct DocumentRun {
  Count count = 0, length = 0;
  constexpr bool operator==(const DocumentRun&) const = default;
};
/// The documents in a packed sequence. A token attends only within its own document.
using Documents = InplaceVector<DocumentRun, 8>;

/// Fractions of a device's data offloaded to host memory or drives (calc/training/offload.hpp).
struct Offload {
  Ratio activations{};  ///< training: offloaded fraction of the bytes that each layer saves for backward
  Ratio optimizer{};    ///< training: fraction of the optimizer states on the host, which also computes their updates
  Ratio weights{};   ///< fraction of the weights, or of the rank's shard; in inference, only of the weights in blocks
  Ratio experts{};   ///< inference: offloaded fraction of the routed experts' weights; 0: same as `weights`
  Ratio cache{};     ///< inference: offloaded fraction of cached keys and values
  Count passes = 1;  ///< inference: number of passes over parts of a prompt, each of which loads the offloaded weights
  constexpr bool any() const { return for_training_alone() || weights.numerator > 0 || for_inference_alone(); }
  constexpr bool for_training_alone() const { return activations.numerator + optimizer.numerator > 0; }
  constexpr bool for_inference_alone() const { return experts.numerator + cache.numerator > 0; }
  constexpr bool operator==(const Offload&) const = default;
};
/// The fraction of a component's weights that inference offloads to the host. The token embedding, norms and the head
/// stay on the device.
constexpr Ratio host_share(const Offload& o, Component c) {
  if (!is_inside_block(c)) return {};
  return c == Component::experts && o.experts.numerator > 0 ? o.experts : o.weights;
}

struct Plan {
  // training
  Count seq = 0, micro_batch = 1, global_batch = 0;
  Documents documents{};  ///< documents in every sequence; empty: each sequence is one document
  Optimizer optimizer = Optimizer::adam;
  bool master = true;  ///< whether to keep a float32 copy of 16-bit weights, counted with the optimizer
  DType state_precision = dtypes::fp32;
  Count newton_schulz_steps = 5;  ///< number of Muon iterations (calc/training/muon.hpp)
  Count gradient_bytes = 4;       ///< bytes stored per gradient element; 6: a 16-bit gradient and its float32 sum
  Recompute recompute = Recompute::none;
  RecomputeMethod recompute_method = RecomputeMethod::uniform;
  Count recompute_layers = 1;  ///< N of recompute_method: at least 1 for uniform, any number for block
  RecomputeModules recompute_modules = RecomputeModule::core;  ///< modules that selective recomputation covers
  SoftmaxStore softmax_store = SoftmaxStore::minimal;
  GluStore glu_store = GluStore::all;
  bool norm_stats = true, dropout = false;
  LogitStore logits{};
  Count lora_rank = 0;  ///< rank of adapters, the only trained weights (calc/training/adapter.hpp); 0: no adapters
  LoraTargets lora_targets = LoraTargets::all();
  WeightFormats base_precision{};  ///< format of the frozen weights under LoRA
  Frozen frozen{};                 ///< frozen weights, if no adapters are trained
  Offload offload{};
  LowPrecision low_precision{};  ///< which matmuls run in `precision` if it has fewer than 16 bits

  // inference
  Count batch = 1, prompt = 2048, generate = 256;
  bool kv_cache = true;
  Bytes media_encoders{};      ///< bytes of vision/audio encoder weights, replicated on every rank
  Bytes cut_media_encoders{};  ///< bytes of weights in layers outside the text model that tensor-parallel ranks shard
                               ///< (Llama 3.2's image layers)
  Mla mla = Mla::automatic;
  NarrowParts multiplied = NarrowParts::all();  ///< parts whose matmuls run in `precision` if it has fewer than 16 bits

  // training and inference
  Count mtp = 0;                   ///< number of MTP modules, trained with the model or used to draft tokens
  DType precision = dtypes::bf16;  ///< format of the blocks' matmuls
  DType working = dtypes::bf16;  ///< format of everything else if `precision` has fewer than 16 bits: working_format()
  CacheFormats kv_precision{};   ///< formats of cached keys and values
  WeightFormats weight_precision{};
  AttentionImpl attention = AttentionImpl::flash;

  // conventions and efficiencies
  AttentionFlops attention_flops = AttentionFlops::full;
  ParamsIn6N params_in_6n = ParamsIn6N::total;
  Roofline roofline = Roofline::op;
  std::optional<double> efficiency{};  ///< achieved / peak FLOP/s of matmuls; absent: from the hardware file, if known
  std::optional<double> memory_efficiency{};  ///< achieved / peak bytes/s; absent: from the hardware file, if known
  std::optional<double> overlap{};  ///< fraction of communication overlapped with compute; absent: all that can overlap
  double memory_utilization = 1;    ///< usable fraction of the device's memory

  constexpr bool operator==(const Plan&) const = default;
};

/// Overlapped fraction of communication inside a layer; 0 by default, because the next operator waits for the result.
constexpr double hidden_inside(const Plan& p) { return p.overlap.value_or(0); }
/// Overlapped fraction of communication that concurrent work does not wait for: weights gathered for the next layer,
/// gradients of the previous layer, keys and values for the next step of a ring; 1 by default.
constexpr double hidden_overlapped(const Plan& p) { return p.overlap.value_or(1); }

/// Modules recomputed in every block under selective recomputation.
constexpr RecomputeModules selected_modules(const Plan& p) {
  return p.recompute == Recompute::selective ? p.recompute_modules : RecomputeModules();
}

/// Whether only some layers of a chunk are recomputed.
constexpr bool recomputes_block(const Plan& p) {
  return p.recompute == Recompute::full && p.recompute_method == RecomputeMethod::block;
}

/// Whether groups of several layers are recomputed, saving only each group's input.
constexpr bool recomputes_groups(const Plan& p) {
  return p.recompute == Recompute::full && p.recompute_method == RecomputeMethod::uniform && p.recompute_layers > 1;
}

/// Whether a plan recomputes anything other than exactly the attention cores or every layer individually.
constexpr bool recomputes_partly(const Plan& p) {
  return recomputes_block(p) || recomputes_groups(p) ||
         (p.recompute == Recompute::selective && p.recompute_modules != RecomputeModule::core);
}

/// Number format of activations, the attention core, routers, norms, the token embedding and the head: 16 bits if the
/// blocks' matmuls have fewer. Sources: DeepSeek-V3 (arXiv:2412.19437) 3.3.1; torchao's Float8Linear, which also saves
/// its operands for backward in 16 bits. Casts are not modeled, and quantized copies are not stored.
constexpr DType working_format(const Plan& p) {
  return whole_bits(p.precision.format()) < 16 ? p.working : p.precision;
}

/// Bytes per gradient element in the format in which ranks reduce gradients and the optimizer reads them: the float32
/// sum if there are two copies of a gradient.
constexpr Count summed_gradient_bytes(const Plan& p) { return p.gradient_bytes > 4 ? 4 : p.gradient_bytes; }

/// Whether only adapters are trained.
constexpr bool trains_adapters(const Plan& p) { return p.lora_rank > 0; }

/// Whether any weights are frozen.
constexpr bool trains_part(const Plan& p) { return trains_adapters(p) || !p.frozen.empty(); }

/// Weight format of training: the plan's weight format if it is the same for all components and has no groups,
/// otherwise (for a quantized checkpoint) the working format.
constexpr DType training_weights(const Plan& p) {
  const DType t = p.weight_precision[Component::mlp];
  return p.weight_precision.uniform() && t.plain() ? t : working_format(p);
}

/// Weight formats in training; frozen weights keep their own formats.
constexpr WeightFormats held_weights(const Plan& p) {
  return trains_adapters(p) ? p.base_precision : WeightFormats(training_weights(p));
}

/// Whether ZeRO-3 can gather the weights: all must have the training format.
constexpr bool gathers_weights(const Plan& p) {
  return !trains_adapters(p) || p.base_precision == WeightFormats(training_weights(p));
}

}  // namespace llmcalc
