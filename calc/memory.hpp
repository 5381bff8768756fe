#pragma once
/// Memory of one device, the most loaded one: tensors held, and the peak of what is alive at once.

#include <algorithm>
#include <span>

#include "calc/pipeline/chunk.hpp"

namespace llmcalc {

struct Memory {
  Bytes weights{}, gradients{}, optimizer{};  ///< the rank's own, or its shards of them
  Bytes activations{};                        ///< kept for backward, all layers
  Bytes logits{};
  Bytes towers{};  ///< weights beside the model
  Bytes kv_cache{};
  Bytes workspace{};     ///< alive at the worst moment besides the other fields
  Bytes gathered{};      ///< weights of other ranks' shards, while layers run
  Bytes buckets{};       ///< gradients on their way to the ranks that shard them
  Bytes exchange{};      ///< messages between the stages of a pipeline
  Bytes transit{};       ///< on the way to or from the host: activations of a layer, weights of two, gradients of one
  Bytes process{};       ///< driver, libraries, kernels before any tensor; measured, 0 where it is not known
  Bytes total{};         ///< the sum of the above
  Bytes peak{};          ///< most alive at once; below total where not all is alive together
  Bytes host{};          ///< in the host's memory, in none of the others; activations at the device's worst moment
  Count parameters = 0;  ///< held by this device
  Count trained = 0;     ///< of them
};

/// Weights, gradients and optimizer state of one device.
struct States {
  Bytes weights{}, gradients{}, optimizer{};  ///< of what is trained
  Bytes frozen{};                             ///< weights that are not
  Count parameters = 0;                       ///< that it works with, sharded or not
  Count trained = 0;                          ///< of them
};

/// States of the chunks that a rank holds. ZeRO (arXiv:1910.02054): of n numbers that d ranks share out each holds
/// ceil(n/d): of the optimizer's from stage 1, of the gradients from stage 2, of the weights from stage 3. Experts that
/// are divided over ranks are shared out among the ranks that hold the same ones.
States training_states(const Prices& prices, const Plan& plan, const Layout& layout,
                       std::span<const ModelChunk> chunks);
/// The states that its optimizer works on: with any ZeRO stage, the shards of all three.
States updated_states(const Prices& prices, const Plan& plan, const Layout& layout, std::span<const ModelChunk> chunks);
/// The states of a device that holds the model's layers all.
States training_states(const Arch& arch, const Plan& plan, const Layout& layout = {});

/// A chunk, and of how many micro-batches a rank keeps something of it at its worst moment.
struct ChunkInFlight {
  ModelChunk chunk;
  Count micro_batches = 1;  ///< their activations
  Count for_weights = 0;    ///< what their weight gradients still need, and no more
  Count on_host = 1;        ///< micro-batches whose activations are on the host when it has most
};

/// Bytes that a chunk keeps of one micro-batch for backward, and for its weight gradients alone.
Bytes kept_bytes(const Prices& prices, const Plan& plan, const ModelChunk& chunk);
Bytes kept_for_weights(const Prices& prices, const ModelChunk& chunk);

/// Rows that a rank holds, of whatever chunks: layers of each kind, embedding, head with the modules behind it.
struct HeldRows {
  std::array<Count, most_kinds> layers{};
  bool embedding = false, head = false;
  constexpr bool operator==(const HeldRows&) const = default;
};
void add(HeldRows& rows, const LayerKinds& kinds, const ModelChunk& chunk);

/// Numbers of some rows: those that all data-parallel ranks hold, and divided experts.
struct SharedNumbers {
  Count own = 0, experts = 0;
  void add(const SharedNumbers& one, Count n) {
    own = llmcalc::add(own, mul(n, one.own));
    experts = llmcalc::add(experts, mul(n, one.experts));
  }
};
/// The most that one layer has of all numbers, without and of divided experts.
struct LargestLayer {
  Count all = 0, own = 0, experts = 0;
  void see(const SharedNumbers& one) {
    all = std::max(all, llmcalc::add(one.own, one.experts));
    own = std::max(own, one.own);
    experts = std::max(experts, one.experts);
  }
};
/// The most numbers of one layer: its own, those of its divided experts, or both.
constexpr Count most_of(const LargestLayer& n, bool own, bool experts) {
  if (own) return experts ? n.all : n.own;
  return experts ? n.experts : 0;
}
/// Numbers that data-parallel ranks may exchange.
struct Travelling {
  SharedNumbers layers{}, outside{};  ///< of all layers; of embedding and head, a copy of the table among them
  LargestLayer largest{};
};
/// Gradients that a rank holds whole at once, as `of` counts numbers: all, or those of embedding and head, or of a
/// layer.
template <typename Of>
Count gradients_at_once(const Travelling& n, bool all, const Of& of) {
  return all ? add(of(n.outside), of(n.layers)) : std::max(of(n.outside), of(n.largest));
}

/// Sums over a rank's rows, from which its states follow under any sharding.
struct HeldSums {
  Learned all{}, experts{};          ///< the rank's numbers, and divided experts among them
  Bytes frozen{}, frozen_experts{};  ///< weights that are not trained, without and of divided experts
  Travelling weights{}, gradients{};
  Bytes largest_outside{}, largest_layer{};  ///< weights as stored of embedding or head, and of a layer
};
HeldSums held_sums(const Prices& prices, const HeldRows& rows);

/// States of a rank, as below.
States training_states(const HeldSums& sums, const Plan& plan, const Layout& layout);
States updated_states(const HeldSums& sums, const Plan& plan, const Layout& layout);

/// Activations of a rank at its worst moment: `kept` for the backward passes of its micro-batches, and `rest`, which a
/// running chunk needs beside them, of the chunk that needs most.
struct StageAlive {
  Bytes kept{}, rest{}, logits{};
  Bytes host{};     ///< activations on the host, when it has most
  Bytes transit{};  ///< on their way, of the chunk with most
};
/// Activations of one micro-batch in one chunk.
struct ChunkAlive {
  Bytes kept{}, for_weights{}, rest{}, logits{};
  Bytes host{}, transit{};
};
ChunkAlive chunk_alive(const Prices& prices, const Plan& plan, const ModelChunk& chunk);
void add(StageAlive& alive, const ChunkAlive& chunk, Count micro_batches, Count for_weights, Count on_host);

/// Memory of one rank in an optimizer step of micro-batches (micro_batch, seq).
///   gathered: under ZeRO-3 the weights of embedding and head while a micro-batch runs, and of two layers, one that
///     runs and one that is fetched (all layers where they are not gathered again for backward); none of those that no
///     other rank holds
///   buckets: from ZeRO-2, one layer's gradients, or those of embedding and head; all of the rank's where a step
///     accumulates them (accumulates_gradients)
///   exchange: in a pipeline, a message that arrives and one that leaves
///   transit, host: see calc/training/offload.hpp
/// Sources: ZeRO; PyTorch FSDP (arXiv:2304.11277), section 4.2: a unit runs while the next is fetched.
Memory stage_memory(const Prices& prices, const Plan& plan, const Layout& layout, std::span<const ChunkInFlight> held,
                    Bytes process = {});
Memory stage_memory(const Prices& prices, const HeldSums& sums, const StageAlive& alive, const Plan& plan,
                    const Layout& layout, Bytes process = {});
/// Memory of a rank that holds all of the model's layers.
Memory training_memory(const Prices& prices, const Plan& plan, const Layout& layout, Bytes process = {});
Memory training_memory(const Arch& arch, const Plan& plan, const Layout& layout = {}, Bytes process = {});

/// Memory of the generation of batch sequences, the cache full: prompt + generate tokens. What is offloaded is in
/// `host` and not on the device; the tensors on their way are not counted. Towers are loaded with the model, whole on
/// every rank; what they compute is left out, since prompts are text.
Memory inference_memory(const Prices& prefill, Bytes workspace_of_last, const Plan& plan, const Layout& layout,
                        Bytes process = {});
Memory inference_memory(const Arch& arch, const Plan& plan, const Layout& layout = {}, Bytes process = {});
/// Bytes of one rank's towers, those that its ranks cut among them.
Bytes tower_bytes(const Plan& plan, const Layout& layout);

/// Peak bytes that an inference pass holds besides weights and cache.
Bytes pass_workspace(const Prices& pass);

/// Embedded tokens of a decoder, which wait while the encoder before it runs; 0 where there is none.
Bytes waiting_for_encoder(const Prices& pass);

/// Bytes of one device's weights in the formats that they were priced in, as the pass (or, of a plan, inference) holds
/// them; of a component whose bytes a checkpoint states, its share of those.
Bytes weights_bytes(const Prices& prices, const WeightFormats& stored_in);
/// Those of one component, modules' among them.
Bytes held_bytes(const Prices& prices, const WeightFormats& stored_in, Component component);
Bytes weights_bytes(const Arch& arch, const Plan& plan, const Layout& layout = {});
/// Those of them that inference has on the host.
Bytes host_weights_bytes(const Prices& prices, const Plan& plan);

/// Whether the optimizer keeps a float32 copy of the weights: only of those in fewer bits.
bool keeps_master(const Plan& plan);

/// Optimizer bytes of the trained numbers: moments by the optimizer's row (calc/training/optimizer.hpp), and the
/// float32 master copy of 16-bit weights.
Bytes optimizer_bytes(const Plan& plan, const Learned& numbers);

/// Cache of one sequence of `context` tokens on one device, all layers: local layers keep at most a window or chunk, KV
/// heads fewer than the ranks are replicated, MLA's latent rows always are; a linear layer keeps its float32 state.
Bytes cache_bytes(const Prices& prices, Count context);
Bytes cache_bytes(const Arch& arch, const Plan& plan, Count context, const Layout& layout = {});

/// Bytes of one sequence's tokens whose group may still be open, beside the cache (CacheRow::open).
Bytes open_bytes(const Prices& prices);
Bytes open_bytes(const Arch& arch, const Plan& plan, const Layout& layout = {});

/// Cache bytes of one more token while no window or chunk is full.
Bytes cache_bytes_per_token(const Prices& prices);
Bytes cache_bytes_per_token(const Arch& arch, const Plan& plan, const Layout& layout = {});

/// Prices of a single token, from which the weights and cache of a device follow.
Prices price_holdings(const Arch& arch, const Plan& plan, const Layout& layout = {});

/// Bytes of the states' gradients as ranks sum them and the optimizer reads them.
Bytes summed_gradients(const States& s, const Plan& plan);

/// Bytes that optimizer, gradients and weights move in one optimizer step: states read and written, gradients read,
/// weights written (and read, where there is no master copy).
Bytes optimizer_traffic(const States& s, const Plan& plan);

}  // namespace llmcalc
