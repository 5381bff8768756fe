#include "calc/links/collective.hpp"

#include <numeric>
#include <vector>

#include "tests/catch.hpp"

using namespace llmcalc;
using Algorithm = CollectiveAlgorithm;
using Op = CollectiveOp;

namespace {

const Link slow{.ranks = 64, .bandwidth = BytesPerSecond(1e9), .latency = Seconds(1e-3)};

double milliseconds(Op op, Algorithm a, Count m, Count n) {
  return 1e3 * collective_time(op, a, Bytes(m), n, slow).value;
}

/// Ring all-reduce over n ranks with n elements each; counts the elements that each rank sends.
struct Ring {
  std::vector<std::vector<long>> data;
  std::vector<Count> sent;
  explicit Ring(std::size_t n) : data(n, std::vector<long>(n)), sent(n, 0) {
    for (std::size_t rank = 0; rank < n; ++rank) std::iota(data[rank].begin(), data[rank].end(), long(100 * rank));
  }
  void step(std::size_t offset, bool reduce) {
    const std::size_t n = data.size();
    const auto before = data;
    for (std::size_t rank = 0; rank < n; ++rank) {
      const std::size_t to = (rank + 1) % n, slice = (rank + offset) % n;
      data[to][slice] = reduce ? data[to][slice] + before[rank][slice] : before[rank][slice];
      ++sent[rank];
    }
  }
  void all_reduce() {
    const std::size_t n = data.size();
    for (std::size_t k = 0; k + 1 < n; ++k) step(n - k, true);
    for (std::size_t k = 0; k + 1 < n; ++k) step(n + 1 - k, false);
  }
};

}  // namespace

TEST_CASE("a simulated ring all-reduce moves the formula's volume and computes the sums", "[collective]") {
  const std::size_t n = GENERATE(2u, 3u, 5u, 8u);
  Ring ring(n);
  ring.all_reduce();
  const ByteFraction volume = collective_volume(Op::all_reduce, Algorithm::ring, Bytes(Count(n)), Count(n));
  for (const Count sent : ring.sent) CHECK(sent * volume.denominator == volume.numerator.value);
  for (const auto& row : ring.data)
    for (std::size_t i = 0; i < n; ++i) CHECK(row[i] == long(n * i + 100 * (n * (n - 1) / 2)));
}

TEST_CASE("every algorithm takes its rounds times the latency plus its load over the bandwidth", "[collective]") {
  // 4 ranks, 8 MB over 1 GB/s: M/bandwidth = 8 ms, latency 1 ms, lg = 2
  const Count m = 8'000'000;
  CHECK(milliseconds(Op::all_reduce, Algorithm::ring, m, 4) == Approx(6 + 12));
  CHECK(milliseconds(Op::all_reduce, Algorithm::recursive, m, 4) == Approx(4 + 12));
  CHECK(milliseconds(Op::all_reduce, Algorithm::tree, m, 4) == Approx(4 + 32));
  CHECK(milliseconds(Op::all_reduce, Algorithm::tree_pipelined, m, 4) == Approx(4 + 16));
  CHECK(milliseconds(Op::all_reduce, Algorithm::naive, m, 4) == Approx(6 + 48));
  CHECK(milliseconds(Op::all_gather, Algorithm::ring, m, 4) == Approx(3 + 6));
  CHECK(milliseconds(Op::reduce_scatter, Algorithm::recursive, m, 4) == Approx(2 + 6));
  CHECK(milliseconds(Op::all_to_all, Algorithm::pairwise, m, 4) == Approx(3 + 6));
  CHECK(milliseconds(Op::all_to_all, Algorithm::bruck, m, 4) == Approx(2 + 8));
  CHECK(milliseconds(Op::broadcast, Algorithm::tree, m, 4) == Approx(2 + 16));
  CHECK(milliseconds(Op::broadcast, Algorithm::scatter_allgather, m, 4) == Approx(5 + 12));
  CHECK(milliseconds(Op::broadcast, Algorithm::pipelined, m, 4) == Approx(3 + 8));
  CHECK(milliseconds(Op::reduce, Algorithm::tree, m, 4) == Approx(2 + 16));
  CHECK(milliseconds(Op::gather, Algorithm::tree, m, 4) == Approx(2 + 6));
  CHECK(milliseconds(Op::p2p, Algorithm::direct, m, 4) == Approx(1 + 8));
}

TEST_CASE("tree levels are rounded up if the number of ranks is not a power of two", "[collective]") {
  CHECK(collective_schedule(Op::broadcast, Algorithm::tree, 5)->rounds == 3);
  CHECK(collective_schedule(Op::broadcast, Algorithm::tree, 8)->rounds == 3);
  CHECK(collective_schedule(Op::broadcast, Algorithm::tree, 9)->rounds == 4);
}

TEST_CASE("a collective over a single rank communicates no bytes", "[collective]") {
  for (const auto op : {Op::broadcast, Op::gather, Op::reduce, Op::all_gather, Op::all_reduce, Op::p2p}) {
    CHECK(collective_time(op, default_algorithm(op), Bytes(1000), 1, Link{}) == Seconds(0));
    CHECK(collective_volume(op, default_algorithm(op), Bytes(1000), 1).numerator == Bytes(0));
    CHECK(bus_factor(op, 1) == Ratio{0, 1});
  }
}

