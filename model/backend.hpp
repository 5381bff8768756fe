#pragma once
/// A device that runs operators: one method per operator shape and one for its gradient. The shape supplies both the
/// loop bounds and the log entry, so a log cannot disagree with the run. Pointers refer to the backend's memory. Values
/// are in the backend's format, statistics and weight gradients in its wide format, and training logits in either.
///
/// Gradients: `dx` is overwritten, or accumulated if `add` is set. Weight gradients are accumulated unless a view marks
/// the buffer as still empty.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "calc/operator/op.hpp"
#include "calc/plan.hpp"
#include "model/documents.hpp"
#include "model/instruments.hpp"
#include "model/layers/altup.hpp"
#include "model/layers/attention_core.hpp"
#include "model/layers/indexer.hpp"
#include "model/layers/mixed.hpp"
#include "model/layers/pool.hpp"
#include "model/layers/rwkv.hpp"
#include "model/math/relative.hpp"
#include "model/math/rotary.hpp"
#include "model/pass/heads.hpp"
#include "model/pass/state.hpp"
#include "model/pass/streams.hpp"
#include "model/random.hpp"
#include "model/storage/arena.hpp"
#include "model/storage/coded.hpp"
#include "model/updates.hpp"

namespace llmcalc::model {

using In = const void*;
using Out = void*;

/// Positions of a pass's tokens and their RoPE frequencies; null `rotary`: 10000^(-2i/width).
struct Positions {
  Count queries = 1, past = 0;
  const Rotary* rotary = nullptr;
  Count apart = 1;  ///< position difference between consecutive rows; for pooled keys, the number of tokens per key
  const DocumentRange* documents =
      nullptr;  ///< each token's document in a sequence; positions restart in every document; null: one document
  /// Position of query token t.
  Count of(Count t) const { return documents != nullptr ? t - documents[t].first : past + t; }
};

/// Token ids on the host, with an optional copy in the backend's memory; valid until all calls complete.
struct Ids {
  const std::int64_t* host = nullptr;
  In saved = nullptr;
  Ids(const std::int64_t* on_host = nullptr, In copy = nullptr) : host(on_host), saved(copy) {}
};

/// Relative position biases, added to the scores. For head h, query i and key j: element (i keys + j) heads + h; in a
/// step with one query, element r heads + h of the table, where r is the key's distance bucket. Null: no bias.
struct RelativeInputs {
  const void* numbers = nullptr;
  bool is_table = false;
  DistanceRanges ranges = {};
};

/// Inputs of the attention core. Latent attention's rotary components (q_rope, k_rope) are separate because the heads
/// share k_rope.
struct AttentionInputs {
  HeadView q, q_rope, k, k_rope, v;
  HeadView pooled = {};  ///< keys of token groups, which are also the values (Attention::pooled)
  Count rope_dim = 0;    ///< number of the qk_dim elements that are stored in q_rope and k_rope
  double scale = 1;      ///< factor on the scores
  double cap = 0;        ///< scores s become cap tanh(s / cap); 0: uncapped
  const void* sinks = nullptr;
  bool alibi = false;
  const ChosenIndex* chosen = nullptr;  ///< chosen indices of every query; null: all keys in reach
  Count indices = 0;                    ///< number of indices chosen per query
  const DocumentRange* documents =
      nullptr;  ///< document of every token, which bounds its attention; null: one document
  RelativeInputs relative = {};
};

/// Buffers that the attention core saves for backward, by implementation.
struct AttentionSaved {
  Out scores = nullptr;         ///< naive with SoftmaxStore::seed: scores before softmax
  Out probabilities = nullptr;  ///< naive: probabilities after softmax
  Out dropped = nullptr;        ///< naive with dropout: probabilities after dropout
  Out mask = nullptr;           ///< naive with dropout: one byte per probability
  Out log_sum_exp = nullptr;    ///< flash: wide, one per row and head; optional in inference
};

/// Typed view of naive attention's buffers.
template <typename T>
struct NaiveSaved {
  T *scores, *probabilities, *dropped;
  std::uint8_t* mask;
  explicit NaiveSaved(const AttentionSaved& k)
      : scores(static_cast<T*>(k.scores)),
        probabilities(static_cast<T*>(k.probabilities)),
        dropped(static_cast<T*>(k.dropped)),
        mask(static_cast<std::uint8_t*>(k.mask)) {}
};

/// Replayable dropout: Philox(key, i) decides whether element i of the operator is kept.
struct Dropout {
  double p = 0;
  std::uint64_t key = 0;
  /// Inputs from which dropout_key() computes the key.
  std::uint64_t seed = 0, steps = 0, stream = 0;
  const std::uint64_t* moved = nullptr;  ///< a recording's pointer to the key in the backend's memory
};

/// Key of the dropout mask of one operator (`stream`) in one step.
inline std::uint64_t dropout_key(std::uint64_t seed, std::uint64_t steps, std::uint64_t stream) {
  const RandomWords w = philox(random_key(seed), random_counter(steps, stream));
  return (std::uint64_t{w.word[0]} << 32U) | w.word[1];
}

/// Destinations of the gradients of AttentionInputs' tensors. The gradient of the sinks is wide.
struct AttentionGradients {
  HeadView q, q_rope, k, k_rope, v, pooled = {};
  bool add_keys = false;  ///< whether to accumulate gradients of keys and values that other layers share
  void* sinks = nullptr;
  void* relative = nullptr;  ///< gradient of the relative position biases, summed over all sequences
};

/// One matmul per group. With routing, the rows of group g are the tokens routed to it; otherwise every group processes
/// the same tokens.
struct LinearView {
  In x = nullptr, weight = nullptr, bias = nullptr;
  Count x_stride = 0;               ///< row stride of x in elements; 0: shape.in
  bool wide_output = false;         ///< whether y is wide, as for training logits
  In choice = nullptr;              ///< routed: the router's choice (rows / top_k, groups), see Backend::route
  Count head_rows = 0;              ///< absorbed: number of weight rows per head, of which this matmul uses a part
  Count weight_offset = 0;          ///< absorbed: first weight row used
  bool transposed = false;          ///< absorbed: whether y = x W instead of x W'
  Count x_head = 0, y_head = 0;     ///< absorbed: head strides in elements
  bool add_weight_gradient = true;  ///< whether to add to dw; false: dw is still empty and is overwritten
};

struct NormView {
  In x = nullptr, weight = nullptr, bias = nullptr;
  Count heads = 1;     ///< number of consecutive weight rows: one per head with its own weights (qk-norms)
  Count x_stride = 0;  ///< row stride of x in elements; 0: width
  double epsilon = 1e-5;
  double offset = 0;  ///< added to every weight: 1 if weights are stored minus 1
};

/// Inputs that change between replays of the same operators on the same tensors.
struct Moving {
  std::vector<std::span<const std::int64_t>> tokens = {};  ///< all host arrays of ids and targets; lengths are fixed
  Count past = 0;                                          ///< value of `past` in every Positions and Attention
  std::uint64_t steps = 0;                                 ///< first Dropout::steps of the recording
  double rate = 0;                                         ///< OptimizerStep::rate of the update
  Count step = 0;                                          ///< OptimizerStep::step of the update
};

/// A backend's recording (a captured graph) of a sequence of operators. Must be destroyed before its tensors.
class Recording {
 public:
  virtual ~Recording() = default;
  /// How the last run was executed: "from a recording", or the reason why no recording was used.
  virtual std::string how() const = 0;
};

class Backend : public ArenaMemory {
 public:
  virtual Bytes number() const = 0;  ///< size of a weight or activation value
  /// Format of weight and activation values; by default the format that most backends use for this size.
  virtual DType format() const {
    if (number() == Bytes(2)) return dtypes::bf16;
    return number() == Bytes(4) ? dtypes::fp32 : *dtype("fp64");
  }
  virtual Bytes wide() const = 0;  ///< size of gradients, statistics, wide logits, master weights and moments
  virtual std::string_view name() const = 0;  ///< name of the device; on a CPU, of its instruction set
  /// Cores that the last flash attention used; empty if the backend has only one kind of core.
  virtual AttentionCores attention_cores() const { return {}; }
  /// Whether the backend supports these numerics. Every backend supports the defaults and any epsilon.
  virtual bool computes(const Numerics&) const = 0;
  /// Feature that the model needs and the backend lacks, as a phrase for an error message; empty if all are supported.
  virtual std::string lacks(const Arch&) const { return {}; }
  /// Feature that the plan needs and the backend lacks, as a phrase for an error message; empty if all are supported.
  /// The default supports fp32 and bf16 with Adam, momentum and SGD only.
  virtual std::string lacks_of(const Plan& plan) const {
    if (plan.precision == dtypes::fp16) return "half precision";
    if (plan.kv_precision != plan.precision || plan.weight_precision != plan.precision)
      return "quantized weights, keys and values";
    const bool is_usual =
        plan.optimizer == Optimizer::adam || plan.optimizer == Optimizer::momentum || plan.optimizer == Optimizer::sgd;
    if (!is_usual) return "optimizers other than adam, momentum and sgd";
    if (plan.state_precision != dtypes::fp32) return "optimizer states in formats other than float32";
    if (!plan.documents.empty()) return "packed sequences of several documents";
    if (trains_adapters(plan)) return "adapters";
    if (!plan.frozen.empty()) return "frozen weights";
    if (plan.gradient_bytes != 4) return "gradients in formats other than float32";
    if (plan.logits.chunks > 1) return "chunked logits";
    return {};
  }
  /// Whether the backend runs MTP modules (Plan::mtp), which need losses restricted to rows with a target, and sums of
  /// losses.
  virtual bool runs_modules() const { return true; }
  virtual Bytes capacity() const = 0;                     ///< total device memory; 0: unknown
  virtual Bytes available() const { return capacity(); }  ///< bytes of unused device memory

