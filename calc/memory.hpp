#pragma once
/// Memory of the most loaded device: tensors stored, and peak live memory.

#include <algorithm>
#include <span>

#include "calc/pipeline/chunk.hpp"

namespace llmcalc {

struct Memory {
  Bytes weights{}, gradients{}, optimizer{};  ///< bytes on this rank, of whole tensors or of shards
  Bytes activations{};                        ///< bytes saved for backward, over all layers
  Bytes logits{};
  Bytes media_encoders{};  ///< bytes of vision/audio encoder weights
  Bytes kv_cache{};
  Bytes workspace{};        ///< live bytes at the peak that no other field counts
  Bytes gathered{};         ///< bytes of weights gathered from other ranks' shards while layers run
  Bytes buckets{};          ///< bytes of gradients that are not yet reduce-scattered
  Bytes collective_call{};  ///< bytes of messages between pipeline stages
  Bytes transit{};          ///< bytes in transit to or from the host: activations and gradients of one layer, weights
                            ///< of two
  Bytes process{};          ///< driver, libraries and kernels before any tensor is allocated, as measured; 0 if unknown
  Bytes total{};            ///< sum of the above
  Bytes peak{};             ///< peak live bytes; below total if not all fields are live at once
  Bytes host{};             ///< bytes of host memory, excluded from all other fields; activations at the device's peak
  Count parameters = 0;     ///< number of parameters stored on this device
  Count trained = 0;        ///< number of trained parameters stored on this device
};

/// Weights, gradients and optimizer state of one device.
struct States {
  Bytes weights{}, gradients{}, optimizer{};  ///< bytes for trained parameters
  Bytes frozen{};                             ///< bytes of untrained weights
  Count parameters = 0;                       ///< number of parameters that the rank's layers use, sharded or not
  Count trained = 0;                          ///< number of trained parameters that the rank's layers use
};

/// States of a rank's chunks. With ZeRO (arXiv:1910.02054), each of d ranks holds ceil(n/d) of n elements: optimizer
/// states from stage 1 on, gradients from stage 2 on, weights from stage 3 on. With expert parallelism, experts are
/// sharded across the ranks that hold the same experts.
States training_states(const Prices& prices, const Plan& plan, const Layout& layout,
                       std::span<const ModelChunk> chunks);
/// The states that the rank's optimizer updates: under any ZeRO stage, the shards of weights, gradients and optimizer
/// states.
States updated_states(const Prices& prices, const Plan& plan, const Layout& layout, std::span<const ModelChunk> chunks);
/// States of a device that holds all of the model's layers.
States training_states(const Arch& arch, const Plan& plan, const Layout& layout = {});

/// A chunk, and the number of micro-batches whose tensors a rank holds at its peak.
struct ChunkInFlight {
  ModelChunk chunk;
  Count micro_batches = 1;  ///< number of micro-batches with activations in memory
  Count for_weights = 0;    ///< number of micro-batches with only the inputs of weight gradients in memory
  Count on_host = 1;        ///< number of micro-batches with activations on the host, at the host's peak
};

/// Bytes that a chunk saves per micro-batch. saved_bytes(): for backward. saved_for_weights(): only for weight
/// gradients.
Bytes saved_bytes(const Prices& prices, const Plan& plan, const ModelChunk& chunk);
Bytes saved_for_weights(const Prices& prices, const ModelChunk& chunk);

/// Rows that a rank holds in all of its chunks: the number of layers of each kind, whether it has the embedding, and
/// whether it has the head with the MTP modules.
struct HeldRows {
  std::array<Count, most_kinds> layers{};
  bool embedding = false, head = false;
  constexpr bool operator==(const HeldRows&) const = default;
};
void add(HeldRows& rows, const LayerKinds& kinds, const ModelChunk& chunk);

/// Number of elements in a set of rows: `experts` in expert-parallel experts, which are divided over ranks, and `own`
/// in all other weights.
struct SharedNumbers {
  Count own = 0, experts = 0;
  void add(const SharedNumbers& one, Count n) {
    own = llmcalc::add(own, mul(n, one.own));
    experts = llmcalc::add(experts, mul(n, one.experts));
  }
};
/// Number of elements in the largest layer: in total, outside expert-parallel experts, and in these experts.
struct LargestLayer {
  Count all = 0, own = 0, experts = 0;
  void see(const SharedNumbers& one) {
    all = std::max(all, llmcalc::add(one.own, one.experts));
    own = std::max(own, one.own);
    experts = std::max(experts, one.experts);
  }
};
/// Number of elements in the largest layer, counting the `own` elements, the expert-parallel experts, or both.
constexpr Count most_of(const LargestLayer& n, bool own, bool experts) {
  if (own) return experts ? n.all : n.own;
  return experts ? n.experts : 0;
}
/// Numbers of elements that data-parallel ranks may communicate.
struct Traveling {
  SharedNumbers layers{}, outside{};  ///< all layers; embedding and head, including a copied token embedding
  LargestLayer largest{};
};
/// Largest number of unsharded gradient elements that a rank holds at a time, counted by `of`. `all`: all gradients;
/// otherwise the gradients of the largest layer, or of the embedding and the head if these have more elements.
template <typename Of>
Count gradients_at_once(const Traveling& n, bool all, const Of& of) {
  return all ? add(of(n.outside), of(n.layers)) : std::max(of(n.outside), of(n.largest));
}

/// Sums over a rank's rows, from which the rank's states under any sharding follow.
struct HeldSums {
  Learned all{}, experts{};          ///< the rank's parameters, and the part in expert-parallel experts
  Bytes frozen{}, frozen_experts{};  ///< bytes of untrained weights outside expert-parallel experts, and in these
                                     ///< experts
  Traveling weights{}, gradients{};
  Bytes largest_outside{}, largest_layer{};  ///< stored weight bytes: the larger of embedding and head; largest layer
};
HeldSums held_sums(const Prices& prices, const HeldRows& rows);

/// States of a rank, computed from its sums.
States training_states(const HeldSums& sums, const Plan& plan, const Layout& layout);
States updated_states(const HeldSums& sums, const Plan& plan, const Layout& layout);

/// Activations of a rank at its peak: `saved` for the backward passes of its micro-batches, and `rest`, the additional
/// bytes of the running chunk (the maximum over chunks).
struct StageAlive {
  Bytes saved{}, rest{}, logits{};
  Bytes host{};     ///< bytes of activations on the host, at the host's peak
  Bytes transit{};  ///< bytes in transit to or from the host: maximum over the chunks
};
/// Activations of one micro-batch in one chunk.
struct ChunkAlive {
  Bytes saved{}, for_weights{}, rest{}, logits{};
  Bytes host{}, transit{};
};
ChunkAlive chunk_alive(const Prices& prices, const Plan& plan, const ModelChunk& chunk);
void add(StageAlive& alive, const ChunkAlive& chunk, Count micro_batches, Count for_weights, Count on_host);

/// Memory of one rank in an optimizer step of micro-batches (micro_batch, seq).
///   gathered: under ZeRO-3 the weights of the embedding and the head while a micro-batch runs, and of two layers, one
///     running and one prefetched (all layers if backward does not regather them); excludes weights that are not
///     sharded
///   buckets: from ZeRO-2 on, the gradients of one layer, or of the embedding and the head; all of the rank's
///    gradients if a step accumulates them (accumulates_gradients)
///   collective_call: in a pipeline, an incoming message and an outgoing one
///   transit, host: see calc/training/offload.hpp
/// Sources: ZeRO; PyTorch FSDP (arXiv:2304.11277), section 4.2: a unit runs while the next is fetched.
Memory stage_memory(const Prices& prices, const Plan& plan, const Layout& layout, std::span<const ChunkInFlight> held,
                    Bytes process = {});
Memory stage_memory(const Prices& prices, const HeldSums& sums, const StageAlive& alive, const Plan& plan,
                    const Layout& layout, Bytes process = {});
/// Memory of a rank that holds all of the model's layers.
Memory training_memory(const Prices& prices, const Plan& plan, const Layout& layout, Bytes process = {});
Memory training_memory(const Arch& arch, const Plan& plan, const Layout& layout = {}, Bytes process = {});

/// Memory for generating `batch` sequences, with a full cache of prompt + generate tokens. Offloaded bytes count in
/// `host`, not on the device. Vision/audio encoders are loaded with the model on every rank (media_encoder_bytes).
/// Excludes transfer buffers and the computation of encoders, because prompts are text.
Memory inference_memory(const Prices& prefill, Bytes workspace_of_last, const Plan& plan, const Layout& layout,
                        Bytes process = {});
Memory inference_memory(const Arch& arch, const Plan& plan, const Layout& layout = {}, Bytes process = {});
/// Bytes of one rank's vision/audio encoders, including its shard of Plan::cut_media_encoders.
Bytes media_encoder_bytes(const Plan& plan, const Layout& layout);

/// Peak bytes of an inference pass, excluding weights and cache.
Bytes pass_workspace(const Prices& pass);

/// Bytes of the decoder's embedded tokens, which stay live while the encoder runs; 0 if the model is not an
/// encoder-decoder.
Bytes waiting_for_encoder(const Prices& pass);

/// Bytes of one device's weights in the formats `stored_in`; the overload for a plan uses its inference formats. If a
/// component's checkpoint bytes are known, its weights are a share of these bytes.
Bytes weights_bytes(const Prices& prices, const WeightFormats& stored_in);
/// Bytes of one device's weights in one component, including its MTP modules.
Bytes held_bytes(const Prices& prices, const WeightFormats& stored_in, Component component);
Bytes weights_bytes(const Arch& arch, const Plan& plan, const Layout& layout = {});
/// Bytes of one device's weights that inference offloads to the host.
Bytes host_weights_bytes(const Prices& prices, const Plan& plan);

/// Whether the optimizer keeps a float32 master copy of the weights, which requires weights of fewer bits.
bool keeps_master(const Plan& plan);

/// Bytes of optimizer state for the trained parameters: the moments of the optimizer (calc/training/optimizer.hpp) and
/// the float32 master copy of 16-bit weights.
Bytes optimizer_bytes(const Plan& plan, const Learned& numbers);

/// Bytes of the cache of one sequence of `context` tokens on one device, summed over all layers. Local layers keep at
/// most a window or chunk; KV heads are replicated if there are fewer KV heads than tensor-parallel ranks; MLA's latent
/// rows are always replicated; a linear layer caches its float32 state.
Bytes cache_bytes(const Prices& prices, Count context);
Bytes cache_bytes(const Arch& arch, const Plan& plan, Count context, const Layout& layout = {});

/// Bytes of one sequence's tokens whose pooling group may be incomplete, in addition to the cache (CacheRow::open).
Bytes open_bytes(const Prices& prices);
Bytes open_bytes(const Arch& arch, const Plan& plan, const Layout& layout = {});

/// Cache bytes per additional token while no window or chunk is full.
Bytes cache_bytes_per_token(const Prices& prices);
Bytes cache_bytes_per_token(const Arch& arch, const Plan& plan, const Layout& layout = {});
/// Bytes by which the cache of a sequence grows per token once all windows and chunks are full.
Bytes growing_cache_bytes(const Arch& arch, const Plan& plan, const Layout& layout = {});

/// Prices of a pass over a single token, which determine a device's weights and cache.
Prices price_holdings(const Arch& arch, const Plan& plan, const Layout& layout = {});

/// Bytes of the gradients in `s`, in the format in which ranks reduce them and the optimizer reads them.
Bytes summed_gradients(const States& s, const Plan& plan);

/// Bytes moved in one optimizer step: states are read and written, gradients are read, weights are written (and read
/// if there is no master copy).
Bytes optimizer_traffic(const States& s, const Plan& plan);

}  // namespace llmcalc
