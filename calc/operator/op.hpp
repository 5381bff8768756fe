#pragma once
/// Operators: a name, a shape, and the tensors read and written. The engine prices shapes, the reference transformer
/// runs them, and the validator uses them as join keys. Parameters, FLOPs, bytes and the tensors saved for backward all
/// follow from the shape (calc/cost/cost.hpp).

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <string_view>
#include <variant>

#include "calc/arch.hpp"
#include "calc/formats/weight_formats.hpp"
#include "calc/inplace_vector.hpp"
#include "calc/layout.hpp"
#include "calc/links/collective.hpp"
#include "calc/units.hpp"

namespace llmcalc {

/// y (tokens, width) = table (rows, width) [ids].
struct Lookup {
  Count tokens = 0, rows = 0, width = 0;
  bool tied = false;  ///< whether it is the model's table, whose parameters count there
  constexpr bool operator==(const Lookup&) const = default;
};

/// y (rows, out) = x (rows, in) W (in, out) + b, for `groups` matrices that share the rows: the experts of a mixture,
/// or the heads of an absorbed projection. `rows` is the total over all groups. top_k > 0: a router sends each token
/// to top_k of the groups of all `expert_ranks` ranks, so there are tokens x top_k rows; `rows` and `groups` are per
/// rank.
struct Linear {
  Count rows = 0, in = 0, out = 0, groups = 1, top_k = 0;
  bool bias = false;
  bool tied = false;  ///< whether W is the model's token embedding or head, whose parameters count there
  Count expert_ranks = 1;
  constexpr bool operator==(const Linear&) const = default;
};

/// y (rows, width) = norm(x) * w + b. `weights` is the total number of parameters; qk-norms normalize rows of a head's
/// width, and heads may share parameters.
struct Norm {
  Count rows = 0, width = 0, weights = 0;
  bool centered = false;  ///< whether it is a LayerNorm, which saves mean and deviation; an RMSNorm saves one statistic
  bool per_head = false;  ///< whether each head has separate weights (qk-norms)
  bool spans = false;     ///< whether a row spans all heads of a token (qk-norms)
  constexpr bool operator==(const Norm&) const = default;
};

/// o = softmax(q k' / sqrt(qk_dim)) v, causal unless `bidirectional`. q is (sequences, queries, heads, qk_dim); k and
/// v have kv_heads heads over `keys` tokens, the last of which are the queries. latent_dim > 0: the cache stores one
/// latent row of that width per token (MLA). absorbed: queries attend to the latent rows directly. Context
/// parallelism (calc/parallel/context.hpp) shards either the queries, and `queries` is then per rank, or the heads.
struct Attention {
  Count sequences = 0, heads = 0, kv_heads = 0, queries = 0, keys = 0, qk_dim = 0, v_dim = 0;
  Reach reach{};
  Count latent_dim = 0, rope_dim = 0;
  bool absorbed = false, expanded_cache = false, sinks = false;
  Count pair_ranks = 1;        ///< number of ranks that divide the query-key pairs evenly, each for a part of the
                               ///< queries
  Count head_ranks = 1;        ///< number of ranks across which the heads are sharded; each rank holds the sinks of
                               ///< all heads
  Count token_ranks = 1;       ///< number of ranks across which the cached tokens are sharded
  bool ring = false;           ///< whether other ranks' keys and values pass through this rank, one rank's at a time
  bool shared_kv = false;      ///< whether keys and values come from another layer, which caches them
  bool shares_kv = false;      ///< whether later layers also read its keys and values
  bool bidirectional = false;  ///< whether every query sees all keys, or with a window the keys on both sides
  bool cross = false;          ///< whether keys and values come from the encoder's tokens and are cached once
  bool relative = false;       ///< whether a bias per head and query-key pair, equal for all sequences, is added to the
                               ///< scores
  Selection selection{};       ///< keys that an indexer selects from the keys in reach or from the pooled keys
  Count pooled = 0;            ///< number of tokens per pooled key; pooled keys are read along with the keys in reach
  bool shared = false;         ///< whether the values are the keys
  constexpr bool operator==(const Attention&) const = default;
  constexpr Count rows() const { return mul(sequences, queries); }
  /// Number of queries over all ranks.
  constexpr Count all_queries() const { return queries * pair_ranks; }
  /// Number of tokens before the first query.
  constexpr Count past() const { return keys - all_queries(); }
  /// Number of pooled keys that the query of token t sees: one per complete group up to t, or the selected keys.
  constexpr Count pooled_seen(Count t) const {
    const Count all = pooled > 0 ? (t + 1) / pooled : 0;
    return selection.chooses() && selection.keys < all ? selection.keys : all;
  }
  /// Number of elements in one token's keys and values, as the attention core reads them.
  constexpr Count key_numbers() const { return absorbed ? latent_dim : mul(kv_heads, add(qk_dim, shared ? 0 : v_dim)); }
  /// Whether the layer caches its keys and values for later tokens.
  constexpr bool caches() const { return !shared_kv && (cross || !bidirectional); }
  constexpr bool caches_latent() const { return latent_dim > 0 && !expanded_cache; }
  /// Elements cached per token by this layer on this rank.
  constexpr Count cached() const {
    if (!caches() || cross) return 0;
    return caches_latent() ? latent_dim : mul(kv_heads, add(qk_dim, shared ? 0 : v_dim));
  }
  /// Whether the attention core reads the cache directly instead of keys and values expanded from it.
  constexpr bool reads_cache() const { return (cross || !bidirectional) && (absorbed || !caches_latent()); }
};

/// Scores of an indexer, and the keys that it selects: relu(q k'), weighted by head and summed over heads, without
/// softmax. q is (sequences, queries, heads, width); each of `keys` tokens, the last of which are the queries, has one
/// key of `width` elements. All attention heads read the same keys, so each tensor-parallel rank computes all scores.
/// The result is `chosen` selected indices of tokens or of blocks, 4 bytes each.
struct IndexScores {
  Count sequences = 0, heads = 0, queries = 0, keys = 0, width = 0;
  Selection selection{};
  Count pooled = 0;  ///< number of tokens per pooled key; 0: every token has a key
  constexpr bool operator==(const IndexScores&) const = default;
  constexpr Count rows() const { return mul(sequences, queries); }
  /// Number of tokens before the first query.
  constexpr Count past() const { return keys - queries; }
  /// Number of keys for all tokens.
  constexpr Count all_keys() const { return pooled > 0 ? ceil_div(keys, pooled) : keys; }
  /// Number of indices in the selection.
  constexpr Count chosen() const { return mul(rows(), selection.indices(all_keys())); }
};

/// The rule by which a token updates a head's recurrent state.
enum class StateRule : std::uint8_t {
  sum,          ///< S + k v': 2 passes over the state, for the update and the multiplication by q (lightning
                ///< attention)
  state_space,  ///< a S + k v': 3 passes, including the decay (Mamba, mLSTM; RWKV-5 and -6, whose query reads the
                ///< state before the update and adds the current token with a bonus)
  delta,        ///< a S + k (v - k' a S)': 4 passes, including the decay and the multiplication by k (DeltaNet, KDA)
  removal,      ///< a S - b (r' S) + k v': 5 passes, because removal uses separate keys r and b (RWKV-7)
  diagonal      ///< a S + v, one value per channel, which is also the output: 1 pass (RG-LRU)
};
/// Number of passes over the state per token, each 2 FLOPs per state element.
constexpr Count passes(StateRule rule) {
  switch (rule) {
    case StateRule::sum:
      return 2;
    case StateRule::state_space:
      return 3;
    case StateRule::delta:
      return 4;
    case StateRule::removal:
      return 5;
    case StateRule::diagonal:
      break;
  }
  return 1;
}

/// A state of key_dim x head_dim per head that every token updates and reads with its query: o = q' S (lightning
/// attention, arXiv:2501.08313; DeltaNet, arXiv:2412.06464; Mamba, whose queries and keys are C and B). q and k
/// (sequences, queries, key_heads, key_dim), v and o (sequences, queries, heads, head_dim). `gates`: number of
/// further input values per token (decays, betas, steps). `weights`: number of parameters (decays, steps, skips).
struct LinearAttention {
  Count sequences = 0, heads = 0, queries = 0, head_dim = 0;
  Count key_heads = 0, key_dim = 0;
  StateRule rule = StateRule::sum;
  Count chunk = 0;  ///< number of tokens per chunk in the kernels; 0: token by token
  Count gates = 0, weights = 0;
  Count state_bytes = 4;       ///< number of bytes per state element
  bool shares_values = false;  ///< whether later layers also read its values, which are input `values_at`
  bool normalized = false;  ///< mLSTM: whether values have one more element, 1, which accumulates the normalizer that
                            ///< divides the outputs. The state is stored divided by e^m, where m, the largest gate so
                            ///< far, is an additional value per head
  static constexpr std::size_t values_at = 2;
  constexpr bool operator==(const LinearAttention&) const = default;
  constexpr Count rows() const { return mul(sequences, queries); }
  /// Width of one head's values in the state.
  constexpr Count value_dim() const { return add(head_dim, normalized ? 1 : 0); }
  /// Number of state elements that every token updates; cached(): number of state elements cached per sequence.
  constexpr Count state() const { return mul(heads, key_dim, value_dim()); }
  constexpr Count cached() const { return add(state(), normalized ? heads : 0); }
  /// Number of elements in one token's queries, keys, values and gates.
  constexpr Count inputs() const { return add(add(mul(2, key_heads, key_dim), mul(heads, head_dim)), gates); }
};

/// y (sequences, queries, channels) = causal convolution of x along the tokens with `taps` weights per channel, + b,
/// followed by silu if `activated`, all in one kernel. A sequence's cache stores the last taps - 1 inputs.
struct Convolution {
  Count sequences = 0, queries = 0, channels = 0, taps = 0;
  bool bias = false, activated = false;
  constexpr bool operator==(const Convolution&) const = default;
  constexpr Count rows() const { return mul(sequences, queries); }
};

/// y (sequences, queries, mixes x width): `mixes` different blends x + (x' - x) m, all in one kernel. x' is the token
/// before x, or zeros for the first token; each m has `width` learned mixing weights. A sequence's cache stores the
/// last token. moved: a second input (sequences, queries, mixes x width) is added to the mixing weights. peeks:
/// another shift of the same tokens caches the last token.
struct Shift {
  Count sequences = 0, queries = 0, width = 0, mixes = 1;
  bool moved = false, peeks = false;
  constexpr bool operator==(const Shift&) const = default;
  constexpr Count rows() const { return mul(sequences, queries); }
  constexpr Count learned() const { return mul(mixes, width); }
};

/// y (sequences, queries / ratio, width) = sums of `ratio` tokens' keys, weighted by the softmax of their gates plus a
/// learned bias per position in the group; keys and gates are (sequences, queries, wide). The last group of a pass
/// counts even if it is incomplete.
struct Pool {
  Count sequences = 0, queries = 0, width = 0, wide = 0, ratio = 1;
  constexpr bool operator==(const Pool&) const = default;
  constexpr Count rows() const { return mul(sequences, queries); }
  constexpr Count pooled() const { return mul(sequences, ceil_div(queries, ratio)); }
  /// Number of tokens per pooled key: one group, or two overlapping groups.
  constexpr Count last_tokens() const { return mul(ratio, wide / width); }
};

enum class PointwiseKind : std::uint8_t {
  add,       ///< y = a + b: saves no tensor
  multiply,  ///< y = a * b: saves both
  activate,  ///< y = act(a): saves a
  gate,      ///< y = act(a) * b in one kernel: saves both
  blend,    ///< y = a + (b - a) sigmoid(c) in one kernel: saves all three; b comes from another layer, and its gradient
            ///< is added to the gradients from later layers
  bonus,    ///< y = (a + v <r, k>) * g in one kernel; <r, k> per head with learned weights: saves all five
  rope,     ///< rotates q and k in place: saves no tensor
  scale,    ///< in place, by learned factors: saves no tensor, because the next layer saves the result as its input
  dropout,  ///< in place: saves a mask of one byte per element
  route,    ///< top-k of the router's logits: saves logits and probabilities in float32
  dispatch,  ///< copies each token to its experts: saves no tensor
  mix,       ///< softmax-weighted sum of top_k tensors, in one kernel: saves the stream and recomputes the weights
  combine,   ///< gate-weighted sum of the experts' outputs: saves the outputs, and the gates in float32
  add_own,   ///< y = a + w b, where w are the gates of experts that return their input b: saves b, and reads w as saved
             ///< by `route`
  repeat,    ///< copies a token to all residual streams: saves no tensor
  gather,    ///< weighted sum of the residual streams: saves them and their weights
  spread,    ///< mixes the residual streams and adds a weighted result to each: saves all three
  predict,   ///< adds a linear combination of the residual streams to each: saves them and their weights
  stack,     ///< residual streams: the token, and its projections rescaled to the token's magnitude: saves both
  first,     ///< copies the first residual stream: saves no tensor
  share      ///< adds a tensor to all residual streams but the first: saves no tensor
};

/// Element-wise work on (rows, width) outputs.
struct Pointwise {
  PointwiseKind kind = PointwiseKind::add;
  Count rows = 0, width = 0;
  Count top_k = 0;    ///< top_k of route, dispatch, mix and combine; number of residual streams of repeat, gather,
                      ///< spread, predict, stack and share
  Count weights = 0;  ///< number of parameters (xIELU: 2)
  bool per_number = false;  ///< whether there is one parameter per element of the width
  Count gate_rows = 0;  ///< combine: number of rows whose gates are saved, if a rank routes only part of its tokens; 0:
                        ///< all
  constexpr bool operator==(const Pointwise&) const = default;
};

/// Cross-entropy of logits (rows, vocabulary).
struct Loss {
  Count rows = 0, vocabulary = 0;
  constexpr bool operator==(const Loss&) const = default;
};

/// A router sends each token to top_k of `experts` experts. top_k 0: no router.
struct ExpertRouting {
  Count top_k = 0, experts = 0;
  constexpr bool operator==(const ExpertRouting&) const = default;
};

/// Collective among the ranks of a group: an operation in forward and an operation in backward, either of which may
/// be absent. `elements`: size of the full tensor. `number_bytes`: bytes per element; 0: those of the activation
/// format. For messages between two ranks (p2p), which have no full tensor, `elements` is the size of one message,
/// and a rank of a ring sends `repeats` messages.
struct Collective {
  bool forward_on = false, backward_on = false;
  bool regather = false;  ///< whether backward repeats the forward collective, whose result is not saved
  CollectiveOp forward = CollectiveOp::all_reduce, backward = CollectiveOp::all_reduce;
  Group group = Group::tensor;
  Count elements = 0, ranks = 1, repeats = 1, number_bytes = 0;
  Count out_elements = 0;   ///< number of elements of this rank's result
  ExpertRouting routing{};  ///< routing of tokens to experts
  constexpr bool operator==(const Collective&) const = default;
};

using Shape = std::variant<Lookup, Linear, Norm, Attention, IndexScores, Pool, LinearAttention, Convolution, Shift,
                           Pointwise, Loss, Collective>;
/// Whether the shape's work grows with the number of earlier tokens, as in attention cores and indexer scores.
constexpr bool reads_past(const Shape& s) {
  return std::holds_alternative<Attention>(s) || std::holds_alternative<IndexScores>(s);
}
/// Number of keys of a shape that reads earlier tokens; 0 for other shapes.
constexpr Count keys_of(const Shape& s) {
  if (const Attention* core = std::get_if<Attention>(&s)) return core->keys;
  const IndexScores* scores = std::get_if<IndexScores>(&s);
  return scores ? scores->keys : 0;
}
/// Sets the number of keys of a shape that reads earlier tokens.
constexpr void set_keys(Shape& s, Count keys) {
  if (Attention* core = std::get_if<Attention>(&s)) core->keys = keys;
  if (IndexScores* scores = std::get_if<IndexScores>(&s)) scores->keys = keys;
}
/// Sets the number of sequences, and of new tokens in each.
constexpr void set_queries(Shape& s, Count sequences, Count queries) {
  const auto set = [&](auto& of) {
    of.sequences = sequences;
    of.queries = queries;
  };
  if (Attention* core = std::get_if<Attention>(&s)) set(*core);
  if (IndexScores* scores = std::get_if<IndexScores>(&s)) set(*scores);
}

/// How tensor parallelism shards an operator.
enum class Split : std::uint8_t {
  tokens,  ///< replicated on every rank; sequence parallelism shards its rows
  inside,  ///< replicated on every rank with all tokens, because it is between sharded operators (a router)
  column,  ///< the dimension `out` is sharded
  row,     ///< the dimension `in` is sharded; the ranks' results must be summed
  heads,   ///< attention: heads are sharded; KV heads are replicated if there are fewer of them than ranks
  width,   ///< element-wise between sharded operators
  partial  ///< element-wise on results that must still be summed
};

using TensorId = std::uint8_t;
inline constexpr TensorId no_tensor = 255;
inline constexpr TensorId block_input = 0;
inline constexpr std::size_t most_tensors = 192;  ///< maximum number of tensors in one list of operators

/// The tensors that an operator reads: all tensors before the first no_tensor.
class Inputs {
 public:
  static constexpr std::size_t most = 6;
  constexpr Inputs(TensorId a = no_tensor, TensorId b = no_tensor, TensorId c = no_tensor, TensorId d = no_tensor,
                   TensorId e = no_tensor, TensorId f = no_tensor)
      : ids_{a, b, c, d, e, f},
        size_(static_cast<std::uint8_t>((a != no_tensor) + (b != no_tensor) + (c != no_tensor) + (d != no_tensor) +
                                        (e != no_tensor) + (f != no_tensor))) {}
  constexpr void push(TensorId t) {
    assert(size_ < most);
    ids_[size_++] = t;
  }
  constexpr std::size_t size() const { return size_; }
  constexpr TensorId operator[](std::size_t i) const { return ids_[i]; }
  constexpr TensorId& operator[](std::size_t i) { return ids_[i]; }
  constexpr const TensorId* begin() const { return ids_.data(); }
  constexpr const TensorId* end() const { return ids_.data() + size_; }
  constexpr TensorId* begin() { return ids_.data(); }
  constexpr TensorId* end() { return ids_.data() + size_; }

