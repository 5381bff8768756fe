#pragma once
/// The most probable continuations of a prompt.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "calc/units.hpp"

namespace llmcalc::model {

/// ln p(next token | prefix) of every token of the vocabulary.
using LogProbabilities = std::function<std::vector<float>(std::span<const std::int32_t> prefix)>;

struct Sequence {
  std::vector<std::int32_t> tokens;  ///< after the prompt, the end token included
  double log_probability = 0;        ///< the sum over its tokens, not divided by their number
};

struct BeamOptions {
  Count width = 4;                      ///< sequences that are carried on
  Count length = 1;                     ///< tokens after the prompt, at most
  std::vector<std::int32_t> ends = {};  ///< a sequence is complete with any of these tokens
  /// Called with the kept sequences, best first, whenever they have become longer.
  std::function<void(const std::vector<Sequence>&)> kept = {};
};

/// The most probable continuations of `prompt`, best first, at most `width`: from every kept sequence to every token,
/// the best kept, `length` times (Lowerre 1976; Sutskever et al. 2014, section 3.2). Complete sequences
/// keep their place and their score. Of equally probable sequences the lower tokens come first. With a width of at
/// least the vocabulary to the power of length - 1 this is exhaustive search, with width 1 it is greedy.
std::vector<Sequence> beam_search(const LogProbabilities& model, std::span<const std::int32_t> prompt,
                                  const BeamOptions& options);

/// Upper bound on the memory of a search, without the model, for this vocabulary.
Bytes beam_memory(Count vocabulary, const BeamOptions& options);

}  // namespace llmcalc::model