  virtual void upload(Out to, const void* from, Bytes bytes) = 0;
  virtual void download(void* to, In from, Bytes bytes) = 0;
  virtual void zero(Out x, Bytes bytes) = 0;
  virtual void copy(Out to, In from, Bytes bytes) = 0;
  /// Converts between doubles on the host and values in the backend's format or, if `wide`, in its wide format.
  virtual void write(Out to, std::span<const double> from, bool wide) = 0;
  virtual void read(std::span<double> to, In from, bool wide) const = 0;

  // ---- operators
  /// Row t of y = row ids[t] of the table; without ids, the row of token t's position.
  virtual void lookup(const Lookup&, const Ids& ids, const Positions&, In table, Out y) = 0;
  virtual void lookup_gradient(const Lookup&, const Ids& ids, const Positions&, In dy, Out dtable) = 0;
  /// y += sin and cos of the positions (Vaswani et al. 2017, 3.5).
  virtual void add_sinusoid(const Lookup&, const Positions&, Out y) = 0;

  virtual void linear(const Linear&, const LinearView&, Out y) = 0;
  /// Computes dx, dw and db from dy, skipping null outputs; x is required only for dw. If the output is wide, dy is the
  /// result of loss_gradient and may be overwritten.
  virtual void linear_gradient(const Linear&, const LinearView&, In dy, Out dx, bool add, Out dw, Out db) = 0;

