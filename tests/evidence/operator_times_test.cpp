// Passes from operator tables: each layer counts as often as the model runs it, and times are linear between rows.

#include "evidence/profile/operator_times.hpp"

#include "evidence/profile/table_passes.hpp"

#include "tests/calc/textbook_archs.hpp"
#include "tests/catch.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;

namespace {

Seconds us(double n) { return Seconds(n * 1e-6); }

/// Tables of one rank. A projection takes 10 us plus 1 us per token, a norm 1 us, the head 50 us plus 5 us per
/// sequence. A prompt of n tokens takes n us, or 2 n us after 100 others. A decode step of n sequences takes n (1 +
/// context / 100) us.
OperatorTables tables() {
  OperatorTables t;
  t.path = "dir";
  for (const Count n : {1, 101}) {
    for (const char* layer : {"qkv_proj", "o_proj", "gate_up_proj", "down_proj"})
      t.dense.push_back({layer, n, us(10 + static_cast<double>(n))});
    t.dense.push_back({"layernorm", n, us(1)});
    t.dense.push_back({"embedding", n, us(3)});
    t.per_sequence.push_back({"lm_head", n, us(50 + 5 * static_cast<double>(n))});
  }
  for (const Count n : {1, 101})
    for (const Count past : {0, 100})
      t.attention.push_back({n, past, 0, 0, us(static_cast<double>(n * (past > 0 ? 2 : 1)))});
  for (const Count n : {1, 11})
    for (const Count context : {100, 200, 300})
      t.attention.push_back({0, 0, n, context, us(static_cast<double>(n * (100 + context)) / 100)});
  return t;
}

OperatorTimes times_of(const OperatorTables& t, const Arch& arch, const Layout& layout = {}) {
  return {{&t}, arch, Plan{}, layout};
}
OperatorTimes llama_times() { return times_of(tables(), test::tiny_llama()); }
std::string refused(const OperatorTables& t, const Arch& arch, const Layout& layout = {}) {
  return test::sentence([&] { times_of(t, arch, layout); });
}

}  // namespace

TEST_CASE("a pass counts each layer as often as the model runs it", "[operator-times]") {
  // 2 layers: four matmuls of 10 + 51 us and two norms; then the embedding table
  CHECK(llama_times().rows(51).value == Approx(us(2 * (4 * 61 + 2) + 3).value));
  CHECK(llama_times().head(51).value == Approx(us(305).value));
}

TEST_CASE("several chunks in one call take the sum of their times minus all but one start-up time",
          "[operator-times]") {
  const OperatorTimes t = llama_times();
  CHECK(t.attention({.chunks = 1, .chunk = 51, .past = 50}).value == Approx(us(1.5 * 51).value));
  CHECK(t.attention({.chunks = 3, .chunk = 51}).value == Approx(us(51 + 2 * (51 - 1)).value));
  CHECK(t.attention({.decoding = 6, .context = 150}).value == Approx(us(15).value));
  CHECK(t.attention({.chunks = 1, .chunk = 51, .decoding = 6, .context = 150}).value == Approx(us(51 + 15).value));
  CHECK(t.attention({}) == Seconds());
}

TEST_CASE("if a table has a row for prompts and decoding together, its time is used", "[operator-times]") {
  OperatorTables both = tables();
  both.attention.push_back({51, 0, 6, 150, us(500)});
  const OperatorTimes t = times_of(both, test::tiny_llama());
  CHECK(t.attention({.chunks = 1, .chunk = 51, .decoding = 6, .context = 150}).value == Approx(us(500).value));
}

TEST_CASE("consecutive decode steps take the sum of their times", "[operator-times]") {
  const OperatorTimes t = llama_times();
  for (const double context : {10.0, 95.5, 150.0, 250.0, 290.0}) {
    Seconds one_by_one;
    for (int i = 0; i < 130; ++i) one_by_one += t.attention({.decoding = 4, .context = context + i});
    CHECK(t.decoding(4, context, 130).value == Approx(one_by_one.value).epsilon(1e-12));
  }
}

TEST_CASE("in a replayed pass, expert time depends on the number of experts that receive tokens", "[operator-times]") {
  OperatorTables t = tables();
  const Arch arch = test::tiny_moe();  // 8 experts, 2 per token, on one layer of two
  for (const Count tokens : {1, 101})
    for (const Count reached : {2, 8}) t.experts.push_back({tokens, reached, us(static_cast<double>(1000 * reached))});
  // One token reaches 2 of 8 experts. The layer without experts has two more matmuls, and both layers have two
  // attention matmuls.
  const double dense = 6 * 11 + 2 * 2 + 3;
  CHECK(times_of(t, arch).rows(1).value == Approx(us(2000 + dense).value));
  Layout two;
  two.dp = two.ep = 2;
  two.etp = 1;
  // Two ranks with one token and 4 of the 8 experts each: 4 (1 - (6/8)^2) = 1.75 experts of a rank, below the measured
  // minimum.
  CHECK(times_of(t, arch, two).rows(1).value == Approx(us(2000 + dense).value));
  // 100 tokens on each rank reach all 4 experts of a rank.
  CHECK(times_of(t, arch, two).rows(100).value == Approx(us(4000 + 6 * 110 + 2 * 2 + 3).value));
}

TEST_CASE("tables that lack a layer of the model are rejected", "[operator-times]") {
  OperatorTables t = tables();
  std::erase_if(t.dense, [](const LayerTime& l) { return l.layer == "o_proj"; });
  CHECK(refused(t, test::tiny_llama()) == "'dir/dense.csv': o_proj is missing; every pass requires its time");
  t = tables();
  t.per_sequence.clear();
  CHECK(refused(t, test::tiny_llama()) == "'dir/per_sequence.csv': lm_head is missing; every pass requires its time");
  t = tables();
  t.attention.clear();
  CHECK(refused(t, test::tiny_llama()) ==
        "'dir/attention.csv': rows with only prompts and rows with only decoding are required");
  CHECK(refused(tables(), test::tiny_moe()) ==
        "'dir': moe.csv is missing, but the model has experts; measure their times");
  Layout two;
  two.tp = 2;
  CHECK(refused(tables(), test::tiny_llama(), two) ==
        "no tables in or next to 'dir' are for 2 tensor-parallel ranks; measure them");
}

TEST_CASE("a run uses tables of its own device and tables whose device is unknown", "[operator-times]") {
  OperatorTables server, card, unheard;
  server.origin.device = "NVIDIA RTX PRO 6000 Blackwell Server Edition";
  card.device_folder = "H100";
  unheard.origin.device = "Foo X100";
  const Devices devices;
  const auto of = [&](const char* preset) {
    std::vector<std::string> all;
    for (const OperatorTables& t : tables_of_device(*devices.called(preset), {server, card, unheard}, devices))
      all.push_back(t.origin.device + t.device_folder);
    return all;
  };
  CHECK(of("rtx-pro-6000-blackwell-server") == std::vector{server.origin.device, unheard.origin.device});
  CHECK(of("h100-sxm-80gb") == std::vector{card.device_folder, unheard.origin.device});
}
