#pragma once
/// Autoregressive generation of text.

#include <atomic>
#include <functional>
#include <span>
#include <vector>

#include "learn/sampling.hpp"
#include "model/transformer.hpp"

namespace llmcalc::model {

struct GenerateOptions {
  Count tokens = 200;  ///< maximum number of new tokens
  SamplingOptions sampling = {};
  Count beams = 1;                      ///< above 1: beam search, and nothing is drawn
  std::uint64_t seed = 1;               ///< token i is drawn by number i of this seed's stream
  bool cache = true;                    ///< keys and values are kept; without, every token runs the whole text again
  std::vector<std::int32_t> ends = {};  ///< nothing follows any of these tokens
  Count longest = 0;                    ///< tokens of the longest text; 0: the model's learned positions alone bound it
  const std::atomic<bool>* stop = nullptr;  ///< true: the text ends before the next operator
  /// Beam search: called before each text that the model is asked about, with how many there were and will be at most.
  std::function<void(Count done, Count most)> searching = {};
};

enum class Ended : std::uint8_t {
  length,       ///< all the tokens that were asked for
  end_of_text,  ///< the model said so; the token is not among the result's
  positions,    ///< the longest text: the table of learned positions has no further row, or GenerateOptions says so
  stopped       ///< the user
};

struct Generated {
  std::vector<std::int32_t> tokens;  ///< after the prompt
  Ended ended = Ended::length;
  Seconds prefill, decode;     ///< up to the first token, and all after it
  double log_probability = 0;  ///< beam search: ln p(tokens | prompt)
  Count tokens_run = 0;        ///< through the model: with a cache each once, without all before each again
  Flops flops;                 ///< that the kernels did for them
};

/// Called with each token as soon as it is known; beam search knows them all at its end.
using OnToken = std::function<void(std::int32_t)>;

/// Throws InputError for what generate() refuses, before a model is there.
void refuse_bad_generation(const Arch& arch, std::span<const std::int32_t> prompt, const GenerateOptions& options);

/// Continues `prompt`. The cache changes the time and not the tokens: both ways see the same logits to rounding, and
/// the same random numbers. InputError for an empty prompt, an option out of range, a token outside the vocabulary, a
/// prompt longer than the longest text, or logits that are no numbers.
Generated generate(Transformer& t, std::span<const std::int32_t> prompt, const GenerateOptions& options,
                   const OnToken& on_token = {});

}  // namespace llmcalc::model
