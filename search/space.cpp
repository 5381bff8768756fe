#include "search/space.hpp"

#include <algorithm>
#include <tuple>

#include "calc/links/route.hpp"
#include "calc/run.hpp"

namespace llmcalc {

bool simpler(const Candidate& a, const Candidate& b) {
  const auto rank = [](const Candidate& c) {
    return std::tuple(c.gpus, c.recompute, c.block, c.schedule, c.chunks, c.pp, c.cp, c.ep, c.tp, c.sp, c.zero, c.etp,
                      -c.micro_batch);
  };
  return rank(a) < rank(b);
}

void recompute_as(Plan& p, const Candidate& c) {
  p.recompute = c.recompute;
  if (c.block == 0) return;
  p.recompute_method = RecomputeMethod::block;
  p.recompute_layers = c.block;
}

Plan plan_of(const Space& space, const Candidate& c) {
  Plan p = space.plan;
  p.micro_batch = c.micro_batch;
  recompute_as(p, c);
  return p;
}

Layout layout_of(const Space& space, const Candidate& c) {
  Layout out = space.layout;
  out.tp = c.tp;
  out.sp = c.sp;
  out.cp = c.cp;
  out.ep = c.ep;
  out.etp = c.etp;
  out.pp = c.pp;
  out.chunks = c.chunks;
  out.dp = c.dp;
  out.zero = c.zero;
  out.schedule = c.schedule;
  out.stage_layers = {};
  if (c.zero == Zero::none) out.hsdp = 0;
  return out;
}

double value_of(const Space& space, Count gpus, Seconds step, Bytes peak) {
  const double device_seconds = static_cast<double>(gpus) * step.value;
  switch (space.objective) {
    case Objective::time:
      return step.value;
    case Objective::cost:
      return device_seconds / seconds_per_hour * space.price_per_hour;
    case Objective::energy:
      return device_seconds * space.watts;
    case Objective::memory:
      return static_cast<double>(peak.value);
  }
  return step.value;
}

Bytes usable(const Space& space) {
  return Bytes(
      static_cast<Count>(space.plan.memory_utilization * static_cast<double>(space.cluster.device.memory.value)));
}

namespace {

bool has_link(const Cluster& c, const Layout& l, Group g) {
  return ranks(l, g) == 1 || group_link(c, l, g).bandwidth.value > 0;
}

Objection link_objection(const Cluster& cluster, const Layout& l) {
  for (const Group g : {Group::tensor, Group::context, Group::expert, Group::expert_tensor, Group::pipeline,
                        Group::data, Group::expert_data})
    if (!has_link(cluster, l, g)) return {.obstacle = Obstacle::link, .group = g};
  return {};
}

bool shards_evenly(const Layout& l) {
  if (l.hsdp == 0) return true;
  const Count all = ranks(l, Group::data);
  return all % l.hsdp == 0 && ranks(l, Group::shard) == l.hsdp;
}

/// The objection to a layout, if any, regardless of the schedule and chunks.
Objection grid_objection(const Arch& arch, const Plan& plan, const Layout& l, const Cluster& cluster) {
  if (plan.global_batch % mul(plan.micro_batch, replicas(l)) != 0) return {.obstacle = Obstacle::batch};
  if (const LayoutFlaw f = flaw(arch, l, plan.seq); f != LayoutFlaw::none)
    return {.obstacle = Obstacle::layout, .layout = f};
  if (!holds_choices(cluster, l, arch.moe)) return {.obstacle = Obstacle::layout, .layout = LayoutFlaw::expert_nodes};
  if (!shards_evenly(l) || (l.zero == Zero::weights && !gathers_weights(plan))) return {.obstacle = Obstacle::shards};
  return link_objection(cluster, l);
}

Objection pipeline_objection(const Arch& arch, const Pipeline& p) {
  if (p.ranks == 1) return {};
  if (const PipelineFlaw f = flaw(p); f != PipelineFlaw::none) return {.obstacle = Obstacle::pipeline, .pipeline = f};
  const bool thin = model_chunks(p) > arch.layers || p.chunks > static_cast<Count>(most_chunks);
  return thin ? Objection{.obstacle = Obstacle::layers} : Objection{};
}

bool fills_devices(const Candidate& c) { return mul(c.tp, c.cp, c.pp, c.dp) == c.gpus; }

}  // namespace

Objection layout_objection(const Space& space, const Candidate& c) {
  if (!fills_devices(c)) return {.obstacle = Obstacle::devices};
  return grid_objection(space.arch, plan_of(space, c), layout_of(space, c), space.cluster);
}

Objection objection(const Space& space, const Candidate& c) {
  if (!fills_devices(c)) return {.obstacle = Obstacle::devices};
  return objection(space.arch, plan_of(space, c), layout_of(space, c), space.cluster);
}

Objection objection(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster) {
  const Objection o = grid_objection(arch, plan, layout, cluster);
  return o.obstacle != Obstacle::none ? o : pipeline_objection(arch, pipeline_of(plan, layout));
}

bool can_shard(const Space& space, const Candidate& c) {
  const Layout l = layout_of(space, c);
  return ranks(l, Group::data) > 1 || (space.arch.has_experts() && ranks(l, Group::expert_data) > 1) ||
         space.plan.offload.optimizer.numerator > 0;
}

std::vector<Count> divisors(Count n) {
  std::vector<Count> all;
  for (Count i = 1; i <= n / i; ++i)
    if (n % i == 0) {
      all.push_back(i);
      if (i != n / i) all.push_back(n / i);
    }
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<Count> powers_of_two(Count n) {
  std::vector<Count> all{1};
  while (n % (2 * all.back()) == 0) all.push_back(2 * all.back());
  return all;
}

std::vector<Count> powers_up_to(Count most) {
  std::vector<Count> all;
  for (Count n = 1; n <= most; n *= 2) all.push_back(n);
  return all;
}

namespace {

/// The given value if it is set, otherwise `all`.
std::vector<Count> stated_or(Count given, std::vector<Count> all) {
  return given > 0 ? std::vector<Count>{given} : std::move(all);
}
template <typename T>
std::vector<T> stated_or(const std::optional<T>& given, std::vector<T> all) {
  return given ? std::vector<T>{*given} : std::move(all);
}

/// The given degree if it is set; otherwise all divisors of n, or only 1 if the software lacks this kind of
/// parallelism.
std::vector<Count> degrees(Count given, bool launchable, Count n) {
  return stated_or(given, launchable ? divisors(n) : std::vector<Count>{1});
}

std::vector<Count> tensor_ranks(const Space& s, Count gpus) {
  std::vector<Count> all = degrees(s.fixed.tp, s.launchable.tp, gpus);
  std::erase_if(all, [&](Count n) { return gpus % n != 0 || s.arch.heads % n != 0; });
  return all;
}
std::vector<Count> context_ranks(const Space& s, Count rest) {
  std::vector<Count> all = degrees(s.fixed.cp, s.launchable.cp, rest);
  std::erase_if(all, [&](Count n) { return rest % n != 0; });
  return all;
}
/// Numbers of expert-parallel ranks to try: divisors of the number of experts that also divide the number of devices.
std::vector<Count> expert_ranks(const Space& s, Count gpus) {
  if (!s.arch.has_experts()) return {1};
  std::vector<Count> all = degrees(s.fixed.ep, s.launchable.ep, s.arch.moe.experts);
  std::erase_if(all, [&](Count n) { return gpus % n != 0; });
  return all;
}
std::vector<Count> expert_widths(const Space& s, const Candidate& c) {
  if (s.fixed.etp > 0) return {s.fixed.etp};
  if (!s.arch.has_experts() || c.tp == 1) return {0};
  return {0, 1};
}

/// These functions add the keys for all combinations of choices, one function per choice, innermost loop first.
void add_batches(const Space& s, Candidate c, std::vector<Candidate>& all) {
  for (const Count n : stated_or(s.fixed.micro_batch, powers_of_two(s.plan.global_batch)))
    for (const Recompute r : stated_or(s.fixed.recompute, {Recompute::none, Recompute::selective, Recompute::full})) {
      c.micro_batch = n;
      c.recompute = r;
      all.push_back(c);
      if (r != Recompute::full) continue;
      for (const Count block : s.blocks) {
        all.push_back(c);
        all.back().block = block;
      }
    }
}
void add_experts(const Space& s, Candidate c, std::vector<Candidate>& all) {
  for (const Count ep : expert_ranks(s, c.gpus))
    for (const Count etp : expert_widths(s, c)) {
      c.ep = ep;
      c.etp = etp;
      add_batches(s, c, all);
    }
}
void add_contexts(const Space& s, Candidate c, std::vector<Candidate>& all) {
  for (const Count cp : context_ranks(s, c.gpus / c.tp)) {
    c.cp = cp;
    for (const bool sp : stated_or(
             s.fixed.sp, c.tp > 1 && s.launchable.sp ? std::vector<bool>{true, false} : std::vector<bool>{false})) {
      c.sp = sp && c.tp > 1;
      add_experts(s, c, all);
    }
  }
}

}  // namespace

std::vector<Candidate> keys(const Space& space) {
  std::vector<Candidate> all;
  for (const Count gpus : space.gpus)
    for (const Count tp : tensor_ranks(space, gpus)) add_contexts(space, {.gpus = gpus, .tp = tp}, all);
  return all;
}

bool priced_alike(const Candidate& a, const Candidate& b) {
  Candidate same = a;
  same.block = b.block;
  return same == b;
}

bool sharded_alike(const Candidate& a, const Candidate& b) {
  Candidate same = a;
  same.recompute = b.recompute;
  return priced_alike(same, b);
}

std::vector<Count> stage_counts(const Space& space, const Candidate& key) {
  const Count rest = key.gpus / mul(key.tp, key.cp);
  std::vector<Count> all = degrees(space.fixed.pp, space.launchable.pp, rest);
  std::erase_if(all, [&](Count n) {
    return rest % n != 0 || n > space.arch.layers || space.plan.global_batch % mul(key.micro_batch, rest / n) != 0;
  });
  return all;
}

std::vector<Run> runs(const Space& space, Count stages) {
  std::vector<Run> all;
  const auto wanted = [&](Schedule s, Count chunks) {
    return (!space.fixed.schedule || *space.fixed.schedule == s) &&
           (space.fixed.chunks == 0 || space.fixed.chunks == chunks);
  };
  if (stages == 1) return wanted(Schedule::one_f_one_b, 1) ? std::vector<Run>{{}} : all;
  const Count most = std::min<Count>(space.arch.layers / stages, most_chunks);
  const std::vector<Schedule>& known = space.launchable.schedules;
  for (const Schedule s : known)
    if (const Count chunks = fixed_chunks(s); chunks > 0 && chunks <= most && wanted(s, chunks))
      all.push_back({s, chunks});
  const bool interleaves = std::find(known.begin(), known.end(), Schedule::interleaved) != known.end();
  for (Count chunks = 2; interleaves && chunks <= most; ++chunks)
    if (wanted(Schedule::interleaved, chunks)) all.push_back({Schedule::interleaved, chunks});
  return all;
}

namespace {
std::vector<Zero> all_zeros(const Space& space, const Candidate& c) {
  if (!can_shard(space, c)) return {space.fixed.zero.value_or(Zero::none)};
  if (space.fixed.zero) return {*space.fixed.zero};
  const Layout l = layout_of(space, c);
  // If no ranks share parameters, ZeRO stages still differ under offload: from stage 2 on, the host also stores
  // gradients; in stage 3, it stores different weights.
  if (!shares_parameters(l)) {
    if (space.plan.offload.weights.numerator == 0 || !gathers_weights(space.plan)) return {Zero::none, Zero::gradients};
    return {Zero::none, Zero::gradients, Zero::weights};
  }
  if (!gathers_weights(space.plan)) return {Zero::none, Zero::optimizer, Zero::gradients};
  return {Zero::none, Zero::optimizer, Zero::gradients, Zero::weights};
}
}  // namespace

std::vector<Zero> zeros(const Space& space, const Candidate& c) {
  std::vector<Zero> all = all_zeros(space, c);
  if (space.layout.hsdp > 0) std::erase(all, Zero::none);
  const auto& known = c.pp > 1 ? space.launchable.zero_in_pipeline : space.launchable.zero;
  if (!space.fixed.zero) std::erase_if(all, [&](Zero z) { return !known[static_cast<std::size_t>(z)]; });
  return all;
}

namespace {

bool any_possible_run(const Space& space, const Candidate& c) {
  const Plan plan = plan_of(space, c);
  const std::vector<Run> all = runs(space, c.pp);
  return std::any_of(all.begin(), all.end(), [&](const Run& run) {
    Layout l = layout_of(space, c);
    l.schedule = run.schedule;
    l.chunks = run.chunks;
    return pipeline_objection(space.arch, pipeline_of(plan, l)).obstacle == Obstacle::none;
  });
}

bool any_possible_stages(const Space& space, Candidate c) {
  for (const Count stages : stage_counts(space, c)) {
    c.pp = stages;
    c.dp = c.gpus / mul(c.tp, c.cp, stages);
    for (const Zero zero : zeros(space, c)) {
      c.zero = zero;
      if (layout_objection(space, c).obstacle == Obstacle::none && any_possible_run(space, c)) return true;
    }
  }
  return false;
}

}  // namespace

bool any_possible(const Space& space) {
  Space one = space;  // recomputation never makes a plan invalid
  one.fixed.recompute = Recompute::none;
  one.blocks = {};
  const std::vector<Candidate> all = keys(one);
  return std::any_of(all.begin(), all.end(), [&](const Candidate& key) { return any_possible_stages(one, key); });
}

std::vector<std::string_view> not_searched(const Space& space) {
  std::vector<std::string_view> all{
      "schedules other than 1F1B, interleaved, ZB-H1, ZB-H2 and ZB-V",
      "stages whose layers are not balanced by time",
      "micro-batches that are not powers of two",
      "other device orders of the parallelism dimensions",
      "other optimizers, number formats and attention kernels",
      "other ways to store logits and gated products (--logits, --glu-store)",
      "states sharded over a subset of their ranks",
      "the other value of --reshard",
  };
  if (space.plan.offload.any())
    all.push_back("other offload fractions");
  else
    all.push_back(space.offload_tried ? "offload fractions"
                                      : "offload to the host, because a plan fits without it; offload can be faster");
  if (space.blocks.empty()) {
    all.push_back("recomputation of a subset of the layers");
  } else {
    all.push_back("numbers of recomputed layers that are not powers of two, and groups of layers (uniform:N)");
    all.push_back("selective recomputation of other modules (selective:MODULES)");
  }
  if (space.arch.has_experts()) {
    all.push_back("expert widths sharded over more than one but not all tensor-parallel ranks");
    all.push_back("other limits on the number of nodes that a token's experts span");
  }
  all.push_back("other collective algorithms");
  all.push_back("other context-parallel methods");
  if (space.some_numbers) all.push_back("other GPU counts");
  return all;
}

}  // namespace llmcalc
