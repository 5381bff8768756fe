#pragma once
/// Tensor lifetimes: bytes kept for backward, and the high-water marks of forward and backward, from the operators'
/// inputs and outputs. A tensor lives from the operator that writes it to its last reader, or until the backward pass
/// that needs it. Rule: every operator keeps its inputs, each tensor once (Goon, Korthikanti et al. 2022).

#include <array>
#include <cassert>

#include "calc/operator/op.hpp"
#include "calc/operator/pricing.hpp"

namespace llmcalc {

/// Bytes of one segment: embedding, a block, or the head.
struct Liveness {
  Bytes input;      ///< the segment's input tensor
  Bytes output;     ///< its result
  Bytes kept;       ///< for backward, the input among them if backward needs it
  Bytes core;       ///< the part of `kept` that belongs to the attention core alone: scores, log-sum-exps
  Bytes carried;    ///< results besides the output, or the input, which other segments read; training keeps them
  Bytes handed_on;  ///< of the kept: a result that lives until a later layer makes its like (an indexer's choice)
  Bytes awaited;    ///< gradients of results that several later layers read, there before the segment's backward begins
  Bytes awaited_by_encoder;  ///< of the awaited: those of an encoder's distances, where a decoder's follow
  Bytes forward;             ///< most alive at once in forward, kept tensors and input included
  Bytes backward;            ///< most alive at once in backward, kept tensors and gradients included
  bool keeps_input = false;
};

/// Liveness of a segment whose tensor 0 has `input_elements`. Modules that run again (Pricing::again) keep nothing of
/// their own: backward remakes it when it first needs something of it. `logits`: their bytes in training, in the
/// high-water marks only.
Liveness liveness(const OpList& ops, const Pricing& p, Count input_elements, Bytes logits = {});

/// Liveness::kept by operator: its own bytes, and each tensor under the first operator whose backward needs it.
using KeptByOperator = std::array<Bytes, OpList::capacity>;
KeptByOperator kept_by_operator(const OpList& ops, const Pricing& p, Count input_elements);

/// A tensor or buffer that is alive, and its operator.
struct Alive {
  enum class As : std::uint8_t {
    result,    ///< the operator's result; of no operator: the segment's input
    own,       ///< statistics, masks, scores that the operator keeps
    gradient,  ///< the gradient of its result
    again,     ///< its result, recomputed in backward
    scratch    ///< held only while it runs
  };
  static constexpr std::size_t no_op = OpList::capacity;
  As as;
  std::size_t op;
  Bytes bytes;
};

/// Everything alive at one moment, empty buffers left out.
class Moment : public InPlace<Alive, 4 * OpList::capacity> {
 public:
  void add(const Alive& a) {
    if (a.bytes != Bytes()) push(a);
  }
  Bytes total() const;
};

/// The moments of the two high-water marks: they add up to Liveness::forward and Liveness::backward.
struct WorstMoments {
  Moment forward, backward;
};
WorstMoments worst_moments(const OpList& ops, const Pricing& p, Count input_elements, Bytes logits = {});

}  // namespace llmcalc
