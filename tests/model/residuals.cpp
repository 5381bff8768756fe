#include "tests/model/residuals.hpp"

namespace llmcalc::test {

std::vector<Variant> residual_variants() {
  std::vector<Variant> all;
  const auto add = [&](const char* name, const Arch& a, Count streams, void (*change)(Arch&, Plan&)) {
    Variant v{name, a, tiny_plan()};
    v.arch.streams = streams;
    change(v.arch, v.plan);
    all.push_back(std::move(v));
  };
  add("three residual streams", tiny_llama(), 3, [](Arch&, Plan&) {});
  add("two residual streams, again", tiny_llama(), 2, [](Arch&, Plan& p) { p.recompute = Recompute::full; });
  add("two residual streams, dropout, no last norm", tiny_gpt(), 2,
      [](Arch& a, Plan& p) { a.final_norm = false, p.dropout = true; });
  return all;
}

}  // namespace llmcalc::test
