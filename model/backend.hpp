#pragma once
/// A place to run operators: one method per shape, and one for its gradient. The shape that is passed in is both the
/// loop bounds and the record, so that a log cannot disagree with the run. Pointers are to the backend's memory;
/// numbers are of its format, statistics and gradients of weights of its wide format; logits in training of either.
///
/// Gradients: `dx` is written, or added to where `add` says so; gradients of weights are added to, but where a view
/// says that nothing is there yet.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "calc/op.hpp"
#include "calc/plan.hpp"
#include "model/arena.hpp"
#include "model/attention_core.hpp"
#include "model/instruments.hpp"
#include "model/random.hpp"

namespace llmcalc::model {

using In = const void*;
using Out = void*;

/// Which tokens and how far along: what positions are made of.
struct Positions {
  Count queries = 1, past = 0;
};

/// Token ids, there until what was asked for is done: the host's, and a copy in the backend's memory where one is kept.
struct Ids {
  const std::int64_t* host = nullptr;
  In kept = nullptr;
  Ids(const std::int64_t* on_host = nullptr, In copy = nullptr) : host(on_host), kept(copy) {}
};

/// Numbers of heads in memory: token t of sequence s, head h begins at data + s sequence + t token + h head.
struct HeadView {
  const void* data = nullptr;
  Count sequence = 0, token = 0, head = 0;
  Count capacity = 0;  ///< tokens that there is room for: token t lies at t mod capacity; 0: all
};

/// The second part of a key of latent attention lies apart: rotary numbers that the heads share.
struct AttentionInputs {
  HeadView q, q_rope, k, k_rope, v;
  Count rope_dim = 0;  ///< of qk_dim, the numbers in q_rope and k_rope
  double scale = 1;    ///< of the scores
  const void* sinks = nullptr;
  bool alibi = false;
};

/// What the core keeps for its gradient, and how it computes.
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
  /// What the key was made of, see dropout_key.
  std::uint64_t seed = 0, steps = 0, stream = 0;
  const std::uint64_t* moved = nullptr;  ///< where a recording finds the key: a backend's own
};

/// The dice of an operator (`stream`) in a step.
inline std::uint64_t dropout_key(std::uint64_t seed, std::uint64_t steps, std::uint64_t stream) {
  const RandomWords w = philox(random_key(seed), random_counter(steps, stream));
  return (std::uint64_t{w.word[0]} << 32U) | w.word[1];
}

/// Where AttentionInputs' tensors get their gradients; sinks' is wide.
struct AttentionGradients {
  HeadView q, q_rope, k, k_rope, v;
  void* sinks = nullptr;
};

/// One matrix product per group: the rows of group g are those that a router sent there, or all rows alike.
struct LinearView {
  In x = nullptr, weight = nullptr, bias = nullptr;
  Count x_stride = 0;               ///< numbers from row to row of x; 0: shape.in
  bool wide_output = false;         ///< logits in training, where they are to be wide
  In choice = nullptr;              ///< routed: the router's choice (rows / top_k, groups), see Backend::route
  Count head_rows = 0;              ///< absorbed: rows of the weight per head, of which this product uses some
  Count weight_offset = 0;          ///< absorbed: the first of them
  bool transposed = false;          ///< absorbed: y = x W, not x W'
  Count x_head = 0, y_head = 0;     ///< absorbed: numbers from head to head
  bool add_weight_gradient = true;  ///< else dw is written: nothing is there yet
};

struct NormView {
  In x = nullptr, weight = nullptr, bias = nullptr;
  Count heads = 1;     ///< weights of `heads` rows follow each other (qk-norms with weights of their own)
  Count x_stride = 0;  ///< numbers from row to row; 0: width
  double epsilon = 1e-5;
};

struct AdamW {
  double rate = 1e-3, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, decay = 0;
  Count step = 1;                  ///< counts from 1: bias correction
  const double* factor = nullptr;  ///< see Backend::multiply_by; the gradient has it already
};
struct Momentum {
  double rate = 1e-2, momentum = 0.9, decay = 0;
  const double* factor = nullptr;  ///< as AdamW's
};

