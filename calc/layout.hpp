#pragma once
/// Layout of a model on the devices of a cluster: the number of ranks of each kind of parallelism, and their order.
///
/// devices = tp x cp x pp x dp. Expert parallelism reuses the ranks of tensor, data and context parallelism: ep x etp
/// divides tp x cp x dp (Megatron-Core's parallel folding, arXiv:2504.14960) and, under hybrid sharding, tp x hsdp: one
/// copy of the states holds every expert (torchtitan: efsdp = dp_shard x cp x tp / (ep x etp); Megatron-Core: partial
/// expert-data groups). The order of the axes determines which ranks are on neighboring devices.

#include <array>
#include <cstdint>
#include <string_view>

#include "calc/arch.hpp"
#include "calc/choice.hpp"
#include "calc/inplace_vector.hpp"
#include "calc/links/collective.hpp"
#include "calc/units.hpp"

namespace llmcalc {

/// Groups of ranks that communicate with each other.
enum class Group : std::uint8_t {
  tensor,
  context,
  expert,
  expert_tensor,
  pipeline,
  data,          ///< ranks with the same weights: context-parallel ranks and replicas; they sum gradients
  expert_data,   ///< ranks with the same experts
  shard,         ///< subset of `data` across which one copy of the states is sharded
  replica,       ///< subset of `data` with the same shard
  expert_shard,  ///< subset of `expert_data` across which one copy of the experts' states is sharded: the ranks within
                 ///< one copy of all states
  expert_replica,  ///< subset of `expert_data` with the same shard, one rank per copy
  cached           ///< subset of `tensor` across which the cached tokens are sharded
};
inline constexpr std::size_t group_count = 12;
inline constexpr std::array<std::string_view, group_count> group_names{
    "tensor",      "context", "expert",  "expert-tensor", "pipeline",       "data",
    "expert-data", "shard",   "replica", "expert-shard",  "expert-replica", "cached"};

/// Axes of the device grid, one per kind of parallelism. An AxisOrder lists them from neighboring devices outward.
enum class Axis : std::uint8_t { tensor, context, expert, data, pipeline };
using AxisOrder = std::array<Axis, 5>;
/// Megatron-Core's order.
inline constexpr AxisOrder usual_order{Axis::tensor, Axis::context, Axis::expert, Axis::data, Axis::pipeline};

/// Tensors sharded across data-parallel ranks (ZeRO, arXiv:1910.02054).
enum class Zero : std::uint8_t {
  none,       ///< every rank stores all tensors
  optimizer,  ///< stage 1: optimizer states
  gradients,  ///< stage 2: also gradients
  weights     ///< stage 3, FSDP: also weights
};

/// The order in which a pipeline runs its micro-batches. ZB schedules run input and weight gradients separately.
enum class Schedule : std::uint8_t {
  gpipe,        ///< all forward passes, then all backward passes (arXiv:1811.06965)
  one_f_one_b,  ///< one forward, one backward in the steady state (arXiv:2006.09503)
  interleaved,  ///< 1F1B with several chunks of layers per rank (arXiv:2104.04473)
  zb_h1,        ///< weight gradients fill the drain; memory as in 1F1B (arXiv:2401.10241)
  zb_h2,        ///< no bubble if forward, input gradients and weight gradients take equal time; up to 2P - 1
                ///< micro-batches in memory (arXiv:2401.10241)
  zb_1p,        ///< weight gradients fill pipeline stalls; at most P micro-batches in memory (arXiv:2401.10241)
  zb_2p,        ///< as zb_1p, with at most 2P micro-batches in memory (arXiv:2401.10241)
  zb_v,         ///< two chunks per rank in a V, memory as in 1F1B (arXiv:2405.15362)
  dualpipe,     ///< micro-batches enter from both ends; two copies of the weights (arXiv:2412.19437)
  dualpipe_v    ///< DualPipe cut in half: two chunks per rank in a V (github.com/deepseek-ai/DualPipe)
};
template <>
inline constexpr auto choices<Schedule> = std::array{Choice{Schedule::gpipe, "gpipe"},
                                                     Choice{Schedule::one_f_one_b, "1f1b"},
                                                     Choice{Schedule::interleaved, "interleaved"},
                                                     Choice{Schedule::zb_h1, "zb-h1"},
                                                     Choice{Schedule::zb_h2, "zb-h2"},
                                                     Choice{Schedule::zb_1p, "zb-1p"},
                                                     Choice{Schedule::zb_2p, "zb-2p"},
                                                     Choice{Schedule::zb_v, "zb-v"},
                                                     Choice{Schedule::dualpipe, "dualpipe"},
                                                     Choice{Schedule::dualpipe_v, "dualpipe-v"}};

/// Number of layers in every chunk of a pipeline, in model order.
using StageLayers = InplaceVector<Count, 256>;

/// Methods by which context-parallel ranks, each holding a part of every sequence, compute the attention core.
enum class ContextMethod : std::uint8_t {
  ring,        ///< keys and values pass from rank to rank (arXiv:2310.01889)
  all_gather,  ///< every rank gathers all keys and values (Llama 3, arXiv:2407.21783)
  ulysses      ///< every rank computes some heads on whole sequences (arXiv:2309.14509)
};
template <>
inline constexpr auto choices<ContextMethod> =
    std::array{Choice{ContextMethod::ring, "ring"}, Choice{ContextMethod::all_gather, "all-gather"},
               Choice{ContextMethod::ulysses, "ulysses"}};

/// Choice of the collective algorithm on each level of a cluster. After the inner levels, an outer level carries only
/// each rank's share of the message. All-to-alls and point-to-point messages have a single algorithm.
enum class Collectives : std::uint8_t {
  ring,        ///< rings on every level
  tree,        ///< all-reduces outside the innermost level use double binary trees (NCCL 2.4)
  in_network,  ///< reductions in the switches, on levels whose switches can reduce
  fastest      ///< the fastest algorithm for the message on each level
};
template <>
inline constexpr auto choices<Collectives> =
    std::array{Choice{Collectives::ring, "ring"}, Choice{Collectives::tree, "tree"},
               Choice{Collectives::in_network, "in-network"}, Choice{Collectives::fastest, "fastest"}};

struct Layout {
  Count tp = 1;     ///< number of tensor-parallel ranks
  bool sp = false;  ///< whether tensor-parallel ranks also use sequence parallelism
  Count cp = 1;     ///< number of context-parallel ranks
  ContextMethod context_method = ContextMethod::ring;
  Count dcp = 1;           ///< inference: number of tensor-parallel ranks with the same KV heads across which cached
                           ///< tokens are sharded (decode context parallelism)
  Count ep = 1;            ///< number of ranks over which experts are divided
  Count etp = 0;           ///< number of ranks across which each expert's width is sharded; 0: same as tp
  Count expert_nodes = 0;  ///< maximum number of nodes to which a token is routed; one copy of the token is sent to
                           ///< each node. 0: no limit; one copy is sent to each expert
  bool once_per_rank = false;  ///< whether a token is sent once to each rank, for all of its experts there, and once to
                               ///< each other node, which forwards it (DeepEP, HybridEP)
  Ratio expert_load{1, 1};     ///< expert rows of the most loaded rank, relative to a balanced load; at least 1
  Count pp = 1;
  Count chunks = 1;            ///< number of chunks per pipeline rank
  Count dp = 1;                ///< number of data-parallel replicas
  StageLayers stage_layers{};  ///< number of layers of each chunk; empty: balanced
  Zero zero = Zero::none;
  Count hsdp = 0;       ///< number of ranks across which one copy of the states is sharded; 0: all of Group::data
  bool reshard = true;  ///< ZeRO-3: whether backward regathers the weights gathered for forward
  AxisOrder order = usual_order;
  Schedule schedule = Schedule::one_f_one_b;
  Collectives collectives = Collectives::ring;
  Count vocabulary_multiple = 1;  ///< training: each rank's rows of embedding and head are padded to a multiple of
                                  ///< this number
  constexpr bool operator==(const Layout&) const = default;
};

/// Number of devices from the first rank of a group to the last, including interleaved ranks of other groups.
Count span(const Layout& l, Group g);

/// Number of devices in one model replica; devices() is the number in the whole run.
constexpr Count replica_devices(const Layout& l) { return mul(l.tp, l.cp, l.pp); }
constexpr Count devices(const Layout& l) { return mul(replica_devices(l), l.dp); }
/// Number of model replicas that train concurrently, each on separate micro-batches.
constexpr Count replicas(const Layout& l) { return l.dp; }

/// Whether the residual stream is sharded across the tensor-parallel ranks.
constexpr bool sequence_parallel(const Layout& l) { return l.sp && l.tp > 1; }

/// The ranks of a group along one axis: their number, and the distance between neighbors, in devices.
struct Line {
  Count ranks = 1, stride = 1;
};
/// The lines of a group's ranks, one per axis, neighbors first.
struct Lines {
  Line inner, outer;
  constexpr Count ranks() const { return mul(inner.ranks, outer.ranks); }
};
Lines lines(const Layout& l, Group g);

/// Number of ranks in a group.
Count ranks(const Layout& l, Group g);

/// Classes of parameters, by the grid of ranks that holds them. `experts`: a grid of expert, expert-tensor and
/// expert-data ranks. `dense`, all other parameters (embedding, head, norms, routers, adapters of these): a grid of
/// tensor and data ranks, including context ranks.
enum class ParameterClass : std::uint8_t { dense, experts };
inline constexpr std::array parameter_classes{ParameterClass::dense, ParameterClass::experts};

/// The groups of a class. The grid of every pipeline stage has tensor x shard x replica ranks.
struct StateGroups {
  Group tensor;   ///< ranks across which the width of matrices is sharded
  Group all;      ///< ranks with the same parameters: shard x replica
  Group shard;    ///< ranks across which one copy of the states is sharded
  Group replica;  ///< ranks with the same shard
};
constexpr StateGroups state_groups(ParameterClass c) {
  return c == ParameterClass::experts
             ? StateGroups{Group::expert_tensor, Group::expert_data, Group::expert_shard, Group::expert_replica}
             : StateGroups{Group::tensor, Group::data, Group::shard, Group::replica};
}
/// Whether one copy of a class's states is sharded across ranks.
inline bool shards(const Layout& l, ParameterClass c) { return ranks(l, state_groups(c).shard) > 1; }
/// Size of the largest shard of n elements of a class.
inline Count shard_of(const Layout& l, ParameterClass c, Count n) {
  return ceil_div(n, ranks(l, state_groups(c).shard));
}
/// Whether several ranks hold the same parameters, in any class.
inline bool shares_parameters(const Layout& l) { return ranks(l, Group::data) > 1 || ranks(l, Group::expert_data) > 1; }

/// Whether a rank accumulates unsharded gradients of its chunks over a step and reduce-scatters them once. This is
/// the case under ZeRO-2 in a pipeline. PyTorch's stages synchronize gradients only in a chunk's last backward
/// (torch/distributed/pipelining/stage.py, backward_maybe_with_nosync), and Megatron-LM's distributed optimizer
/// reduces only in the last micro-batch. DeepSpeed's PipelineEngine rejects ZeRO-2, which would reduce in every
/// micro-batch.
inline bool accumulates_gradients(const Layout& l) {
  return l.zero == Zero::gradients && ranks(l, Group::pipeline) > 1;
}

/// The layout of a single serving engine, which has only tensor-parallel ranks.
constexpr Layout one_engine(const Layout& l) {
  Layout engine;
  engine.tp = l.tp;
  engine.sp = l.sp;
  engine.dcp = l.dcp;
  engine.collectives = l.collectives;
  return engine;
}

/// The layout of a single serving engine with its pipeline stages.
constexpr Layout staged_engine(const Layout& l) {
  Layout engine = one_engine(l);
  engine.pp = l.pp;
  engine.stage_layers = l.stage_layers;
  return engine;
}

/// Reason a layout is invalid for a model.
enum class LayoutFlaw : std::uint8_t {
  none,
  heads,            ///< the number of attention heads is not a multiple of the number of tensor-parallel ranks
  sequence_of_one,  ///< sequence parallelism without tensor-parallel ranks
  cached_ranks,     ///< decode context parallelism across ranks that do not all have the same KV heads
  cached_layers,    ///< decode context parallelism with layers other than full attention: windows, pooled or selected
                    ///< keys, recurrent states
  context_heads,    ///< Ulysses: the heads of a tensor-parallel rank do not divide evenly over the context ranks
  context_state,    ///< context parallelism with a state that must pass through the sequence in order, or with an
                    ///< indexer that selects among the keys of all tokens
  pipeline_state,   ///< a stage would have to send more than its result (keys and values, per-layer inputs), or
                    ///< layers repeat the weights of layers in another stage
  context_encoder,  ///< context parallelism with an encoder-decoder or relative positions
  context_tokens,   ///< a sequence does not divide evenly over the context ranks: 2 parts per rank, 1 under Ulysses
  experts,          ///< the number of experts is not a multiple of the number of expert-parallel ranks, or is 0
  expert_ranks,     ///< ep x etp does not divide tp x cp x dp
  expert_shards,    ///< ep x etp does not divide tp x hsdp, the number of devices of one copy of the states
  expert_stages,    ///< the order puts a stage's experts on different devices from the rest of the stage
  expert_tokens,    ///< experts on separate ranks with tensor parallelism but without sequence parallelism, which would
                    ///< divide the tokens
  expert_load,      ///< expert_load is below 1 (the mean), or gives the most loaded rank more than all expert rows
  expert_nodes      ///< the nodes to which a token may be routed have fewer than top_k experts
};
LayoutFlaw flaw(const Arch& arch, const Layout& l);
/// The first flaw of a layout for training on sequences of `seq` tokens.
LayoutFlaw flaw(const Arch& arch, const Layout& l, Count seq);

}  // namespace llmcalc
