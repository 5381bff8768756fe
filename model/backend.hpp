#pragma once
/// A device that runs operators: one method per shape, and one for its gradient. The shape gives both the loop bounds
/// and the log entry, so that a log cannot disagree with the run. Pointers are to the backend's memory; numbers are in
/// its format, statistics and gradients of weights in its wide format; logits in training in either.
///
/// Gradients: `dx` is written, or accumulated if `add`; gradients of weights are accumulated, unless a view says that
/// the buffer is still empty.

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

/// The positions of the tokens of a pass, and how far they turn rotary pairs; null: 10000^(-2i/width).
struct Positions {
  Count queries = 1, past = 0;
  const Rotary* rotary = nullptr;
  Count apart = 1;  ///< from one row's position to the next: tokens of a pooled key
  const DocumentRange* documents =
      nullptr;  ///< of every token of a sequence, each with positions of its own; null: one
  /// That of token t of the queries.
  Count of(Count t) const { return documents != nullptr ? t - documents[t].first : past + t; }
};

/// Token ids, valid until all calls are done: the host's, and a copy in the backend's memory where one is kept.
struct Ids {
  const std::int64_t* host = nullptr;
  In kept = nullptr;
  Ids(const std::int64_t* on_host = nullptr, In copy = nullptr) : host(on_host), kept(copy) {}
};

/// What relative positions add to the scores of head h: number (i keys + j) heads + h of query i and key j; or, where a
/// step has one query, number r heads + h of the table, r the key's range of distances. Null: nothing.
struct RelativeInputs {
  const void* numbers = nullptr;
  bool is_table = false;
  DistanceRanges ranges = {};
};

/// Inputs of the attention core. Latent attention's rotary numbers, which the heads share, lie apart.
struct AttentionInputs {
  HeadView q, q_rope, k, k_rope, v;
  HeadView pooled = {};  ///< keys, and values, of groups of tokens (Attention::pooled)
  Count rope_dim = 0;    ///< of qk_dim, the numbers in q_rope and k_rope
  double scale = 1;      ///< of the scores
  double cap = 0;        ///< scores s become cap tanh(s / cap); 0: they do not
  const void* sinks = nullptr;
  bool alibi = false;
  const ChosenIndex* chosen = nullptr;       ///< the keys of every query; null: all in reach
  Count indices = 0;                         ///< of a query's choice
  const DocumentRange* documents = nullptr;  ///< of every token of a sequence, which attends within its own; null: one
  RelativeInputs relative = {};
};

/// Buffers that the core keeps for its gradient, and its implementation.
struct AttentionKept {
  Out scores = nullptr;         ///< naive, seed's storage: the scores before softmax
  Out probabilities = nullptr;  ///< naive: after softmax
  Out dropped = nullptr;        ///< naive with dropout: after dropout
  Out mask = nullptr;           ///< naive with dropout: a byte each
  Out log_sum_exp = nullptr;    ///< flash: wide, one per row and head; may be absent in inference
};

/// Naive attention's buffers, as numbers.
template <typename T>
struct NaiveKept {
  T *scores, *probabilities, *dropped;
  std::uint8_t* mask;
  explicit NaiveKept(const AttentionKept& k)
      : scores(static_cast<T*>(k.scores)),
        probabilities(static_cast<T*>(k.probabilities)),
        dropped(static_cast<T*>(k.dropped)),
        mask(static_cast<std::uint8_t*>(k.mask)) {}
};

/// Replayable dropout: number i of this operator stays if Philox(key, i) says so.
struct Dropout {
  double p = 0;
  std::uint64_t key = 0;
  /// The inputs of the key, see dropout_key.
  std::uint64_t seed = 0, steps = 0, stream = 0;
  const std::uint64_t* moved = nullptr;  ///< a recording's pointer to the key, in a backend's own memory
};

