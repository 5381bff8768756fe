#pragma once
/// Tensor lifetimes: bytes saved for backward, and the high-water marks of forward and backward, derived from the
/// operators' inputs and outputs. A tensor is live from the operator that writes it to its last reader or, if backward
/// needs it, to its last use in backward. Every operator saves its inputs, and each tensor is saved once (Goon,
/// Korthikanti
/// et al. 2022).

#include <array>
#include <cassert>

#include "calc/operator/op.hpp"
#include "calc/operator/pricing.hpp"

namespace llmcalc {

/// Bytes of one segment: embedding, a block, or the head.
struct Liveness {
  Bytes input;    ///< bytes of the segment's input tensor
  Bytes output;   ///< bytes of the segment's result
  Bytes saved;    ///< bytes saved for backward, including the input if backward needs it
  Bytes core;     ///< the part of `saved` that only the attention core needs: scores, log-sum-exps
  Bytes carried;  ///< tensors that other segments read, except the output, but possibly including the input; training
                  ///< saves them
  Bytes cross_layer_tensors;  ///< the part of `saved` that is live until a later layer replaces it (an indexer's
                              ///< selection)
  Bytes awaited;  ///< gradients of results that several later layers read; they are live before the segment's
                  ///< backward begins
  Bytes awaited_by_encoder;  ///< the part of `awaited` for the encoder's relative-position biases, if the decoder has
                             ///< biases too
  Bytes forward;             ///< peak of live bytes in forward, including saved tensors and the input
  Bytes backward;            ///< peak of live bytes in backward, including saved tensors and gradients
  bool keeps_input = false;
};

/// Liveness of a segment whose tensor 0 has `input_elements`. Recomputed modules (`Pricing::recomputed`) save no
/// tensors: backward recomputes a tensor when it first needs it. `logits`: bytes of the logits in training, counted
/// only in the high-water marks.
Liveness liveness(const OpList& ops, const Pricing& p, Count input_elements, Bytes logits = {});

/// Liveness::saved by operator: the operator's own bytes, and the tensors that no earlier operator's backward needs.
using SavedByOperator = std::array<Bytes, OpList::capacity>;
SavedByOperator saved_by_operator(const OpList& ops, const Pricing& p, Count input_elements);

/// A live tensor or buffer, and its operator.
struct Alive {
  enum class As : std::uint8_t {
    result,      ///< the operator's result; with no_op: the segment's input
    own,         ///< statistics, masks and scores that the operator saves
    gradient,    ///< the gradient of the operator's result
    recomputed,  ///< the operator's result, recomputed in backward
    scratch      ///< a buffer that is live only while the operator runs
  };
  static constexpr std::size_t no_op = OpList::capacity;
  As as;
  std::size_t op;
  Bytes bytes;
};

/// All live tensors and buffers at one point in time, except empty ones.
class Moment : public InplaceVector<Alive, 4 * OpList::capacity> {
 public:
  void add(const Alive& a) {
    if (a.bytes != Bytes()) push(a);
  }
  Bytes total() const;
};

/// The moments of the two high-water marks; their totals are Liveness::forward and Liveness::backward.
struct WorstMoments {
  Moment forward, backward;
};
WorstMoments worst_moments(const OpList& ops, const Pricing& p, Count input_elements, Bytes logits = {});

}  // namespace llmcalc
