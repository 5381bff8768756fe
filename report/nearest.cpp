#include "report/nearest.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calc/train.hpp"

namespace llmcalc {
namespace {

/// Whether the GPUs that are asked for can hold whole copies of the model in such a layout.
bool divides_gpus(const Request& r, const Layout& l) { return !r.gpus || *r.gpus % replica_devices(l) == 0; }

/// Ranks of a pipeline, at most `most`, that its schedule and the GPUs allow; 1: there are no others.
Count fewer_ranks(const Request& r, Pipeline p, Count most) {
  Layout fewer = r.layout;
  for (p.ranks = most; p.ranks > 1; --p.ranks) {
    fewer.pp = p.ranks;
    if (flaw(p) != PipelineFlaw::odd_ranks && divides_gpus(r, fewer)) break;
  }
  return std::max<Count>(1, p.ranks);
}

/// Whether experts divide over a layout's ranks, once tokens do, too.
bool divides_experts(const Request& r, Layout changed) {
  changed.sp = ranks(changed, Group::tensor) > 1;
  return flaw(r.model.arch, changed) == LayoutFlaw::none;
}

/// " --sp" where ranks of experts need it.
std::string with_tokens(const Request& r) {
  return ranks(r.layout, Group::tensor) > 1 && !sequence_parallel(r.layout) ? " --sp" : "";
}

}  // namespace

std::string nearest_multiples(std::string_view option, Count n, Count unit) {
  const Count below = n / unit * unit;
  const std::string above = fmt::format("{} {}", option, add(below, unit));
  return below == 0 ? above : fmt::format("{} {} or {}", option, below, above);
}

std::string nearest_lengths(const Request& r, Count unit) {
  const Arch& a = r.model.arch;
  const Count below = r.plan.seq / unit * unit;
  if (a.position != Position::learned || add(below, unit) <= a.position_rows)
    return nearest_multiples("--seq", r.plan.seq, unit);
  return below == 0 ? "" : fmt::format("--seq {}", std::min(below, a.position_rows / unit * unit));
}

std::string fewer_chunks(const Request& r, const Pipeline& p) {
  const Count layers = r.model.arch.layers, each = layers / p.ranks;
  if (fixed_chunks(p.schedule) == 0 && each >= 2) return fmt::format("--chunks {}", each);
  if (fixed_chunks(p.schedule) == 0 && each == 1) return "--chunks 1 --schedule 1f1b";
  const Count ranks = fewer_ranks(r, p, layers * directions(p) / p.chunks);
  return ranks == 1 ? "--pp 1" : fmt::format("at most --pp {}", ranks);
}

std::string fewer_expert_ranks(const Request& r) {
  Layout fewer = r.layout;
  for (Count n = ranks(r.layout, Group::expert_tensor) - 1; n > 0; --n) {
    fewer.etp = n;
    if (!divides_experts(r, fewer)) continue;
    return n == ranks(r.layout, Group::tensor) ? fmt::format("leave out --etp, which is then {}", n)
                                               : fmt::format("give --etp {}{}", n, with_tokens(r));
  }
  fewer = r.layout;
  for (Count n = ranks(r.layout, Group::expert) - 1; n > 1; --n) {
    fewer.ep = n;
    if (divides_experts(r, fewer)) return fmt::format("give --ep {}{}, or more --dp", n, with_tokens(r));
  }
  return "raise --dp or leave out --ep";
}

std::string fewer_joined(const Request& r, std::string_view option) {
  Count widest = 0;
  for (const Link& level : r.hardware->cluster.levels) widest = std::max(widest, level.ranks);
  const Count replica = replica_devices(r.layout), copies = widest / replica;
  if (copies > 0 && r.gpus) return fmt::format("its widest joins {}: give --gpus {}", widest, copies * replica);
  if (copies > 0 && option == "--dp") return fmt::format("its widest joins {}: give --dp {}", widest, copies);
  if (widest > 1) return fmt::format("its widest joins {}: lower {}", widest, option);
  return fmt::format("lower {}", option);
}

}  // namespace llmcalc