/// What changes between runs of otherwise the same operators on the same tensors.
struct Moving {
  std::vector<std::span<const std::int64_t>> tokens = {};  ///< every host array of ids and targets; lengths stay
  Count past = 0;                                          ///< of every Positions and Attention
  std::uint64_t steps = 0;                                 ///< the first of Dropout's
  double rate = 0;                                         ///< of AdamW and Momentum
  Count step = 0;                                          ///< of AdamW
};

/// What a backend keeps to run the same operators again without being asked for each. Gone before the tensors are.
class Recording {
 public:
  virtual ~Recording() = default;
  /// "from a recording", or why it is not, as of the last run.
  virtual std::string how() const = 0;
};

class Backend : public Memory {
 public:
  virtual Bytes number() const = 0;           ///< of weights and activations
  virtual Bytes wide() const = 0;             ///< of gradients, statistics, wide logits, master weights and moments
  virtual std::string_view name() const = 0;  ///< of the device; on a processor, of its instruction set
  /// The code that flash attention ran in last; none where there is but one.
  virtual AttentionCores attention_cores() const { return {}; }
  virtual Bytes capacity() const = 0;  ///< of the memory that it runs in; 0: not known

  virtual void upload(Out to, const void* from, Bytes bytes) = 0;
  virtual void download(void* to, In from, Bytes bytes) = 0;
  virtual void zero(Out x, Bytes bytes) = 0;
  virtual void copy(Out to, In from, Bytes bytes) = 0;
  /// n numbers of the backend's format (or wide ones) from and to doubles on the host.
  virtual void write(Out to, std::span<const double> from, bool wide) = 0;
  virtual void read(std::span<double> to, In from, bool wide) const = 0;

  // ---- operators
  /// Row ids[t] of the table for token t, or, without ids, its position's.
  virtual void lookup(const Lookup&, const Ids& ids, const Positions&, In table, Out y) = 0;
  virtual void lookup_gradient(const Lookup&, const Ids& ids, const Positions&, In dy, Out dtable) = 0;
  /// y += sin and cos of the positions (Vaswani et al. 2017, 3.5).
  virtual void add_sinusoid(const Lookup&, const Positions&, Out y) = 0;

  virtual void linear(const Linear&, const LinearView&, Out y) = 0;
  /// Where the output is wide, dy is what loss_gradient left, and may be overwritten: it is not needed afterwards.
  virtual void linear_gradient(const Linear&, const LinearView&, In dy, Out dx, bool add, Out dw, Out db) = 0;

  /// `statistics`: wide; (mean,) 1/deviation per row; may be absent.
  virtual void norm(const Norm&, const NormView&, Out y, Out statistics) = 0;
  virtual void norm_gradient(const Norm&, const NormView&, In statistics, In dy, Out dx, bool add, Out dw, Out db) = 0;

  virtual void attention(const Attention&, const AttentionInputs&, AttentionImpl, const Dropout&, const AttentionKept&,
                         Out o) = 0;
  /// `o` is the output (flash); `scratch` a buffer of the scores' size (naive).
  virtual void attention_gradient(const Attention&, const AttentionInputs&, AttentionImpl, const Dropout&,
                                  const AttentionKept&, In o, In d_o, Out scratch, const AttentionGradients&) = 0;

  /// Rotates pairs (i, i + width/2) of every head by position x 10000^(-2i/width) (RoFormer, arXiv:2104.09864);
  /// `inverse`: back, which is the gradient too. A row is `heads` heads `head` apart, rotated from `offset` on.
  virtual void rope(Count rows, const Positions&, Out x, Count row, Count heads, Count head, Count width, Count offset,
                    bool inverse) = 0;
  virtual void add(const Pointwise&, In a, In b, Out y) = 0;
  virtual void accumulate(Count n, In x, Out y) = 0;  ///< y += x
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
  /// In place; mask: a byte per number, or absent in inference.
  virtual void dropout(const Pointwise&, const Dropout&, Out x, Out mask) = 0;
  virtual void dropout_gradient(const Pointwise&, const Dropout&, In mask, Out dx) = 0;

