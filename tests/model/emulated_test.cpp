// Tests the GPU emulator: threads that meet see each other's writes, and waits that are invalid on a GPU are rejected.

#include "tests/catch.hpp"
#include "tests/model/emulated_block.hpp"

using namespace llmcalc;
using model::cuda::block_sum;
using test::Emulation;

namespace {

constexpr int threads = 128;

/// Runs the kernel f as one block.
template <typename F>
void run(const F& f, const Emulation& how = {}) {
  test::Blocks().run(f, 1, threads, 1024, how);
}

/// Every thread stores its index and reads its left neighbor's.
struct Neighbors {
  int* seen;
  static constexpr unsigned barrier = __LINE__ + 5;  ///< line of the barrier
  template <typename Thread>
  void operator()(const Thread& t) const {
    int* const room = reinterpret_cast<int*>(t.room());
    room[t.index()] = t.index();
    t.sync();
    seen[t.index()] = room[(t.index() + threads - 1) % threads];
  }
};

bool neighbors_seen(const Emulation& how) {
  std::vector<int> seen(threads);
  run(Neighbors{seen.data()}, how);
  for (int i = 0; i < threads; ++i)
    if (seen[static_cast<std::size_t>(i)] != (i + threads - 1) % threads) return false;
  return true;
}

}  // namespace

TEST_CASE("in emulated kernels, threads meet at barriers and lanes at shuffles, in any execution order", "[emulator]") {
  for (const bool last_first : {false, true}) {
    Emulation how;
    how.last_first = last_first;
    CHECK(neighbors_seen(how));
    float sum = 0;
    run(
        [&](const test::Thread& t) {
          const float all = block_sum(t, static_cast<float>(t.index()), reinterpret_cast<float*>(t.room()));
          if (t.index() == 77) sum = all;
        },
        how);
    CHECK(sum == 127 * 128 / 2);
  }
}

TEST_CASE("the emulator detects a removed barrier", "[emulator]") {
  Emulation how;
  how.file = "emulated_test.cpp";
  how.line = Neighbors::barrier;
  CHECK(!neighbors_seen(how));
  how.line = Neighbors::barrier + 1;
  CHECK(neighbors_seen(how));
}

TEST_CASE("lanes of a warp that shuffle at different call sites are rejected", "[emulator]") {
  const auto apart = [](const test::Thread& t) {
    if (t.index() % 2 == 0)
      t.across(1, 2);
    else
      t.across(1, 2);
  };
  CHECK_THROWS_WITH(run(apart), Catch::StartsWith("lanes of a warp meet at unlike places"));
}

TEST_CASE("a shuffle with a lane that has returned or waits at a block barrier is rejected", "[emulator]") {
  const auto returned = [](const test::Thread& t) {
    if (t.index() != 5) t.across(1, 1);
  };
  CHECK_THROWS_WITH(run(returned), Catch::StartsWith("lanes of a warp meet") && Catch::EndsWith("the kernel's end"));
  const auto barred = [](const test::Thread& t) { t.index() != 5 ? static_cast<void>(t.across(1, 1)) : t.sync(); };
  CHECK_THROWS_WITH(run(barred), Catch::StartsWith("lanes of a warp meet at unlike places"));
}

TEST_CASE("warps that wait at different barriers, or for a returned warp, are rejected", "[emulator]") {
  const auto apart = [](const test::Thread& t) {
    if (t.index() < 32)
      t.sync();
    else
      t.sync();
  };
  CHECK_THROWS_WITH(run(apart), Catch::StartsWith("threads of a block meet at unlike places"));
  const auto returned = [](const test::Thread& t) {
    if (t.index() < 96) t.sync();
  };
  CHECK_THROWS_WITH(run(returned), Catch::EndsWith("the kernel's end"));
}

TEST_CASE("mma and ldmatrix require all lanes of the warp", "[emulator]") {
  const auto half = [](const test::Thread& t) {
    unsigned r[4] = {};
    if (t.index() % 32 < 16) t.ldmatrix(r, 0);
  };
  CHECK_THROWS_WITH(run(half), Catch::StartsWith("lanes of a warp meet at unlike places"));
  const auto product = [](const test::Thread& t) {
    float c[4] = {};
    const unsigned a[4] = {};
    if (t.index() % 32 != 0) t.mma(c, a, 0, 0);
  };
  CHECK_THROWS_WITH(run(product), Catch::StartsWith("lanes of a warp meet at unlike places"));
}