  /// `statistics`: wide; per row, the mean (LayerNorm only) and 1 / standard deviation; may be null.
  virtual void norm(const Norm&, const NormView&, Out y, Out statistics) = 0;
  virtual void norm_gradient(const Norm&, const NormView&, In statistics, In dy, Out dx, bool add, Out dw, Out db) = 0;

  virtual void attention(const Attention&, const AttentionInputs&, AttentionImpl, const Dropout&, const AttentionSaved&,
                         Out o) = 0;
  /// `o`: output of the forward pass, for flash attention. `scratch`: buffer of the size of the scores, for naive
  /// attention.
  virtual void attention_gradient(const Attention&, const AttentionInputs&, AttentionImpl, const Dropout&,
                                  const AttentionSaved&, In o, In d_o, Out scratch, const AttentionGradients&) = 0;

  /// Rotates pairs (i, i + width/2) of every head by position x frequency i of its Positions (RoFormer,
  /// arXiv:2104.09864) and scales them. `inverse`: rotates back with the same scaling, which is the gradient. A row
  /// has `heads` heads, `head` elements apart; rotation starts at element `offset` of each head.
  virtual void rope(Count rows, const Positions&, Out x, Count row, Count heads, Count head, Count width, Count offset,
                    bool inverse) = 0;
  virtual void add(const Pointwise&, In a, In b, Out y) = 0;
  virtual void accumulate(Count n, In x, Out y) = 0;  ///< y += x
  /// Multiplies n values by a factor, which is rounded to the backend's format first (hf gemma/modeling_gemma.py,
  /// normalizer).
  virtual void multiply_all(Count n, double factor, Out x) = 0;
  /// Caps n values, wide or not: x becomes most tanh(x / most).
  virtual void cap(Count n, double most, Out x, bool wide) = 0;
  virtual void multiply(const Pointwise&, In a, In b, Out y) = 0;
  virtual void multiply_gradient(const Pointwise&, In a, In b, In dy, Out da, bool add_a, Out db, bool add_b) = 0;
  /// y = a sigmoid(g), one g per row: the gate on shared experts.
  virtual void scale(const Pointwise&, In a, In g, Out y) = 0;
  virtual void scale_gradient(const Pointwise&, In a, In g, In dy, Out da, bool add_a, Out dg, bool add_g) = 0;
  virtual void activate(const Pointwise&, Activation, In x, Out y) = 0;
  virtual void activate_gradient(const Pointwise&, Activation, In x, In dy, Out dx, bool add) = 0;
  /// y = act(a) b
  virtual void gate(const Pointwise&, Activation, In a, In b, Out y) = 0;
  virtual void gate_gradient(const Pointwise&, Activation, In a, In b, In dy, Out da, bool add_a, Out db,
                             bool add_b) = 0;
  virtual void tanh(const Pointwise&, In /*x*/, Out /*y*/) { throw_lack(); }
  virtual void tanh_gradient(const Pointwise&, In /*x*/, In /*dy*/, Out /*dx*/, bool /*add*/) { throw_lack(); }
  /// y: xIELU (arXiv:2411.13010) of x with two learned parameters, multiplied by b unless b is null. The parameters'
  /// gradients are wide and accumulated.
  virtual void xielu(const Pointwise&, In /*bends*/, In /*x*/, In /*b*/, Out /*y*/) { throw_lack(); }
  virtual void xielu_gradient(const Pointwise&, In /*bends*/, In /*x*/, In /*b*/, In /*dy*/, Out /*dx*/, bool /*add_x*/,
                              Out /*db*/, bool /*add_b*/, Out /*dbends*/) {
    throw_lack();
  }
  /// Multiplies x by a learned factor in place. The gradient call accumulates dfactor (wide) from the result y and its
  /// gradient dx, and turns dx into the gradient of x. dfactor is NaN if the factor is 0, since y then carries no
  /// information about x.
  virtual void multiply_by_learned(const Pointwise&, In /*factor*/, Out /*x*/) { throw_lack(); }
  virtual void multiply_by_learned_gradient(const Pointwise&, In /*factor*/, In /*y*/, Out /*dx*/, Out /*dfactor*/) {
    throw_lack();
  }
  /// y: x convolved along the tokens, followed by silu if the shape specifies it.
  virtual void convolve(const Convolution&, const ConvolutionView&, Out /*y*/) { throw_lack(); }
  virtual void convolve_gradient(const Convolution&, const ConvolutionView&, In /*dy*/, Out /*dx*/, bool /*add*/,
                                 Out /*dw*/, Out /*db*/) {
    throw_lack();
  }
  /// o = q' S, where every token updates the state S: in chunks if the shape specifies them, else token by token.
  virtual void recur(const LinearAttention&, const StateView&, Out /*o*/) { throw_lack(); }
  virtual void recur_gradient(const LinearAttention&, const StateView&, In /*d_o*/, const StateGradients&) {
    throw_lack();
  }
  /// Operators of RWKV-7 and of alternating updates; null if the backend lacks them.
  virtual RwkvKernels* rwkv() { return nullptr; }
  virtual AltUpKernels* altup() { return nullptr; }
  /// Chooses the keys of every query by their index scores.
  virtual void index_scores(const IndexScores&, const IndexView&, AttentionImpl, ChosenIndex* /*chosen*/) {
    throw_lack();
  }
  /// Computes the gradient of the indexer's own loss, KL(target || softmax(scores of the chosen keys))
  /// (arXiv:2512.02556, 2.1). target: wide, (rows, keys); null: the indexer has no loss, and the scores' gradient is
  /// zero.
  virtual void index_gradient(const IndexScores&, const IndexView&, const ChosenIndex* /*chosen*/, In /*target*/,
                              const IndexGradients&) {
    throw_lack();
  }
  /// y: one pooled key per group of tokens.
  virtual void pool(const llmcalc::Pool&, const PoolView&, Out /*y*/) { throw_lack(); }
  virtual void pool_gradient(const llmcalc::Pool&, const PoolView&, In /*dy*/, const PoolGradients&) { throw_lack(); }
  /// y: every row of x, repeated for top_k residual streams.
  virtual void repeat(const Pointwise&, In /*x*/, Out /*y*/) { throw_lack(); }
  virtual void repeat_gradient(const Pointwise&, In /*dy*/, Out /*dx*/, bool /*add*/) { throw_lack(); }
  /// gather: y is the weighted sum of the streams, which a sub-layer reads. spread: out contains the streams, updated
  /// with the sub-layer's result y. See StreamView.
  virtual void gather(const Pointwise&, const StreamView&, Out /*y*/) { throw_lack(); }
  virtual void gather_gradient(const Pointwise&, const StreamView&, In /*dy*/, const StreamGradients&) { throw_lack(); }
  virtual void spread(const Pointwise&, const StreamView&, In /*y*/, Out /*out*/) { throw_lack(); }
  virtual void spread_gradient(const Pointwise&, const StreamView&, In /*y*/, In /*d_out*/, const StreamGradients&) {
    throw_lack();
  }
  /// y: a mix of residual streams, in rows of s.width elements.
  virtual void mix(const Pointwise&, const MixView&, Out /*y*/) { throw_lack(); }
  virtual void mix_gradient(const Pointwise&, const MixView&, In /*dy*/, const MixGradients&) { throw_lack(); }
  /// Applies dropout to x in place. mask: one byte per element; null in inference.
  virtual void dropout(const Pointwise&, const Dropout&, Out x, Out mask) = 0;
  virtual void dropout_gradient(const Pointwise&, const Dropout&, In mask, Out dx) = 0;

