#pragma once
/// Locations of operators' inputs in the tensors that contain them.

#include "calc/arch/mixer.hpp"
#include "model/pass/tape.hpp"

namespace llmcalc::model {

/// Location of a head's part in the attention core's inputs (q, k, v, ...), with token and head strides.
struct HeadPart {
  std::size_t tensor = 0;
  Count offset = 0, token = 0, head = 0;
  Count tokens = 0;  ///< number of tokens per sequence; 0: the number of queries of the pass
};
struct CoreLayout {
  HeadPart q, q_rope, k, k_rope, v;
  HeadPart pooled{};  ///< used if the core has pooled keys
  Count rope_dim = 0;
  double scale = 1;
  double cap = 0;  ///< cap on the scores; see AttentionInputs
  bool alibi = false;
};

/// Embedded tokens of an encoder and its decoder. A decoding step has no encoder tokens.
struct Stacks {
  Value encoder, decoder;
};

/// Keys and values of all heads after norms and rotation; empty if a layer computes its own or reads a cache.
struct KeysAndValues {
  Value k, v;
};

/// Locations of a recurrence's inputs among its operands; `kind` determines their meaning.
struct StateLayout {
  RecurrentKind kind = RecurrentKind::none;
  HeadPart q{}, k{}, v{}, decay{}, beta{}, removed{};
};

/// Heads of x to rotate: `width` elements of each, starting at `offset`.
struct RopePart {
  Value& x;
  Count heads = 0, head = 0, width = 0, offset = 0;
};

}  // namespace llmcalc::model
