#pragma once
/// Beam search for the most probable continuations of a prompt.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "calc/units.hpp"

namespace llmcalc::model {

/// ln p(next token | prefix) for every token of the vocabulary.
using LogProbabilities = std::function<std::vector<float>(std::span<const std::int32_t> prefix)>;

struct Sequence {
  std::vector<std::int32_t> tokens;  ///< generated tokens, including the end token
  double log_probability = 0;        ///< sum of ln p over the tokens, not divided by their number
};

struct BeamOptions {
  Count width = 4;                      ///< number of sequences kept per step
  Count length = 1;                     ///< maximum number of tokens after the prompt
  std::vector<std::int32_t> ends = {};  ///< end tokens, each of which completes a sequence
  /// Called after each step with the kept sequences, best first.
  std::function<void(const std::vector<Sequence>&)> kept = {};
};

/// The most probable continuations of `prompt`, best first, at most `width`. In each of `length` steps, every kept
/// sequence is extended by every token, and the best are kept (Lowerre 1976; Sutskever et al. 2014, section 3.2).
/// Complete sequences stay in the beam with an unchanged score. Among equally probable sequences, lower token ids come
/// first. A width of at least vocabulary^(length - 1) makes the search exhaustive; a width of 1 makes it greedy.
std::vector<Sequence> beam_search(const LogProbabilities& model, std::span<const std::int32_t> prompt,
                                  const BeamOptions& options);

/// Upper bound on the memory of a search with this vocabulary size, excluding the model.
Bytes beam_memory(Count vocabulary, const BeamOptions& options);

}  // namespace llmcalc::model
