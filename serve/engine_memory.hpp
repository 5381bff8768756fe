#pragma once
/// What a serving engine holds on one device, by named terms, and the KV cache that they leave. The law of the
/// activations is vLLM's: it runs its largest pass when it starts, and the peak of that pass is never given to the
/// cache.
///
///   activations = max( c S V + H,  A + 3 H )
///
/// with S sequences at once, V entries of the vocabulary, H bytes of a pass's hidden states, A the most bytes that one
/// layer of the pass holds at once (pass_workspace), and c the bytes per logit of a sampler that is tried on S
/// sequences: logits, their copy in float32, sorted values, indices. Of a dense model with 16-bit activations, T tokens
/// in a pass and t ranks, A + 3 H = 2 T (3 f/t + 4 h). S V is not divided: every rank gathers all logits. Source: vLLM,
/// gpu_worker.py (determine_available_memory) and gpu_model_runner.py (profile_run); c is fitted to logs of starts
/// (evidence/engine_memory_table.hpp). Of a pipeline that stage counts which has room for the fewest tokens; the
/// sampler runs on the last one. Left out: inputs of images.

#include <algorithm>

#include "calc/price.hpp"

namespace llmcalc {

/// What an engine is allowed.
struct EngineLimits {
  Count pass_tokens = 8192;  ///< in a pass, prompts and decoding sequences together (vLLM's max_num_batched_tokens)
  Count sequences = 1024;    ///< at once (max_num_seqs)
  Count block_tokens = 16;   ///< in a block of the KV cache
  constexpr bool operator==(const EngineLimits&) const = default;
};

/// Bytes on a device that do not follow from the model's operators.
struct EngineTerms {
  double logit_bytes = 0;     ///< c
  Bytes libraries{};          ///< driver, communicators, libraries: what PyTorch does not allocate
  Bytes graphs{};             ///< set aside for recorded graphs; 0 where they lie outside of what the engine is granted
  Bytes adapters{};           ///< low-rank adapters in memory at once
  Bytes padding{};            ///< of weights, to sizes that their kernels take
  Bytes draft{};              ///< weights of a draft model
  Bytes draft_token_cache{};  ///< bytes of a token in the draft model's cache, which lies beside the model's own
};

/// The largest pass: c S V, H and A of the law above.
struct ProfiledPass {
  Bytes sampler{}, hidden{}, layer{};
  constexpr Bytes peak() const { return std::max(sampler + hidden, layer + 3 * hidden); }
};

/// Bytes of one device. The terms add up to `granted`.
struct EngineMemory {
  Bytes granted{};  ///< share of the device that the engine may fill
  Bytes weights{}, towers{}, padding{}, draft{}, adapters{}, activations{}, libraries{}, graphs{};
  Bytes kv_cache{};     ///< the rest; below 0: so much is missing
  ProfiledPass pass{};  ///< whose peak the activations are
  Count blocks = 0;     ///< of the KV cache, whole ones
  Count kv_tokens = 0;  ///< in these blocks, if every layer kept every token
  Bytes token_cache{};  ///< bytes of a token in the caches of all layers, the draft model's among them, on the device
  Bytes state{};        ///< bytes of a sequence that do not grow with it: the states of linear attention
  Count states = 0;     ///< sequences whose states the cache holds, where it has nothing else; else 0
  Bytes host{};         ///< weights that lie on the host instead
};

/// The share of a device that an engine may fill (--memory-utilization), rounded to bytes.
Bytes granted_memory(Bytes of_device, double utilization);

/// Memory of one tensor-parallel rank; of a pipeline, of the stage whose cache holds the fewest tokens. Throws Overflow
/// where a count passes 2^63. Preconditions: limits above 0.
EngineMemory engine_memory(const Arch& arch, const Plan& plan, const Layout& layout, Bytes granted,
                           const EngineLimits& limits, const EngineTerms& terms);

/// The largest pass, by the law above; logit_bytes 0: of a stage that samples nothing.
ProfiledPass profiled_pass(const Arch& arch, const Plan& plan, const Layout& layout, const EngineLimits& limits,
                           double logit_bytes);
/// Its peak.
Bytes profiled_activations(const Arch& arch, const Plan& plan, const Layout& layout, const EngineLimits& limits,
                           double logit_bytes);

}  // namespace llmcalc
