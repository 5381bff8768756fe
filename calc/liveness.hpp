#pragma once
/// What is alive when: bytes kept for backward, and the high-water marks of forward and backward, from the operators'
/// inputs and outputs. A tensor lives from the operator that makes it to the last that reads it; one that backward
/// needs lives until then. Rule: every operator keeps its inputs, each tensor once (Goon, Korthikanti et al. 2022).

#include <array>
#include <cassert>

#include "calc/op.hpp"
#include "calc/pricing.hpp"

namespace llmcalc {

/// Bytes of one segment: embedding, a block, or the head.
struct Liveness {
  Bytes input;     ///< the segment's input tensor
  Bytes output;    ///< its result
  Bytes kept;      ///< for backward, the input among them if backward needs it
  Bytes core;      ///< the part of `kept` that belongs to the attention core alone: scores, log-sum-exps
  Bytes forward;   ///< most alive at once in forward, kept tensors and input included
  Bytes backward;  ///< most alive at once in backward, kept tensors and gradients included
  bool keeps_input = false;
};

/// `input_elements`: of tensor 0. `without_core`: selective recomputation, the attention core's own tensors are not
/// kept but made again in backward. `logits`: their bytes in training; they are in the high-water marks, not in `kept`.
Liveness liveness(const OpList& ops, const Pricing& p, Count input_elements, bool without_core, Bytes logits = {});

/// `kept` by operator: what it keeps of its own, and each tensor under the first operator whose backward needs it.
using KeptByOperator = std::array<Bytes, OpList::capacity>;
KeptByOperator kept_by_operator(const OpList& ops, const Pricing& p, Count input_elements, bool without_core);

/// Something that is alive, and the operator that it belongs to.
struct Alive {
  enum class As : std::uint8_t {
    result,    ///< what the operator made; of no operator: the segment's input
    own,       ///< what it keeps besides: statistics, masks, scores
    gradient,  ///< of its result
    again,     ///< its result, made again in backward
    scratch    ///< held only while it runs
  };
  static constexpr std::size_t no_op = OpList::capacity;
  As as;
  std::size_t op;
  Bytes bytes;
};

/// What is alive at one moment; nothing that is empty.
class Moment {
 public:
  void add(const Alive& a) {
    if (a.bytes == Bytes()) return;
    assert(size_ < all_.size());
    all_[size_++] = a;
  }
  const Alive* begin() const { return all_.data(); }
  const Alive* end() const { return begin() + size_; }
  Bytes total() const;

 private:
  std::array<Alive, 4 * OpList::capacity> all_;
  std::size_t size_ = 0;
};

/// The moments of the two high-water marks: they add up to Liveness::forward and Liveness::backward.
struct WorstMoments {
  Moment forward, backward;
};
WorstMoments worst_moments(const OpList& ops, const Pricing& p, Count input_elements, bool without_core,
                           Bytes logits = {});

}  // namespace llmcalc
