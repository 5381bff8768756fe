#pragma once
/// Small valid models, plans, layouts and clusters for tests of a whole step, drawn from fixed seeds.

#include <random>
#include <string>
#include <vector>

#include "calc/train.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/calc/pipeline_cases.hpp"

namespace llmcalc::test {

struct ClusterCase {
  Arch arch;
  Plan plan;
  Layout layout;
  Cluster cluster;
};

/// A layout as text, for failure messages.
inline std::string text_of(const Layout& l) {
  std::string s = "tp " + std::to_string(l.tp) + (l.sp ? " sp" : "");
  for (const auto& [name, n] : {std::pair{"cp", l.cp},
                                {"ep", l.ep},
                                {"etp", l.etp},
                                {"pp", l.pp},
                                {"chunks", l.chunks},
                                {"dp", l.dp},
                                {"hsdp", l.hsdp},
                                {"zero", static_cast<Count>(l.zero)}})
    s += std::string(" ") + name + " " + std::to_string(n);
  return s + " " + std::string(name(l.schedule)) + (l.reshard ? "" : " kept");
}

class Cases {
 public:
  explicit Cases(unsigned seed) : random_(seed), of_links_(seed), of_modules_(seed) {}

  Count below(Count n) { return static_cast<Count>(random_() % static_cast<unsigned>(n)); }
  Count one_of(std::initializer_list<Count> all) { return all.begin()[below(static_cast<Count>(all.size()))]; }
  bool coin() { return below(2) == 0; }

  /// A dense, all-expert, partly expert, latent, tied-head or biased model.
  Arch arch(Count layers) {
    const Count kind = below(6);
    Arch a = kind == 1 || kind == 2 ? even_moe() : kind == 3 ? even_latent() : even();
    a.layers = layers;
    a.tied_head = kind == 4;
    if (kind == 5) a.qkv_bias = a.attention_out_bias = a.mlp_bias = true;
    if (a.moe.experts > 0) a.moe.layers = {};
    for (Count i = 0; i < layers && a.moe.experts > 0; ++i)
      if (kind == 1 || i % 3 != 0) a.moe.layers.insert(i);
    return a;
  }
  /// Nodes of 2 to 16 ranks and a network around them. `bytes` and `latency` set the speed of all links.
  Cluster clusters(double bytes = 2e9, double latency = 1e-6) {
    Cluster c = device(1e12, 1e11, bytes, latency);
    c.levels[0].ranks = one_of({2, 4, 8, 16});
    c.levels[0].reduces = of_links_() % 2 == 0;
    c.levels.push({.ranks = 0, .bandwidth = BytesPerSecond(bytes / 8), .latency = Seconds(10 * latency)});
    return c;
  }

  /// A random valid layout of a model with many layers, with a plan.
  ClusterCase any() {
    for (;;) {
      ClusterCase c{arch(18 + below(8)), {}, layout(), clusters()};
      c.plan = plan(c.layout);
      add_modules(c);
      if (sound(c)) return c;
    }
  }

  Layout layout() {
    Layout l;
    l.tp = one_of({1, 1, 2, 4});
    l.sp = l.tp > 1 && coin();
    l.cp = one_of({1, 1, 2, 4});
    l.context_method = choices<ContextMethod>[static_cast<std::size_t>(below(3))].value;
    l.ep = one_of({1, 1, 2, 4, 8});
    l.etp = one_of({0, 0, 1, 2});
    l.dp = one_of({1, 2, 3, 4, 8});
    l.zero = static_cast<Zero>(below(4));
    l.reshard = coin();
    if (l.dp % 2 == 0 && coin()) l.hsdp = mul(l.cp, 2);
    if (mul(l.tp, l.hsdp) % mul(l.ep, l.etp > 0 ? l.etp : l.tp) != 0) l.hsdp = 0;  // each replica holds every expert
    l.pp = one_of({1, 2, 3, 4, 6});
    l.schedule = pipeline_tests::all_schedules[static_cast<std::size_t>(below(10))];
    if (l.pp > 1) l.chunks = fixed_chunks(l.schedule) > 0 ? fixed_chunks(l.schedule) : 2 + below(2);
    l.collectives = choices<Collectives>[of_links_() % 4].value;
    return l;
  }
  Plan plan(const Layout& l) {
    Plan p;
    p.seq = 64;
    p.micro_batch = 1 + below(2);
    p.global_batch = mul(p.micro_batch, l.dp, micro_batches_of(l));
    p.gradient_bytes = one_of({2, 4});
    p.recompute = static_cast<Recompute>(below(3));
    if (coin()) p.overlap = static_cast<double>(below(5)) / 4;
    return p;
  }
  static bool sound(const ClusterCase& c) {
    const Pipeline p = pipeline_of(c.plan, c.layout);
    return flaw(c.arch, c.layout, c.plan.seq) == LayoutFlaw::none && flaw(p) == PipelineFlaw::none &&
           model_chunks(p) <= c.arch.layers;
  }

 private:
  Count micro_batches_of(const Layout& l) {
    const Count m = 1 + below(20);
    if (l.pp == 1) return m;
    const bool dual = l.schedule == Schedule::dualpipe || l.schedule == Schedule::dualpipe_v;
    if (dual) return 2 * l.pp + 2 * below(8);
    return l.schedule == Schedule::interleaved ? l.pp * (1 + below(4)) : m;
  }
  /// MTP modules in every third model, with their own or the model's tables.
  void add_modules(ClusterCase& c) {
    const auto any = [&](Count n) { return static_cast<Count>(of_modules_() % static_cast<unsigned>(n)); };
    if (any(3) != 0) return;
    c.arch.mtp = {.modules = 1 + any(3),
                  .mixer_of = any(c.arch.layers),
                  .mlp_of = any(c.arch.layers),
                  .own_norm = any(2) == 0,
                  .own_embedding = any(2) == 0,
                  .own_head = any(2) == 0};
    c.plan.mtp = 1 + any(c.arch.mtp.modules);
  }
  // Separate generators for collectives and MTP modules, so that other choices do not depend on these.
  std::mt19937 random_, of_links_, of_modules_;
};

}  // namespace llmcalc::test