  /// Computes the softmax of the logits, with the top_k renormalized to sum to 1 (Mixtral, arXiv:2401.04088); ties go
  /// to the lower-numbered expert. gates: (rows, experts), not_chosen (model/math/routing.hpp) for experts that are not
  /// chosen. saved: wide probabilities, then wide gates; null in inference.
  virtual void route(const Pointwise&, In logits, Out gates, Out saved) = 0;
  virtual void route_gradient(const Pointwise&, In saved, In dgates, Out dlogits, bool add) = 0;
  /// Like route, for a router that also chooses among experts that return their input (Moe::zero_experts). Every token
  /// gets the top visited() experts with weights and, for the rest of top_k, the top experts without weights. Tensor
  /// sizes therefore do not depend on the data, whereas the model's own router reaches these sizes only on average
  /// (arXiv:2509.01322, 2.1). In gates, saved and dgates, experts with weights are laid out as in route, and the others
  /// follow.
  virtual void route_own(const Pointwise&, const Moe&, In /*logits*/, Out /*gates*/, Out /*saved*/) { throw_lack(); }
  virtual void route_own_gradient(const Pointwise&, const Moe&, In /*saved*/, In /*dgates*/, Out /*dlogits*/,
                                  bool /*add*/) {
    throw_lack();
  }
  /// y = a + w b, where w is the sum of the gates of experts that return their input.
  virtual void add_own(const Pointwise&, const Moe&, In /*gates*/, In /*a*/, In /*b*/, Out /*y*/) { throw_lack(); }
  virtual void add_own_gradient(const Pointwise&, const Moe&, In /*route_saved*/, In /*b*/, In /*dy*/, Out /*db*/,
                                bool /*add_b*/, Out /*dgates*/, bool /*add_g*/) {
    throw_lack();
  }
  /// Multiplies the gates of chosen experts by a learned factor per expert. The gradient call turns dgates, in place,
  /// into gradients of the unscaled gates.
  virtual void scale_gates(const Pointwise&, In /*factors*/, Out /*gates*/) { throw_lack(); }
  virtual void scale_gates_gradient(const Pointwise&, In /*saved*/, In /*factors*/, Out /*dgates*/, Out /*dfactors*/) {
    throw_lack();
  }
  /// Copies tokens to the rows of their experts, expert by expert, in token order.
  virtual void dispatch(const Pointwise&, Count experts, In gates, In x, Out y) = 0;
  virtual void dispatch_gradient(const Pointwise&, Count experts, In saved, In dy, Out dx, bool add) = 0;
  /// y = sum of gate x expert row. saved: the gates, wide, top_k per token; null in inference.
  virtual void combine(const Pointwise&, Count experts, In gates, In x, Out y, Out saved) = 0;
  virtual void combine_gradient(const Pointwise&, Count experts, In route_saved, In x, In saved, In dy, Out dx,
                                bool add_x, Out dgates, bool add_g) = 0;