  /// Softmax of the logits, the top_k of it renormalised to sum to 1 (Mixtral, arXiv:2401.04088), ties to the lower
  /// expert. gates: (rows, experts), -1 where an expert was not chosen. kept: wide probabilities, then the gates once
  /// more in wide numbers; absent in inference.
  virtual void route(const Pointwise&, In logits, Out gates, Out kept) = 0;
  virtual void route_gradient(const Pointwise&, In kept, In dgates, Out dlogits, bool add) = 0;
  /// Rows of each expert one after another, tokens in order: y row r is the token that was sent there.
  virtual void dispatch(const Pointwise&, Count experts, In gates, In x, Out y) = 0;
  virtual void dispatch_gradient(const Pointwise&, Count experts, In kept, In dy, Out dx, bool add) = 0;
  /// y = sum of gate x expert's row; kept: the gates, wide, top_k per token; absent in inference.
  virtual void combine(const Pointwise&, Count experts, In gates, In x, Out y, Out kept) = 0;
  virtual void combine_gradient(const Pointwise&, Count experts, In route_kept, In x, In kept, In dy, Out dx,
                                bool add_x, Out dgates, bool add_g) = 0;

  /// The mean of -log p(target) over the rows of logits, into the backend's memory. Logits of the backend's format stay
  /// as they are, and log_sums, wide, gets the log-sum-exp of every row; without log_sums they are wide, and may be
  /// overwritten. Targets, the host's, are there until what was asked for is done.
  virtual void loss(const Loss&, const std::int64_t* targets, Out logits, Out log_sums, double* mean) = 0;
  /// (softmax - onehot) scale of the logits whose loss was asked for last, in their place, with the same log_sums. Of
  /// wide logits it is for linear_gradient alone, in numbers and places that the two agree on.
  virtual void loss_gradient(const Loss&, const std::int64_t* targets, double scale, Out logits, In log_sums) = 0;

  /// Copies `rows` rows of `width` numbers, token t of each of `sequences` to slot (past + t) mod capacity.
  virtual void cache(Count sequences, const Positions&, In x, Count x_stride, Count width, Out cache, Count row,
                     Count capacity) = 0;

  // ---- optimizer, on n numbers; doubles in the backend's memory
  virtual void square_sum(Count n, In gradient, double* sum) = 0;
  /// The norm that the squares add up to, and after it what a clipped gradient is multiplied by: most / norm where that
  /// is below 1 and `most` above 0, else 1; not a number where a loss or the norm is not finite.
  virtual void clip(std::span<const double> losses, std::span<const double> squares, double most, double* norm) = 0;
  /// Where the factor is not a number nothing is done, here and in the optimizers that are given one.
  virtual void multiply_by(Count n, const double* factor, Out gradient) = 0;
  virtual void adamw(Count n, const AdamW&, In gradient, Out weight, Out master, Out m, Out v) = 0;
  virtual void sgd(Count n, const Momentum&, In gradient, Out weight, Out master, Out velocity) = 0;

  /// FLOPs of matrix products and attention so far: 2 per multiply-add, from the loop bounds of what ran. Counted
  /// numbers count each operation as it is done.
  virtual Flops done() const = 0;
  /// Operations that counting numbers did outside products so far: sums, products, quotients, functions. Else 0.
  virtual Count beside() const { return 0; }
  /// Waits until everything asked for has been done.
  virtual void wait() {}
  /// What measures the device while it runs; null: nothing does.
  virtual Instruments* instruments() { return nullptr; }
  /// Runs f, or what f asked for the last time that it ran with what this holds, with what moves now: the same results,
  /// FLOPs counted again. f leaves its results in memory that was there before it, and asks for the same whenever it is
  /// called with the same holder, which is empty at first.
  virtual void replay(std::unique_ptr<Recording>& held, const Moving& moving, const std::function<void()>& f) {
    static_cast<void>(held), static_cast<void>(moving);
    f();
  }
};

}  // namespace llmcalc::model