/// The key of the dropout mask of an operator (`stream`) in a step.
inline std::uint64_t dropout_key(std::uint64_t seed, std::uint64_t steps, std::uint64_t stream) {
  const RandomWords w = philox(random_key(seed), random_counter(steps, stream));
  return (std::uint64_t{w.word[0]} << 32U) | w.word[1];
}

/// Destinations of the gradients of AttentionInputs' tensors; that of the sinks is wide.
struct AttentionGradients {
  HeadView q, q_rope, k, k_rope, v, pooled = {};
  bool add_keys = false;  ///< gradients of keys and values are added: other layers read them, too
  void* sinks = nullptr;
  void* relative = nullptr;  ///< of the numbers that relative positions add, which all sequences add to
};

/// One matrix product per group: the rows of group g are those that a router sent there, or all rows alike.
struct LinearView {
  In x = nullptr, weight = nullptr, bias = nullptr;
  Count x_stride = 0;               ///< numbers from row to row of x; 0: shape.in
  bool wide_output = false;         ///< y is in the wide format: logits in training
  In choice = nullptr;              ///< routed: the router's choice (rows / top_k, groups), see Backend::route
  Count head_rows = 0;              ///< absorbed: rows of the weight per head, of which this product uses some
  Count weight_offset = 0;          ///< absorbed: the first row used
  bool transposed = false;          ///< absorbed: y = x W, not x W'
  Count x_head = 0, y_head = 0;     ///< absorbed: numbers from head to head
  bool add_weight_gradient = true;  ///< false: dw is written, because it is still empty
};

struct NormView {
  In x = nullptr, weight = nullptr, bias = nullptr;
  Count heads = 1;     ///< weights of `heads` rows follow each other (qk-norms with weights of their own)
  Count x_stride = 0;  ///< numbers from row to row; 0: width
  double epsilon = 1e-5;
  double offset = 0;  ///< added to every weight: 1 where they are stored less 1
};

/// The inputs that change between replays of the same operators on the same tensors.
struct Moving {
  std::vector<std::span<const std::int64_t>> tokens = {};  ///< every host array of ids and targets; lengths stay
  Count past = 0;                                          ///< of every Positions and Attention
  std::uint64_t steps = 0;                                 ///< the first of Dropout's
  double rate = 0;                                         ///< OptimizerStep::rate
  Count step = 0;                                          ///< OptimizerStep::step
};

/// A backend's recording (a captured graph) of a sequence of operators. Destroyed before its tensors.
class Recording {
 public:
  virtual ~Recording() = default;
  /// How the last run went: "from a recording", or why not.
  virtual std::string how() const = 0;
};

class Backend : public ArenaMemory {
 public:
  virtual Bytes number() const = 0;  ///< of weights and activations
  /// The format of its numbers: of a size, there is one that most backends have.
  virtual DType format() const {
    if (number() == Bytes(2)) return dtypes::bf16;
    return number() == Bytes(4) ? dtypes::fp32 : *dtype("fp64");
  }
  virtual Bytes wide() const = 0;             ///< of gradients, statistics, wide logits, master weights and moments
  virtual std::string_view name() const = 0;  ///< of the device; on a processor, of its instruction set
  /// The code that flash attention ran in last; none where there is but one.
  virtual AttentionCores attention_cores() const { return {}; }
  /// Whether it computes with these; every backend does with the default ones and any epsilon.
  virtual bool computes(const Numerics&) const = 0;
  /// What a model needs that the backend does not have, in the words of a sentence; empty: nothing.
  virtual std::string lacks(const Arch&) const { return {}; }
  /// What a plan needs that the backend does not have, in the words of a sentence; empty: nothing. A backend that does
  /// not override this runs fp32 and bf16 with Adam, momentum and SGD alone.
  virtual std::string lacks_of(const Plan& plan) const {
    if (plan.precision == dtypes::fp16) return "half precision";
    if (plan.kv_precision != plan.precision || plan.weight_precision != plan.precision)
      return "codes of weights, keys and values";
    const bool is_usual =
        plan.optimizer == Optimizer::adam || plan.optimizer == Optimizer::momentum || plan.optimizer == Optimizer::sgd;
    if (!is_usual) return "optimizers but adam, momentum and sgd";
    if (plan.state_precision != dtypes::fp32) return "optimizer states but float32 ones";
    if (!plan.documents.empty()) return "documents of a packed sequence";
    if (trains_adapters(plan)) return "adapters";
    if (!plan.frozen.empty()) return "frozen weights";
    if (plan.gradient_bytes != 4) return "gradients but float32 ones";
    if (plan.logits.chunks > 1) return "logits in chunks";
    return {};
  }
  /// Whether it runs modules for further tokens (Plan::mtp): a loss of the rows that have a target, and sums of losses.
  virtual bool runs_modules() const { return true; }
  virtual Bytes capacity() const = 0;                     ///< bytes of the device's memory; 0: not known
  virtual Bytes available() const { return capacity(); }  ///< those that nobody uses

