// A layout's groups as a mesh: every rank has one place on each parameter class's grid, and shards add up.

#include <algorithm>
#include <numeric>

#include "tests/calc/cluster_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// Number of ranks over which a class's parameters are divided before ZeRO sharding: tp, or ep x etp.
Count divided(const Layout& l, ParameterClass c) {
  return mul(c == ParameterClass::experts ? ranks(l, Group::expert) : 1, ranks(l, state_groups(c).tensor));
}

/// The devices reached from each device of `from` along a group's mesh lines.
std::vector<Count> spread(const std::vector<Count>& from, const Lines& along) {
  std::vector<Count> all;
  for (const Count device : from)
    for (Count o = 0; o < along.outer.ranks; ++o)
      for (Count i = 0; i < along.inner.ranks; ++i)
        all.push_back(device + o * along.outer.stride + i * along.inner.stride);
  return all;
}

std::vector<Count> everyone(const Layout& l) {
  std::vector<Count> all(static_cast<std::size_t>(devices(l)));
  std::iota(all.begin(), all.end(), Count(0));
  return all;
}

std::vector<Count> sorted(std::vector<Count> all) {
  std::sort(all.begin(), all.end());
  return all;
}

/// Layouts that are valid for even_moe(), with all kinds of parallelism, in any order of the axes.
template <typename F>
void each_layout(unsigned seed, int n, const F& f) {
  Cases cases(seed);
  std::mt19937 order(seed);
  for (int found = 0; found < n;) {
    Layout l = cases.layout();
    std::shuffle(l.order.begin(), l.order.end(), order);
    const bool shards_lie_on_lines = l.hsdp == 0 || ranks(l, Group::shard) == l.hsdp;
    if (!shards_lie_on_lines || flaw(even_moe(), l) != LayoutFlaw::none) continue;
    INFO(text_of(l));
    f(l);
    ++found;
  }
}

void train_only(ParameterClass c, Plan& p) {
  p.frozen = {};
  for (const auto& row : choices<FreezePart>)
    if ((row.value == FreezePart::experts) != (c == ParameterClass::experts)) p.frozen.parts.add(row.value);
}

/// Bytes of optimizer states on one rank of a stage.
Bytes states(const ClusterCase& c, const Prices& prices, const Partition& p, Zero zero, Count rank) {
  Layout l = c.layout;
  l.zero = zero;
  return stage(prices, c.plan, l, p, rank).memory.optimizer;
}

/// Checks that a rank's shards, summed over all ranks with the same parameters, are one copy of the states per replica,
/// plus less than one element of padding per rank.
void check_shards(const ClusterCase& c, ParameterClass of) {
  const Layout& l = c.layout;
  const Prices prices = price(c.arch, c.plan, l, c.cluster.device);
  const Partition p = partition(prices, c.plan, l, c.cluster);
  const Count shard = ranks(l, state_groups(of).shard), replica = ranks(l, state_groups(of).replica);
  const Count of_number = optimizer_bytes(c.plan, {.total = 1}).value;
  for (Count rank = 0; rank < l.pp; ++rank) {
    const Bytes whole = states(c, prices, p, Zero::none, rank), part = states(c, prices, p, Zero::optimizer, rank);
    const Count all = mul(part.value, ranks(l, state_groups(of).all)), copies = mul(replica, whole.value);
    CHECK(all >= copies);
    CHECK(all - copies <= mul(of_number, mul(shard - 1, replica)));
  }
}

}  // namespace

TEST_CASE("split, shard, replica and pipeline degrees of each parameter class multiply to the device count",
          "[cluster][layout][mesh]") {
  each_layout(51, 2000, [](const Layout& l) {
    for (const ParameterClass c : parameter_classes) {
      const StateGroups of = state_groups(c);
      CHECK(mul(ranks(l, of.shard), ranks(l, of.replica)) == ranks(l, of.all));
      CHECK(mul(mul(divided(l, c), ranks(l, of.all)), l.pp) == devices(l));
    }
  });
}

TEST_CASE("every device has one position on the mesh of each parameter class", "[cluster][layout][mesh]") {
  each_layout(52, 1000, [](const Layout& l) {
    for (const ParameterClass c : parameter_classes) {
      if (c == ParameterClass::experts && !folds_experts(l)) continue;  // experts are placed like all other parameters
      const StateGroups of = state_groups(c);
      std::vector<Count> mesh{0};
      for (const Group g : {of.tensor, of.shard, of.replica, Group::pipeline}) mesh = spread(mesh, lines(l, g));
      if (c == ParameterClass::experts) mesh = spread(mesh, lines(l, Group::expert));
      CHECK(sorted(mesh) == everyone(l));
      CHECK(sorted(spread(spread({0}, lines(l, of.shard)), lines(l, of.replica))) ==
            sorted(spread({0}, lines(l, of.all))));
    }
  });
}

TEST_CASE("an axis order that separates the devices of a stage's experts from its other layers is rejected",
          "[layout][mesh]") {
  // Megatron-Core, --use-tp-pp-dp-mapping: tp-cp-ep-pp-dp. Dense stages are tp x cp = 2 devices apart, expert stages 4.
  constexpr AxisOrder pipeline_before_data{Axis::tensor, Axis::context, Axis::expert, Axis::pipeline, Axis::data};
  Layout l{.cp = 2, .ep = 4, .etp = 1, .pp = 3, .dp = 2, .order = pipeline_before_data};
  CHECK(flaw(even_moe(), l) == LayoutFlaw::expert_stages);
  l.ep = 2;  // equally far apart
  CHECK(flaw(even_moe(), l) == LayoutFlaw::none);
  l.ep = 4;
  l.order = usual_order;
  CHECK(flaw(even_moe(), l) == LayoutFlaw::none);
}

TEST_CASE("sharded states of all ranks add up to one copy per replica", "[cluster][memory][mesh]") {
  Cases cases(53);
  int dense = 0, experts = 0;
  while (dense < 150 || experts < 50) {
    ClusterCase c = cases.any();
    c.arch.moe.shared_experts = 0;
    if (c.layout.hsdp > 0 && ranks(c.layout, Group::shard) != c.layout.hsdp) continue;
    INFO(text_of(c.layout));
    if (!c.arch.has_experts() || !folds_experts(c.layout)) {
      check_shards(c, ParameterClass::dense);
      ++dense;
      continue;
    }
    for (const ParameterClass of : parameter_classes) {
      train_only(of, c.plan);
      check_shards(c, of);
    }
    ++experts;
  }
}
