#pragma once
/// Where operators find their inputs in the tensors that hold them.

#include "calc/arch/mixer.hpp"
#include "model/pass/tape.hpp"

namespace llmcalc::model {

/// The location of a part of a head in the core's inputs (q, k, v, ...): strides from token to token and head to head.
struct HeadPart {
  std::size_t tensor = 0;
  Count offset = 0, token = 0, head = 0;
  Count tokens = 0;  ///< of each sequence; 0: the pass's queries
};
struct CoreLayout {
  HeadPart q, q_rope, k, k_rope, v;
  HeadPart pooled{};  ///< used where the core has pooled keys
  Count rope_dim = 0;
  double scale = 1;
  double cap = 0;  ///< of the scores, see AttentionInputs
  bool alibi = false;
};

/// Embedded tokens of an encoder and of the decoder behind it. A decoding step has none of the former.
struct Stacks {
  Value encoder, decoder;
};

/// Keys and values of all heads after norms and rotation; empty where a layer has its own, or reads a cache.
struct KeysAndValues {
  Value k, v;
};

/// The location of a recurrence's inputs among its operands, and the kind that says what becomes of them.
struct StateLayout {
  RecurrentKind kind = RecurrentKind::none;
  HeadPart q{}, k{}, v{}, decay{}, beta{}, removed{};
};

/// Heads of x that positions rotate: `width` numbers of each from `offset` on.
struct RopePart {
  Value& x;
  Count heads = 0, head = 0, width = 0, offset = 0;
};

}  // namespace llmcalc::model