  virtual void upload(Out to, const void* from, Bytes bytes) = 0;
  virtual void download(void* to, In from, Bytes bytes) = 0;
  virtual void zero(Out x, Bytes bytes) = 0;
  virtual void copy(Out to, In from, Bytes bytes) = 0;
  /// Copies n numbers of the backend's format (or wide ones) from and to doubles on the host.
  virtual void write(Out to, std::span<const double> from, bool wide) = 0;
  virtual void read(std::span<double> to, In from, bool wide) const = 0;

  // ---- operators
  /// y row t = row ids[t] of the table, or without ids the row of t's position.
  virtual void lookup(const Lookup&, const Ids& ids, const Positions&, In table, Out y) = 0;
  virtual void lookup_gradient(const Lookup&, const Ids& ids, const Positions&, In dy, Out dtable) = 0;
  /// y += sin and cos of the positions (Vaswani et al. 2017, 3.5).
  virtual void add_sinusoid(const Lookup&, const Positions&, Out y) = 0;

  virtual void linear(const Linear&, const LinearView&, Out y) = 0;
  /// dx, dw, db from dy, those that are not null; without dw there need be no x. Where the output is wide, dy is the
  /// result of loss_gradient, and may be overwritten.
  virtual void linear_gradient(const Linear&, const LinearView&, In dy, Out dx, bool add, Out dw, Out db) = 0;

  /// `statistics`: wide; (mean,) 1/deviation per row; may be absent.
  virtual void norm(const Norm&, const NormView&, Out y, Out statistics) = 0;
  virtual void norm_gradient(const Norm&, const NormView&, In statistics, In dy, Out dx, bool add, Out dw, Out db) = 0;

  virtual void attention(const Attention&, const AttentionInputs&, AttentionImpl, const Dropout&, const AttentionKept&,
                         Out o) = 0;
  /// `o` is the output (flash); `scratch` a buffer of the scores' size (naive).
  virtual void attention_gradient(const Attention&, const AttentionInputs&, AttentionImpl, const Dropout&,
                                  const AttentionKept&, In o, In d_o, Out scratch, const AttentionGradients&) = 0;

