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
  Count tokens = 200;  ///< maximum number of tokens to generate
  SamplingOptions sampling = {};
  Count beams = 1;         ///< beam width; above 1: beam search instead of sampling
  std::uint64_t seed = 1;  ///< random seed: token i is drawn with random number i of this seed
  bool cache = true;  ///< whether keys and values are cached; otherwise every new token recomputes the whole sequence
  std::vector<std::int32_t> ends = {};  ///< tokens that end the text
  Count longest = 0;                    ///< maximum length of a text in tokens; 0: limited only by learned positions
  const std::atomic<bool>* stop = nullptr;  ///< set to true by the caller: generation ends before the next operator
  /// Beam search: called before each evaluation of the model, with the number so far and the maximum.
  std::function<void(Count done, Count most)> searching = {};
};

enum class Ended : std::uint8_t {
  length,       ///< the requested number of tokens was generated
  end_of_text,  ///< the model produced an end token, which is not in the result
  positions,    ///< the text has reached the last learned position or GenerateOptions::longest
  stopped       ///< stopped by the user
};

struct Generated {
  std::vector<std::int32_t> tokens;  ///< generated tokens
  Ended ended = Ended::length;
  Seconds prefill, decode;     ///< time to the first token, and time for all later tokens
  double log_probability = 0;  ///< ln p(tokens | prompt), for beam search
  Count tokens_run = 0;        ///< tokens run through the model; without a cache, each step reruns the earlier ones
  Flops flops;                 ///< FLOPs executed by the kernels for these tokens
};

/// Called with each token as soon as it is known; with beam search, at the end.
using OnToken = std::function<void(std::int32_t)>;

/// Throws InputError for inputs that generate() would reject; can be called before a model is loaded.
void refuse_bad_generation(const Arch& arch, std::span<const std::int32_t> prompt, const GenerateOptions& options);

/// Continues `prompt`. The cache changes the time but not the tokens: the logits agree up to rounding, and the random
/// numbers are the same. Throws InputError for an empty prompt, an option out of range, a token outside the vocabulary,
/// a prompt longer than the maximum length, or logits that are not finite.
Generated generate(Transformer& t, std::span<const std::int32_t> prompt, const GenerateOptions& options,
                   const OnToken& on_token = {});

}  // namespace llmcalc::model
