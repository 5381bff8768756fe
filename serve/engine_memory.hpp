#pragma once
/// Memory of a serving engine on one device, by term, and the memory that remains for the KV cache. Activations
/// follow vLLM, which runs its largest pass at startup and reserves the peak of this pass outside the cache.
///
///   activations = max( c S V + H,  A + 3 H )
///
/// with S concurrent sequences, a vocabulary of V entries, H bytes of hidden states in a pass, A the peak bytes of one
/// layer in the pass (pass_workspace), and c bytes per logit in a sampler run on S sequences: the logits, their float32
/// copy, sorted values, indices. For a dense model with 16-bit activations, T tokens in a pass and t ranks, A + 3 H = 2
/// T (3 f/t + 4 h). S V is not divided by t, because every rank gathers all logits. Source: vLLM, gpu_worker.py
/// (determine_available_memory) and gpu_model_runner.py (profile_run); c is fitted to startup logs
/// (presets/estimators/engine_memory_table.hpp). In a pipeline, the stage whose cache holds the fewest tokens limits
/// the engine. The sampler runs on the last stage. Excludes image inputs.

#include <algorithm>
#include <array>

#include "calc/choice.hpp"
#include "calc/pipeline/chunk.hpp"

namespace llmcalc {

/// Limits of an engine.
struct EngineLimits {
  Count pass_tokens = 8192;  ///< maximum number of prompt and decode tokens per pass (max_num_batched_tokens)
  Count sequences = 1024;    ///< maximum number of concurrent sequences (max_num_seqs)
  Count block_tokens = 16;   ///< number of tokens per block of the KV cache
  Count poll_passes = 1;     ///< number of decode passes between looks at new requests (SchedulerRules::poll_passes)
  constexpr bool operator==(const EngineLimits&) const = default;
};

/// Memory that an engine grants to its cache.
enum class CacheGrant : std::uint8_t {
  share,          ///< a share of the device's memory, minus all other terms
  static_share,   ///< as `share`, but activations and graphs are outside the share
  share_of_free,  ///< a share of the memory that all other terms leave free
  whole           ///< the device's whole memory, minus all other terms
};

template <>
inline constexpr auto choices<CacheGrant> =
    std::array{Choice{CacheGrant::share, "share"}, Choice{CacheGrant::static_share, "static share"},
               Choice{CacheGrant::share_of_free, "share of free"}, Choice{CacheGrant::whole, "whole"}};

/// Bytes on a device that are not derived from the model's operators.
struct EngineTerms {
  double logit_bytes = 0;  ///< bytes per logit in the sampler, c
  Bytes libraries{};       ///< driver, communicators, libraries: allocated outside PyTorch
  Bytes graphs{};          ///< bytes reserved for CUDA graphs; 0 if they are outside the granted memory
  Bytes adapters{};        ///< all resident low-rank adapters
  Bytes padding{};         ///< padding of weights to the sizes that kernels require
  Bytes draft{};           ///< weights of a draft model
  CacheGrant grant = CacheGrant::share;
  double share_of_free = 1;   ///< granted share of the free memory, for CacheGrant::share_of_free
  double window_share = 0;    ///< slots of layers with a window per cached token; 0: as many as the sequences need
  Bytes draft_token_cache{};  ///< bytes per token of the draft model's cache, in addition to the model's own
};

/// The largest pass: c S V, H and A of the formula above.
struct ProfiledPass {
  Bytes sampler{}, hidden{}, layer{};
  constexpr Bytes peak() const { return std::max(sampler + hidden, layer + 3 * hidden); }
};

/// Memory of one device. The terms add up to `granted`.
struct EngineMemory {
  CacheGrant grant = CacheGrant::share;
  Bytes granted{};  ///< memory of the device that the engine may fill
  Bytes weights{}, media_encoders{}, padding{}, draft{}, adapters{}, activations{}, libraries{}, graphs{};
  Bytes kv_cache{};     ///< the remaining memory; negative if memory is insufficient
  ProfiledPass pass{};  ///< the pass whose peak is `activations`
  Count blocks = 0;     ///< number of whole blocks of the KV cache
  Count kv_tokens = 0;  ///< number of tokens in these blocks if every layer caches every token
  Bytes token_cache{};  ///< bytes per token in the caches of all layers on the device, including the draft model's
  Bytes limited_token_cache{};  ///< bytes of token_cache that are in layers with a window or chunk
  double window_share = 0;      ///< EngineTerms::window_share, if the device has layers with a window
  Bytes state{};                ///< bytes per sequence, independent of its length: the states of linear attention
  Count states = 0;             ///< number of sequences whose states fit into a cache of only states; 0 for all other
                                ///< caches
  Bytes host{};                 ///< bytes of weights in host memory
};

/// Bytes of a cached token: of all layers, or with the share of slots that layers with a window have.
Bytes slot_bytes(const EngineMemory& m);

/// The part of a device's memory that an engine may fill (--memory-utilization), rounded to whole bytes.
Bytes granted_memory(Bytes of_device, double utilization);

/// Memory of one tensor-parallel rank. `granted`: bytes of the device that the engine may fill; for share_of_free the
/// whole device. For a pipeline, memory of the stage whose cache holds the fewest tokens. Throws Overflow
/// if a count exceeds 2^63. Precondition: limits above 0.
EngineMemory engine_memory(const Arch& arch, const Plan& plan, const Layout& layout, Bytes granted,
                           const EngineLimits& limits, const EngineTerms& terms);

/// Like engine_memory(), for the stage with the layers of `chunk`.
EngineMemory stage_engine_memory(const Arch& arch, const Plan& plan, const Layout& layout, const ModelChunk& chunk,
                                 Bytes granted, const EngineLimits& limits, const EngineTerms& terms);

/// The largest pass, by the formula above; logit_bytes is 0 for a stage without a sampler.
ProfiledPass profiled_pass(const Arch& arch, const Plan& plan, const Layout& layout, const EngineLimits& limits,
                           double logit_bytes);
/// Peak of the largest pass.
Bytes profiled_activations(const Arch& arch, const Plan& plan, const Layout& layout, const EngineLimits& limits,
                           double logit_bytes);

}  // namespace llmcalc