  /// Rotates pairs (i, i + width/2) of every head by position x frequency i of its Positions (RoFormer,
  /// arXiv:2104.09864), and scales them; `inverse`: back, and scaled again, which is the gradient. A row is `heads`
  /// heads `head` apart, rotated from `offset` on.
  virtual void rope(Count rows, const Positions&, Out x, Count row, Count heads, Count head, Count width, Count offset,
                    bool inverse) = 0;
  virtual void add(const Pointwise&, In a, In b, Out y) = 0;
  virtual void accumulate(Count n, In x, Out y) = 0;  ///< y += x
  /// n numbers times a factor, which is rounded to the backend's format first (hf gemma/modeling_gemma.py, normalizer).
  virtual void multiply_all(Count n, double factor, Out x) = 0;
  /// n numbers x, wide or not, become most tanh(x / most).
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
  /// xIELU (arXiv:2411.13010) of x by two learned numbers, times b where it is there. Their gradients, wide, are added.
  virtual void xielu(const Pointwise&, In /*bends*/, In /*x*/, In /*b*/, Out /*y*/) { throw_lack(); }
  virtual void xielu_gradient(const Pointwise&, In /*bends*/, In /*x*/, In /*b*/, In /*dy*/, Out /*dx*/, bool /*add_x*/,
                              Out /*db*/, bool /*add_b*/, Out /*dbends*/) {
    throw_lack();
  }
  /// x times a learned number, in place. Its gradient, wide, is added, from the result y and the gradient dx of it,
  /// which becomes that of x; it is not a number where the learned one is 0, since y says nothing of x then.
  virtual void multiply_by_learned(const Pointwise&, In /*factor*/, Out /*x*/) { throw_lack(); }
  virtual void multiply_by_learned_gradient(const Pointwise&, In /*factor*/, In /*y*/, Out /*dx*/, Out /*dfactor*/) {
    throw_lack();
  }
  /// y: x convolved along the tokens, under silu where the shape says so.
  virtual void convolve(const Convolution&, const ConvolutionView&, Out /*y*/) { throw_lack(); }
  virtual void convolve_gradient(const Convolution&, const ConvolutionView&, In /*dy*/, Out /*dx*/, bool /*add*/,
                                 Out /*dw*/, Out /*db*/) {
    throw_lack();
  }
  /// o = q' S of the state S that every token updates, in chunks where the shape has them, else token by token.
  virtual void recur(const LinearAttention&, const StateView&, Out /*o*/) { throw_lack(); }
  virtual void recur_gradient(const LinearAttention&, const StateView&, In /*d_o*/, const StateGradients&) {
    throw_lack();
  }
  /// RWKV-7's own operators, and those of alternating updates; null: the backend has none.
  virtual RwkvKernels* rwkv() { return nullptr; }
  virtual AltUpKernels* altup() { return nullptr; }
  /// Every query's choice of keys by their index scores.
  virtual void index_scores(const IndexScores&, const IndexView&, AttentionImpl, ChosenIndex* /*chosen*/) {
    throw_lack();
  }
  /// The gradient of the loss that an indexer has of its own, KL(target || softmax(scores of the chosen keys)) (arXiv:
  /// 2512.02556, 2.1). target: wide, (rows, keys); null: there is no such loss, and the scores' gradient is zero.
  virtual void index_gradient(const IndexScores&, const IndexView&, const ChosenIndex* /*chosen*/, In /*target*/,
                              const IndexGradients&) {
    throw_lack();
  }
  /// y: keys of groups of tokens.
  virtual void pool(const llmcalc::Pool&, const PoolView&, Out /*y*/) { throw_lack(); }
  virtual void pool_gradient(const llmcalc::Pool&, const PoolView&, In /*dy*/, const PoolGradients&) { throw_lack(); }
  /// y: every row of x as top_k residual streams.
  virtual void repeat(const Pointwise&, In /*x*/, Out /*y*/) { throw_lack(); }
  virtual void repeat_gradient(const Pointwise&, In /*dy*/, Out /*dx*/, bool /*add*/) { throw_lack(); }
  /// y: the sum of the streams that a sub-layer reads; out: the streams with its result y (see StreamView).
  virtual void gather(const Pointwise&, const StreamView&, Out /*y*/) { throw_lack(); }
  virtual void gather_gradient(const Pointwise&, const StreamView&, In /*dy*/, const StreamGradients&) { throw_lack(); }
  virtual void spread(const Pointwise&, const StreamView&, In /*y*/, Out /*out*/) { throw_lack(); }
  virtual void spread_gradient(const Pointwise&, const StreamView&, In /*y*/, In /*d_out*/, const StreamGradients&) {
    throw_lack();
  }
  /// y: a mix of residual streams, rows of s.width numbers.
  virtual void mix(const Pointwise&, const MixView&, Out /*y*/) { throw_lack(); }
  virtual void mix_gradient(const Pointwise&, const MixView&, In /*dy*/, const MixGradients&) { throw_lack(); }
  /// Dropout of x in place; mask: a byte per number, or absent in inference.
  virtual void dropout(const Pointwise&, const Dropout&, Out x, Out mask) = 0;
  virtual void dropout_gradient(const Pointwise&, const Dropout&, In mask, Out dx) = 0;