TEST_CASE("an all-reduce takes the rounds and load of a reduce-scatter plus an all-gather", "[collective]") {
  const Count n = GENERATE(2, 3, 7, 64);
  const auto whole = *collective_schedule(Op::all_reduce, Algorithm::ring, n);
  const auto half = *collective_schedule(Op::reduce_scatter, Algorithm::ring, n);
  CHECK(whole.rounds == 2 * half.rounds);
  CHECK(whole.load.value() == Approx(2 * half.load.value()).epsilon(1e-15));
  CHECK(half.load == collective_schedule(Op::all_gather, Algorithm::ring, n)->load);
}

TEST_CASE("the load of an all-reduce through a chief grows with the number of ranks, unlike a ring's", "[collective]") {
  // Goon App. B, footnote 36
  CHECK(collective_schedule(Op::all_reduce, Algorithm::naive, 8)->load == Ratio{14, 1});
  CHECK(collective_schedule(Op::all_reduce, Algorithm::naive, 1024)->load == Ratio{2046, 1});
  CHECK(collective_schedule(Op::all_reduce, Algorithm::ring, 8)->load == Ratio{7, 4});
  CHECK(collective_schedule(Op::all_reduce, Algorithm::ring, 1024)->load == Ratio{1023, 512});
}

TEST_CASE("collective volumes are exact fractions", "[collective]") {
  CHECK(collective_volume(Op::all_gather, Algorithm::ring, Bytes(702789123), 12) ==
        ByteFraction{Bytes(Count{702789123} * 11), 12});
  CHECK(collective_volume(Op::all_reduce, Algorithm::ring, Bytes(418181740), 64).value() == 823295300.625);
  CHECK_THROWS_AS(collective_volume(Op::all_reduce, Algorithm::ring, Bytes(Count{1} << 62), 64), Overflow);
}

TEST_CASE("bus bandwidth equals link bandwidth for bandwidth-optimal algorithms without latency", "[collective]") {
  const Link fast{.ranks = 8, .bandwidth = BytesPerSecond(450e9), .latency = Seconds(0)};
  for (const auto op :
       {Op::all_reduce, Op::all_gather, Op::reduce_scatter, Op::all_to_all, Op::broadcast, Op::gather}) {
    const Seconds t = collective_time(op, default_algorithm(op), Bytes(1 << 30), 8, fast);
    CHECK(bus_bandwidth(op, Bytes(1 << 30), 8, t).value == Approx(450e9));
  }
}

TEST_CASE("each kind of invalid collective is reported with its specific flaw", "[collective]") {
  const Bytes m(8);
  CHECK(collective_flaw(Op::all_reduce, Algorithm::bruck, m, 8, slow) == CollectiveFlaw::no_such_algorithm);
  CHECK(collective_flaw(Op::all_reduce, Algorithm::ring, m, 0, slow) == CollectiveFlaw::no_ranks);
  CHECK(collective_flaw(Op::all_reduce, Algorithm::ring, m, max_ranks + 1, slow) == CollectiveFlaw::too_many_ranks);
  CHECK(collective_flaw(Op::all_reduce, Algorithm::ring, Bytes(-1), 8, slow) == CollectiveFlaw::negative_message);
  CHECK(collective_flaw(Op::all_reduce, Algorithm::ring, m, 8, Link{}) == CollectiveFlaw::no_link);
  CHECK(collective_flaw(Op::all_reduce, Algorithm::ring, m, 65, slow) == CollectiveFlaw::link_too_small);
  CHECK(collective_flaw(Op::all_reduce, Algorithm::ring, m, 64, slow) == CollectiveFlaw::none);
  CHECK(collective_flaw(Op::all_reduce, Algorithm::ring, m, 1, Link{}) == CollectiveFlaw::none);
  CHECK_FALSE(collective_schedule(Op::p2p, Algorithm::ring, 2).has_value());
}

TEST_CASE("operation names parse regardless of separators and case", "[collective]") {
  for (const char* spelling : {"all-reduce", "all_reduce", "allreduce", "All Reduce"})
    CHECK(parse<Op>(spelling) == Op::all_reduce);
  CHECK(parse<Algorithm>("scatter-allgather") == Algorithm::scatter_allgather);
  CHECK_FALSE(parse<Op>("all-reduc").has_value());
}

TEST_CASE("a hierarchical all-reduce inside one node equals a flat all-reduce", "[collective]") {
  CHECK(hierarchical_all_reduce_time(Bytes(8'000'000), 4, 1, slow, Link{}).value ==
        Approx(collective_time(Op::all_reduce, Algorithm::ring, Bytes(8'000'000), 4, slow).value));
}

TEST_CASE("a hierarchical all-reduce sends only a rank's share of the message between nodes", "[collective]") {
  const Link network{.ranks = 2, .bandwidth = BytesPerSecond(1e8), .latency = Seconds(2e-3)};
  // inside: 2 x (1 ms + 1/2 x 8 ms); between, ring over 2 nodes with 4 MB: 2 x 2 ms + 2 x 1/2 x 40 ms
  CHECK(hierarchical_all_reduce_time(Bytes(8'000'000), 2, 2, slow, network).value == Approx(0.010 + 0.044));
}
