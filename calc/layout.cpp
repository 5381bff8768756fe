#include "calc/layout.hpp"

#include <algorithm>

namespace llmcalc {
namespace {

Count expert_tensor_ranks(const Layout& l) { return l.etp > 0 ? l.etp : l.tp; }

/// Number of ranks along an axis. `experts`: in the grid of ranks that holds the experts, rather than the grid for
/// all other weights.
Count along(const Layout& l, Axis a, bool experts) {
  switch (a) {
    case Axis::tensor:
      return experts ? expert_tensor_ranks(l) : l.tp;
    case Axis::context:
      return experts ? 1 : l.cp;
    case Axis::expert:
      return experts ? l.ep : 1;
    case Axis::data:
      return experts ? mul(l.tp, l.cp, l.dp) / mul(l.ep, expert_tensor_ranks(l)) : l.dp;
    case Axis::pipeline:
      return l.pp;
  }
  return 1;
}

Line line(const Layout& l, Axis of, bool experts = false) {
  Line all{along(l, of, experts), 1};
  for (const Axis a : l.order) {
    if (a == of) break;
    all.stride = mul(all.stride, along(l, a, experts));
  }
  return all;
}

/// The lines of a group of context-parallel ranks and data-parallel replicas, inner line first.
Lines data_lines(const Layout& l) {
  const Line context = line(l, Axis::context), data = line(l, Axis::data);
  return context.stride <= data.stride ? Lines{context, data} : Lines{data, context};
}

/// The first `n` ranks of a group, neighbors first. Precondition: n divides the number of ranks of the inner line or
/// is a multiple of it.
Lines first_ranks(Lines all, Count n) {
  const Count inner = n < all.inner.ranks ? n : all.inner.ranks;
  return {{inner, all.inner.stride}, {n / inner, all.outer.stride}};
}

/// The group that has one rank in every copy of `part`.
Lines others(const Lines& all, const Lines& part) {
  return {{all.inner.ranks / part.inner.ranks, mul(all.inner.stride, part.inner.ranks)},
          {all.outer.ranks / part.outer.ranks, mul(all.outer.stride, part.outer.ranks)}};
}

/// Whether hybrid sharding is on. The experts' ranks may then span several copies of the states, each with all
/// experts.
bool copies_experts(const Layout& l) { return l.hsdp > 0 && along(l, Axis::data, true) > 0; }

/// The ranks of one copy of the states that hold the same experts.
Lines expert_shard(const Layout& l) {
  const Lines all{line(l, Axis::data, true), {}};
  const Count n = mul(l.tp, l.hsdp) / mul(l.ep, expert_tensor_ranks(l));
  return copies_experts(l) ? first_ranks(all, n > 1 ? n : 1) : all;
}
Lines expert_replica(const Layout& l) {
  return copies_experts(l) ? others({line(l, Axis::data, true), {}}, expert_shard(l)) : Lines{};
}

}  // namespace

Lines lines(const Layout& l, Group g) {
  switch (g) {
    case Group::tensor:
      return {line(l, Axis::tensor), {}};
    case Group::context:
      return {line(l, Axis::context), {}};
    case Group::expert:
      return {line(l, Axis::expert, true), {}};
    case Group::expert_tensor:
      return {line(l, Axis::tensor, true), {}};
    case Group::pipeline:
      return {line(l, Axis::pipeline), {}};
    case Group::data:
      return data_lines(l);
    case Group::expert_data:
      return {line(l, Axis::data, true), {}};
    case Group::shard:
      return l.hsdp > 0 ? first_ranks(data_lines(l), l.hsdp) : data_lines(l);
    case Group::replica:
      return others(data_lines(l), lines(l, Group::shard));
    case Group::expert_shard:
      return expert_shard(l);
    case Group::expert_replica:
      return expert_replica(l);
    case Group::cached:
      return {{l.dcp, line(l, Axis::tensor).stride}, {}};
  }
  return {};
}

/// Equal to lines().ranks(), but avoids computing strides for groups along whole axes.
Count ranks(const Layout& l, Group g) {
  switch (g) {
    case Group::tensor:
      return l.tp;
    case Group::context:
      return l.cp;
    case Group::expert:
      return l.ep;
    case Group::expert_tensor:
      return expert_tensor_ranks(l);
    case Group::pipeline:
      return l.pp;
    case Group::data:
      return mul(l.cp, l.dp);
    case Group::expert_data:
      return along(l, Axis::data, true);
    case Group::shard:
      return l.hsdp > 0 ? lines(l, g).ranks() : mul(l.cp, l.dp);
    case Group::expert_shard:
      return l.hsdp > 0 ? lines(l, g).ranks() : along(l, Axis::data, true);
    case Group::replica:
    case Group::expert_replica:
      return l.hsdp > 0 ? lines(l, g).ranks() : 1;
    case Group::cached:
      return l.dcp;
  }
  return 1;
}

Count span(const Layout& l, Group g) {
  const Lines group = lines(l, g);
  const auto between = [](const Line& line) { return mul(line.stride, line.ranks - 1); };
  return add(add(between(group.inner), between(group.outer)), 1);
}

namespace {

/// Number of equal parts into which context-parallel ranks divide a sequence: 2 per rank; 1 per rank under Ulysses,
/// whose attention core sees the whole sequence.
Count context_parts(const Layout& l) { return l.context_method == ContextMethod::ulysses ? l.cp : mul(2, l.cp); }

/// Whether some layer pools keys, selects among all keys, or has a state that context-parallel ranks would have to pass
/// along.
bool has_state(const Arch& arch) {
  if (!arch.linear_layers.empty()) return true;
  for (std::size_t i = 0; i <= arch.mixers.size(); ++i) {
    const Mixer& m = arch.mixer(i);
    const bool pools = m.attention == AttentionKind::compressed;
    if (m.recurrent.kind != RecurrentKind::none || m.indexer.kind != IndexerKind::none || pools) return true;
  }
  return false;
}

/// Whether the heads of every mixer divide evenly over the ranks.
bool heads_divide(const Arch& arch, Count ranks) {
  for (std::size_t i = 0; i <= arch.mixers.size(); ++i) {
    const Mixer& m = arch.mixer(i);
    if (m.heads % ranks != 0 || m.recurrent.heads % ranks != 0 || m.compressed.out_groups % ranks != 0) return false;
  }
  return true;
}

/// Whether a layer may need weights of another stage, or tensors from that stage other than the layer's input.
bool needs_others(const Arch& arch) {
  bool shared = arch.has_repeats() || arch.residual_block > 0 || arch.per_layer.width > 0 ||
                arch.is_encoder_decoder() || (arch.position == Position::relative && !arch.layer_distances);
  for (std::size_t i = 0; i <= arch.mixers.size(); ++i) shared = shared || arch.mixer(i).reads_kv();
  return shared;
}

LayoutFlaw context_flaw(const Arch& arch, const Layout& l) {
  if (l.cp == 1) return LayoutFlaw::none;
  if (has_state(arch)) return LayoutFlaw::context_state;
  if (arch.is_encoder_decoder() || arch.position == Position::relative) return LayoutFlaw::context_encoder;
  const bool by_heads = l.context_method == ContextMethod::ulysses;
  return by_heads && arch.heads / l.tp % l.cp != 0 ? LayoutFlaw::context_heads : LayoutFlaw::none;
}

/// Whether all layers of a mixer cache every token, in one row per KV head.
bool caches_all(const Mixer& m) {
  const bool plain = m.attention == AttentionKind::grouped || m.attention == AttentionKind::latent;
  return plain && m.recurrent.kind == RecurrentKind::none && m.indexer.kind == IndexerKind::none && !m.cross_attention;
}

LayoutFlaw cached_flaw(const Arch& arch, const Layout& l) {
  if (l.dcp == 1) return LayoutFlaw::none;
  const auto is_limited = [](const LayerMixer& m) { return m.reach.limited(); };
  if (!arch.local.layers.empty() || !arch.linear_layers.empty() ||
      std::any_of(arch.mixers.begin(), arch.mixers.end(), is_limited))
    return LayoutFlaw::cached_layers;
  bool alike = l.tp % l.dcp == 0;
  for (std::size_t i = 0; i <= arch.mixers.size(); ++i) {
    const Mixer& m = arch.mixer(i);
    if (!caches_all(m)) return LayoutFlaw::cached_layers;
    const Count heads = m.attention == AttentionKind::latent ? 1 : m.kv_heads;
    alike = alike && l.tp % heads == 0 && l.tp / heads % l.dcp == 0;
  }
  return alike ? LayoutFlaw::none : LayoutFlaw::cached_ranks;
}

/// Whether the grid of experts and the grid of all other weights place each stage on the same devices. Megatron-Core
/// requires equal pipeline groups (megatron/core/parallel_state.py, initialize_model_parallel).
bool shares_stages(const Layout& l) {
  return l.pp == 1 || line(l, Axis::pipeline).stride == line(l, Axis::pipeline, true).stride;
}

/// Megatron-LM also requires sequence parallelism when expert and tensor parallelism are combined.
LayoutFlaw expert_flaw(const Arch& arch, const Layout& l) {
  if (l.ep > 1 && (!arch.has_experts() || arch.moe.experts % l.ep != 0)) return LayoutFlaw::experts;
  const Count widths = expert_tensor_ranks(l);
  if (mul(l.tp, l.cp, l.dp) % mul(l.ep, widths) != 0) return LayoutFlaw::expert_ranks;
  if (l.hsdp > 0 && mul(l.tp, l.hsdp) % mul(l.ep, widths) != 0) return LayoutFlaw::expert_shards;
  if (!arch.has_experts()) return LayoutFlaw::none;
  if (l.expert_load.numerator < l.expert_load.denominator) return LayoutFlaw::expert_load;
  if (l.ep > 1 && l.expert_load.numerator > mul(l.ep, l.expert_load.denominator)) return LayoutFlaw::expert_load;
  const bool apart = l.ep > 1 || widths != l.tp;
  if (apart && !shares_stages(l)) return LayoutFlaw::expert_stages;
  return apart && l.tp > 1 && !l.sp ? LayoutFlaw::expert_tokens : LayoutFlaw::none;
}

}  // namespace

LayoutFlaw flaw(const Arch& arch, const Layout& l) {
  if (!heads_divide(arch, l.tp)) return LayoutFlaw::heads;
  if (l.sp && l.tp == 1) return LayoutFlaw::sequence_of_one;
  if (const LayoutFlaw cached = cached_flaw(arch, l); cached != LayoutFlaw::none) return cached;
  if (l.pp > 1 && needs_others(arch)) return LayoutFlaw::pipeline_state;
  const LayoutFlaw context = context_flaw(arch, l);
  return context != LayoutFlaw::none ? context : expert_flaw(arch, l);
}

LayoutFlaw flaw(const Arch& arch, const Layout& l, Count seq) {
  if (l.cp > 1 && seq % context_parts(l) != 0) return LayoutFlaw::context_tokens;
  return flaw(arch, l);
}

}  // namespace llmcalc