 private:
  std::array<TensorId, most> ids_;
  std::uint8_t size_;
};

struct Op {
  std::string_view name;
  Shape shape;
  Component component;
  Split split;
  Count unit;  ///< each shard is a whole multiple of this many elements, such as a head's width
  Inputs in;
  TensorId out;  ///< id of the result; no_tensor: the operator works in place on in[0]
  /// Adapters are trained while all other weights are frozen (calc/training/adapter.hpp).
  enum class Weights : std::uint8_t { trained, frozen, adapter } weights = Weights::trained;

  bool detached = false;  ///< whether it passes no gradient to its inputs (an indexer, which only its own loss trains)
  bool asks = true;       ///< whether its inputs require gradients, because a trained weight precedes them
  bool reread = false;    ///< whether a router without a backward pass makes a selection that the experts' backward
                          ///< reads
  bool narrow = false;    ///< whether a matmul runs in the plan's format if this has fewer than 16 bits
  bool borrowed = false;  ///< whether its weights belong to another operator, which counts them
  Owner owner = Owner::model;

  constexpr bool is_frozen() const { return weights == Weights::frozen; }

  constexpr bool in_place() const { return out == no_tensor; }
};

/// Whether the operator computes vocabulary logits. Excludes the dense layers of an encoder's head, which are not
/// sharded.
inline bool makes_logits(const Op& op) {
  return op.component == Component::lm_head && op.split == Split::column && std::holds_alternative<Linear>(op.shape);
}

/// A list of up to 128 operators, stored in place. A tensor that no operator writes comes from another segment. A
/// tensor that no operator reads, other than the result, is read by other segments.
class OpList : public InplaceVector<Op, 128> {
 public:
  TensorId new_tensor() { return next_++; }
  std::size_t tensors() const { return next_; }
  /// Adopts the tensor ids of the list from which this one is derived.
  void take_tensors(const OpList& from) {
    next_ = from.next_;
    result_ = from.result_;
    result_is_carried_ = from.result_is_carried_;
    saves_input_ = from.saves_input_;
    cross_layer_ = from.cross_layer_;
    leaves_input_ = from.leaves_input_;
  }
  /// The tensor that the next segment reads; no_tensor if it is the last tensor produced.
  TensorId result() const { return result_; }
  /// Whether several later segments read the result.
  bool result_is_carried() const { return result_is_carried_; }
  void carry_result() { result_is_carried_ = true; }
  /// Whether all later segments also read the input and add to its gradient.
  bool saves_input() const { return saves_input_; }
  void save_input() { saves_input_ = true; }
  void set_result(TensorId t) { result_ = t; }
  /// The tensor that later layers read until one of them replaces it: an indexer's selection. no_tensor if there is
  /// none.
  TensorId cross_layer_tensors() const { return cross_layer_; }
  void share_onward(TensorId t) { cross_layer_ = t; }
  /// Whether a later segment also reads the input.
  bool leaves_input() const { return leaves_input_; }
  void leave_input() { leaves_input_ = true; }

 private:
  TensorId next_ = 1;  // tensor 0 is the block's input
  TensorId result_ = no_tensor;
  bool result_is_carried_ = false;
  bool saves_input_ = false;
  TensorId cross_layer_ = no_tensor;
  bool leaves_input_ = false;
};

}  // namespace llmcalc
