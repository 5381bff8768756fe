#include "ask/request/nearest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ask/request/options/option_values.hpp"
#include "ask/request/options/options.hpp"
#include "calc/train.hpp"

namespace llmcalc {
namespace {

/// Whether the specified number of GPUs is a whole number of model replicas in this layout.
bool divides_gpus(const Request& r, const Layout& l) { return !r.gpus || *r.gpus % replica_devices(l) == 0; }

/// The options for layout `l`, with a new global batch if the layout needs one: "--pp 34 --global-batch 68". Absent
/// if no global batch makes the layout valid.
std::optional<std::string> working(const Request& r, Layout l, const std::string& options) {
  if (!divides_gpus(r, l) || flaw(r.model.arch, l, r.plan.seq) != LayoutFlaw::none) return std::nullopt;
  if (r.gpus) l.dp = *r.gpus / replica_devices(l);
  Plan plan = r.plan;
  if (!r.gave("--global-batch")) plan.global_batch = mul(plan.micro_batch, replicas(l));
  Pipeline p = pipeline_of(plan, l);
  const bool thin = model_chunks(p) > r.model.arch.layers || p.chunks > static_cast<Count>(most_chunks);
  if (p.ranks > 1 && thin) return std::nullopt;
  const bool whole = plan.global_batch % mul(plan.micro_batch, replicas(l)) == 0;
  if (whole && (p.ranks == 1 || flaw(p) == PipelineFlaw::none)) return options;
  p.micro_batches = std::max<Count>(1, p.micro_batches);
  for (int i = 0; i < 2 && flaw(p) != PipelineFlaw::none; ++i) p.micro_batches = enough(p);
  if (p.ranks > 1 && flaw(p) != PipelineFlaw::none) return std::nullopt;
  return fmt::format("{} --global-batch {}", options, mul(p.micro_batches, plan.micro_batch, replicas(l)));
}

std::optional<std::string> with_ranks(const Request& r, Count ranks) {
  Layout changed = r.layout;
  changed.pp = ranks;
  if (ranks == 1) changed.chunks = 1;
  return working(r, changed, fmt::format("--pp {}", ranks));
}

/// Largest valid number of pipeline ranks, at most `most`.
std::string fewer_ranks(const Request& r, Count most) {
  for (Count n = most; n > 1; --n)
    if (const auto options = with_ranks(r, n)) return *options;
  return r.gave("--schedule") || r.gave("--chunks") ? "--pp 1 without --schedule and --chunks" : "--pp 1";
}

/// Whether the experts divide evenly over a layout's ranks, with sequence parallelism over its tensor-parallel ranks.
bool divides_experts(const Request& r, Layout changed) {
  changed.sp = ranks(changed, Group::tensor) > 1;
  return flaw(r.model.arch, changed) == LayoutFlaw::none;
}

/// The suffix " --sp" if the expert-parallel ranks require it, else empty.
std::string with_tokens(const Request& r) {
  return ranks(r.layout, Group::tensor) > 1 && !sequence_parallel(r.layout) ? " --sp" : "";
}

/// The fewest additional data-parallel ranks over which experts divide: "--dp 4", or the number of GPUs if that was
/// specified. Empty if no number works.
std::string more_data(const Request& r) {
  Layout more = r.layout;
  for (Count n = r.layout.dp + 1; n <= 1024 * r.layout.dp; ++n) {
    more.dp = n;
    const Count together = mul(r.plan.micro_batch, replicas(more));
    if (!divides_experts(r, more) || (r.gave("--global-batch") && r.plan.global_batch % together != 0)) continue;
    return r.gpus ? fmt::format("--gpus {}", devices(more)) : fmt::format("--dp {}", n);
  }
  return "";
}
std::string or_more(const std::string& options) { return options.empty() ? "" : ", or " + options; }

}  // namespace

std::string nearest_multiples(std::string_view option, Count n, Count unit) {
  const Count below = n / unit * unit;
  const std::string above = fmt::format("{} {}", option, add(below, unit));
  return below == 0 ? above : fmt::format("{} {} or {}", option, below, above);
}

std::string nearest_lengths(const Request& r, Count unit) {
  const Arch& a = r.model.arch;
  const Count below = r.plan.seq / unit * unit;
  if (a.learned_rows() == 0 || add(below, unit) <= a.learned_rows())
    return nearest_multiples("--seq", r.plan.seq, unit);
  return below == 0 ? "" : fmt::format("--seq {}", std::min(below, a.learned_rows() / unit * unit));
}

std::string even_ranks(const Request& r, const Pipeline& p) {
  const auto more = with_ranks(r, enough(p));
  return more ? *more : fewer_ranks(r, p.ranks - 1);
}

std::string chunks_of_schedule(const Request& r, Count chunks) {
  Layout l = r.layout;
  l.chunks = chunks;
  if (const auto options = working(r, l, fmt::format("--chunks {}", chunks))) return *options;
  l.schedule = Schedule::one_f_one_b;
  l.chunks = 1;
  const auto plain = working(r, l, "--chunks 1 --schedule 1f1b");
  return plain ? *plain : "--pp 1 without --schedule and --chunks";
}

std::string fewer_chunks(const Request& r, const Pipeline& p) {
  const Count layers = r.model.arch.layers, each = layers / p.ranks;
  if (fixed_chunks(p.schedule) == 0 && each >= 1) return chunks_of_schedule(r, std::max<Count>(each, 2));
  return fewer_ranks(r, layers * directions(p) / p.chunks);
}

std::string stage_layers_that_add_up(const Request& r) {
  StageLayers layers = r.layout.stage_layers;
  Count missing = r.model.arch.layers;
  for (const Count n : layers) missing -= n;
  for (std::size_t i = layers.size(); i-- > 0 && missing != 0;) {
    const Count changed = std::max<Count>(1, layers[i] + missing);
    missing -= changed - layers[i];
    layers[i] = changed;
  }
  return stage_layers_text({layers.begin(), layers.size()});
}

std::string fewer_expert_ranks(const Request& r) {
  Layout fewer = r.layout;
  for (Count n = ranks(r.layout, Group::expert_tensor) - 1; n > 0; --n) {
    fewer.etp = n;
    if (!divides_experts(r, fewer)) continue;
    return n == ranks(r.layout, Group::tensor) ? fmt::format("omit --etp, which then defaults to {}", n)
                                               : fmt::format("set --etp {}{}", n, with_tokens(r));
  }
  fewer = r.layout;
  for (Count n = ranks(r.layout, Group::expert) - 1; n > 1; --n) {
    fewer.ep = n;
    if (divides_experts(r, fewer)) return fmt::format("set --ep {}{}{}", n, with_tokens(r), or_more(more_data(r)));
  }
  const std::string more = more_data(r);
  return more.empty() ? "omit --ep" : fmt::format("set {}{}, or omit --ep", more, with_tokens(r));
}

std::string wider_copy(const Request& r) {
  Layout wider = r.layout;
  const Count all = ranks(r.layout, Group::data);
  for (Count n = r.layout.hsdp + 1; n <= all; ++n) {
    wider.hsdp = n;
    if (all % n == 0 && ranks(wider, Group::shard) == n && divides_experts(r, wider))
      return fmt::format("set --hsdp {}{}", n, with_tokens(r));
  }
  return fewer_expert_ranks(r);
}

std::string fewer_joined(const Request& r, std::string_view option) {
  Count widest = 0;
  for (const Link& level : r.hardware->cluster.levels) widest = std::max(widest, level.ranks);
  const Count replica = replica_devices(r.layout), copies = widest / replica;
  if (copies > 0 && r.gpus) return fmt::format("its widest link connects {}: set --gpus {}", widest, copies * replica);
  if (copies > 0 && option == "--dp") return fmt::format("its widest link connects {}: set --dp {}", widest, copies);
  if (widest > 1) return fmt::format("its widest link connects {}: lower {}", widest, option);
  return fmt::format("lower {}", option);
}

}  // namespace llmcalc