  /// Writes the mean of -log p(target) over the rows of logits to the backend's memory. Logits in the backend's format
  /// stay unchanged, and log_sums (wide) receives the log-sum-exp of every row. Without log_sums the logits are wide
  /// and may be overwritten. Targets are on the host, valid until all calls complete. If the backend runs MTP modules,
  /// rows with a negative target are excluded from the mean and have zero gradient.
  virtual void loss(const Loss&, const std::int64_t* targets, Out logits, Out log_sums, double* mean) = 0;
  /// Overwrites the logits of the last loss with their gradient (softmax - onehot) scale, using the same log_sums. For
  /// wide logits the gradient's format is private to loss_gradient and linear_gradient.
  virtual void loss_gradient(const Loss&, const std::int64_t* targets, double scale, Out logits, In log_sums) = 0;

  /// Loss of wide logits capped to most tanh(x / most). The logits stay unchanged.
  virtual void capped_loss(const Loss&, const std::int64_t* /*targets*/, In /*logits*/, double* /*mean*/) {
    throw_lack();
  }
  /// Overwrites the capped logits y with the gradient of the uncapped logits x, (softmax - onehot) scale (1 - (y /
  /// most)^2). log_sums: as in loss_gradient; null: the logits are wide.
  virtual void capped_loss_gradient(const Loss&, const std::int64_t* /*targets*/, double /*scale*/, double /*most*/,
                                    Out /*logits*/, In /*log_sums*/) {
    throw_lack();
  }
  /// sum += share x, for scalars in the backend's memory.
  virtual void add_share(double /*share*/, const double* /*x*/, double* /*sum*/) { throw_lack(); }