  /// Softmax of the logits, its top_k renormalised to sum to 1 (Mixtral, arXiv:2401.04088), ties to the lower expert.
  /// gates: (rows, experts), not_chosen (model/math/routing.hpp) where an expert was not. kept: wide probabilities,
  /// then wide gates; absent in inference.
  virtual void route(const Pointwise&, In logits, Out gates, Out kept) = 0;
  virtual void route_gradient(const Pointwise&, In kept, In dgates, Out dlogits, bool add) = 0;
  /// The same of a router that chooses, besides, among experts that return their input (Moe::zero_experts): of every
  /// token the greatest visited() that have weights, and for the rest of top_k the greatest that have none. So sizes do
  /// not depend on numbers; a router of the model's own makes it so in the mean (arXiv:2509.01322, 2.1). The numbers of
  /// experts with weights lie in gates, kept and dgates as route's do, and those of the others follow.
  virtual void route_own(const Pointwise&, const Moe&, In /*logits*/, Out /*gates*/, Out /*kept*/) { throw_lack(); }
  virtual void route_own_gradient(const Pointwise&, const Moe&, In /*kept*/, In /*dgates*/, Out /*dlogits*/,
                                  bool /*add*/) {
    throw_lack();
  }
  /// y = a + w b; w: the sum of the gates of experts that return their input.
  virtual void add_own(const Pointwise&, const Moe&, In /*gates*/, In /*a*/, In /*b*/, Out /*y*/) { throw_lack(); }
  virtual void add_own_gradient(const Pointwise&, const Moe&, In /*route_kept*/, In /*b*/, In /*dy*/, Out /*db*/,
                                bool /*add_b*/, Out /*dgates*/, bool /*add_g*/) {
    throw_lack();
  }
  /// Gates of chosen experts times a learned factor per expert; dgates, in place, become the gradients of the gates
  /// before.
  virtual void scale_gates(const Pointwise&, In /*factors*/, Out /*gates*/) { throw_lack(); }
  virtual void scale_gates_gradient(const Pointwise&, In /*kept*/, In /*factors*/, Out /*dgates*/, Out /*dfactors*/) {
    throw_lack();
  }
  /// Copies tokens to the rows of their experts, expert by expert, tokens in order.
  virtual void dispatch(const Pointwise&, Count experts, In gates, In x, Out y) = 0;
  virtual void dispatch_gradient(const Pointwise&, Count experts, In kept, In dy, Out dx, bool add) = 0;
  /// y = sum of gate x expert's row; kept: the gates, wide, top_k per token; absent in inference.
  virtual void combine(const Pointwise&, Count experts, In gates, In x, Out y, Out kept) = 0;
  virtual void combine_gradient(const Pointwise&, Count experts, In route_kept, In x, In kept, In dy, Out dx,
                                bool add_x, Out dgates, bool add_g) = 0;

  /// The mean of -log p(target) over the rows of logits, into the backend's memory. Logits of the backend's format stay
  /// unchanged, and log_sums, wide, gets the log-sum-exp of every row; without log_sums the logits are wide, and may be
  /// overwritten. Targets are the host's, valid until all calls are done; where the backend runs modules, a row whose
  /// target is negative has none: it is not in the mean, and its gradient is zero.
  virtual void loss(const Loss&, const std::int64_t* targets, Out logits, Out log_sums, double* mean) = 0;
  /// Overwrites the logits of the last loss with their gradient (softmax - onehot) scale, with the same log_sums. For
  /// wide logits its format is private to loss_gradient and linear_gradient.
  virtual void loss_gradient(const Loss&, const std::int64_t* targets, double scale, Out logits, In log_sums) = 0;

  /// The loss of wide logits under a cap, which stay as they are: capping has left most tanh(x / most).
  virtual void capped_loss(const Loss&, const std::int64_t* /*targets*/, In /*logits*/, double* /*mean*/) {
    throw_lack();
  }
  /// The gradient of the logits x before the cap, (softmax - onehot) scale (1 - (y / most)^2), in place of the capped
  /// ones y. log_sums: as loss_gradient's; null: the logits are wide.
  virtual void capped_loss_gradient(const Loss&, const std::int64_t* /*targets*/, double /*scale*/, double /*most*/,
                                    Out /*logits*/, In /*log_sums*/) {
    throw_lack();
  }
  /// sum += share x, one number each in the backend's memory.
  virtual void add_share(double /*share*/, const double* /*x*/, double* /*sum*/) { throw_lack(); }

  /// Adds the mean of n numbers to one in the backend's memory.
  virtual void add_mean(Count /*n*/, In /*x*/, double* /*to*/) { throw_lack(); }

  /// Copies `rows` rows of `width` numbers, token t of each of `sequences` to slot (past + t) mod capacity.
  virtual void cache(Count sequences, const Positions&, In x, Count x_stride, Count width, Out cache, Count row,
                     Count capacity) = 0;

  /// Codes of numbers, `rows` rows alone side by side.
  virtual void encode(const CodedShape&, Count /*rows*/, In /*x*/, Out /*codes*/) { throw_lack(); }
  /// The numbers of rows [first, first + rows) of a tensor, or of rows alone side by side.
  virtual void decode(const CodedShape&, Count /*first*/, Count /*rows*/, In /*codes*/, Out /*x*/) { throw_lack(); }

  // ---- optimizer, on all parameters; doubles in the backend's memory
  /// sums[i]: of the squares of gradient i.
  virtual void square_sums(Updates, double* sums) = 0;
  /// The norm (root of the sum of the squares), followed by the factor that clips the gradient: most / norm where that
  /// is below 1 and `most` above 0, else 1; NaN where a loss or the norm is not finite.
  virtual void clip(std::span<const double> losses, std::span<const double> squares, double most, double* norm) = 0;
  /// Every gradient *= factor. A NaN factor skips the operation, here and in the optimizers that take one.
  virtual void multiply_by(Updates, const double* factor) = 0;
  virtual void update(Updates, const OptimizerStep&) = 0;

  /// FLOPs of matrix products and attention so far: 2 per multiply-add, from the loop bounds of the calls. Counted
  /// numbers count each operation as it executes.
  virtual Flops done() const = 0;
  /// Operations outside products so far (sums, products, quotients, functions); 0 unless numbers are Counted.
  virtual Count beside() const { return 0; }
  /// Waits for all calls to complete.
  virtual void wait() {}
  /// The device's instruments; null: none.
  virtual Instruments* instruments() { return nullptr; }
  /// Runs f, or replays its recording in `held` with the inputs `moving`: same results, FLOPs counted again. f must
  /// write its results to existing memory and make the same calls whenever it is called with the same holder, empty at
  /// first.
  virtual void replay(std::unique_ptr<Recording>& /*held*/, const Moving& /*moving*/, const std::function<void()>& f) {
    f();
  }

 private:
  /// A model with what the backend lacks() is refused before it runs.
  [[noreturn]] static void throw_lack() { throw std::logic_error("the backend has no such operator"); }
};

}  // namespace llmcalc::model