  /// Adds the mean of n values to a double in the backend's memory.
  virtual void add_mean(Count /*n*/, In /*x*/, double* /*to*/) { throw_lack(); }

  /// Copies rows of `width` elements: token t of each sequence goes to slot (past + t) mod capacity.
  virtual void cache(Count sequences, const Positions&, In x, Count x_stride, Count width, Out cache, Count row,
                     Count capacity) = 0;

  /// Quantizes `rows` rows, each encoded separately.
  virtual void encode(const CodedShape&, Count /*rows*/, In /*x*/, Out /*codes*/) { throw_lack(); }
  /// Dequantizes rows [first, first + rows) of a tensor, or of separately encoded rows.
  virtual void decode(const CodedShape&, Count /*first*/, Count /*rows*/, In /*codes*/, Out /*x*/) { throw_lack(); }

  // ---- optimizer, over all parameters; doubles are in the backend's memory
  /// sums[i]: sum of squares of gradient i.
  virtual void square_sums(Updates, double* sums) = 0;
  /// Writes the norm (root of the sum of squares), followed by the clipping factor: most / norm if that is below 1 and
  /// `most` is positive, else 1; NaN if a loss or the norm is not finite.
  virtual void clip(std::span<const double> losses, std::span<const double> squares, double most, double* norm) = 0;
  /// Multiplies every gradient by the factor. If the factor is NaN, this method and optimizers with a clipping factor
  /// change no value.
  virtual void multiply_by(Updates, const double* factor) = 0;
  virtual void update(Updates, const OptimizerStep&) = 0;

  /// Cumulative FLOPs of matmuls and attention: 2 per multiply-add, from the loop bounds of the calls; values of type
  /// Counted instead count each operation as it executes.
  virtual Flops done() const = 0;
  /// Cumulative operations outside matmuls and attention (sums, products, quotients, functions); 0 unless values are of
  /// type Counted.
  virtual Count beside() const { return 0; }
  /// Waits for all calls to complete.
  virtual void wait() {}
  /// The device's instruments; null if it has none.
  virtual Instruments* instruments() { return nullptr; }
  /// Runs f, or replays its recording in `held` with the inputs `moving`. Both give the same results and count the same
  /// FLOPs. f must write its results to existing memory and make the same calls whenever it is called with the same
  /// holder, which is initially empty.
  virtual void replay(std::unique_ptr<Recording>& /*held*/, const Moving& /*moving*/, const std::function<void()>& f) {
    f();
  }

 private:
  /// Models that need a missing operator are rejected by lacks() before they run.
  [[noreturn]] static void throw_lack() { throw std::logic_error("the backend does not implement this operator"); }
};

}  // namespace llmcalc::model
