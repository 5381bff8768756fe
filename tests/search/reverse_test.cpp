// Inverse searches: the answer reaches the goal, and the next smaller or larger value does not.

#include "search/reverse.hpp"

#include "tests/catch.hpp"
#include "tests/search/spaces.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

Setup setup(Count memory = 8'000'000) {
  const Space s = space_of(with_layers(even(), 6), 8, memory, 512, 16);
  return {s.arch, s.plan, {.dp = 8}, s.cluster};
}
bool does_train(const Setup& s) {
  return train(s.arch, s.plan, s.layout, s.cluster).memory.peak <= s.cluster.device.memory;
}
Bytes peak(const Setup& s) { return train(s.arch, s.plan, s.layout, s.cluster).memory.peak; }

}  // namespace

TEST_CASE("the fewest devices for a deadline are the smallest device count that meets it", "[search]") {
  Space s = space_of(with_layers(even(), 6), 1, 20'000'000, 512, 16);
  const double tokens = 1e9;
  const Searching searching = [](const Space& one) { return search(one); };
  double last = 1e300;
  for (const Count n : {1, 2, 4}) {
    Space one = s;
    one.gpus = {n};
    const SearchResult r = search(one);
    REQUIRE(!r.best.empty());
    const Seconds run = run_time(one, r.best[0], tokens);
    CHECK(run.value == Approx(r.best[0].step.value * tokens / (16 * 512)));
    CHECK(run.value < last);  // true for these numbers of devices
    last = run.value;
    const FewestGpus few = fewest_gpus(
        s, 1, 4, [&](const Space& at, const Found& f) { return run_time(at, f, tokens) <= run; }, searching);
    REQUIRE(few.found);
    CHECK(few.found->candidate.gpus == n);
    CHECK(*few.found == r.best[0]);
  }
  const FewestGpus none = fewest_gpus(
      s, 1, 4, [&](const Space& at, const Found& f) { return run_time(at, f, tokens) < Seconds(last); }, searching);
  CHECK(!none.found);
  CHECK(none.tried.size() >= 3);
}

TEST_CASE("every number of devices below the fewest misses the goal, regardless of its factors", "[search]") {
  // 6 layers, 6 heads, 14 sequences: 7, 5 and 3 devices permit a layout because they divide the batch, the heads or the
  // stages
  Space s = space_of(with_layers(even(), 6), 1, 20'000'000, 512, 14);
  const Searching searching = [](const Space& one) { return search(one); };
  std::vector<Seconds> steps;  // step times on 1 to 15 devices; 0 if there is no plan
  for (Count n = 1; n < 16; ++n) {
    Space one = s;
    one.gpus = {n};
    const SearchResult r = search(one);
    steps.push_back(r.best.empty() ? Seconds() : r.best[0].step);
    CHECK(holds_layout(s, n) == !r.best.empty());
    if (!r.best.empty()) CHECK(static_cast<double>(n) * steps.back() >= least_device_seconds(s));
    if (!r.best.empty()) CHECK(static_cast<double>(n) * steps.back() >= least_estimated_device_seconds(s));
  }
  for (const Seconds goal : steps) {
    if (goal == Seconds()) continue;
    Count fewest = 1;
    while (steps[static_cast<std::size_t>(fewest - 1)] == Seconds() ||
           steps[static_cast<std::size_t>(fewest - 1)] > goal)
      ++fewest;
    const auto least = static_cast<Count>(least_device_seconds(s) / goal);
    const FewestGpus few = fewest_gpus(
        s, std::max<Count>(1, least), 15, [&](const Space&, const Found& f) { return f.step <= goal; }, searching);
    REQUIRE(few.found);
    CHECK(few.found->candidate.gpus == fewest);
  }
}

TEST_CASE("device counts are tried in ascending order, and a stopped search ends the trials", "[search]") {
  Space s = space_of(with_layers(even(), 6), 1, 20'000'000, 512, 60);
  int calls = 0;
  const Searching searching = [&](const Space& one) {
    ++calls;
    SearchResult r;
    const Count n = one.gpus[0];
    if (n <= 6 || n == 8) r.best = {{.candidate = {.gpus = n}, .step = Seconds(1 / static_cast<double>(n))}};
    return r;
  };
  const auto within = [&](double seconds) {
    return fewest_gpus(
        s, 5, 16, [=](const Space&, const Found& f) { return f.step <= Seconds(seconds); }, searching);
  };
  CHECK(within(1.0 / 8).found->candidate.gpus == 8);
  CHECK(within(1.0 / 6).found->candidate.gpus == 6);
  CHECK(within(1.0 / 5).found->candidate.gpus == 5);
  CHECK(within(1.0 / 4).found->candidate.gpus == 4);
  const FewestGpus five = within(1.0 / 5);
  for (std::size_t i = 1; i < five.tried.size(); ++i) CHECK(five.tried[i - 1].gpus < five.tried[i].gpus);
  CHECK(std::none_of(five.tried.begin(), five.tried.end(), [](const OfNumber& n) { return n.gpus == 3; }));
  calls = 0;
  const FewestGpus stopped = fewest_gpus(
      s, 1, 16, [](const Space&, const Found&) { return true; },
      [&](const Space&) {
        ++calls;
        SearchResult r;
        r.stopped = true;
        return r;
      });
  CHECK(stopped.stopped);
  CHECK(calls == 1);
}

TEST_CASE("the device counts tried are the powers of two and the maximum", "[search]") {
  CHECK(numbers_up_to(1) == std::vector<Count>{1});
  CHECK(numbers_up_to(8) == std::vector<Count>{1, 2, 4, 8});
  CHECK(numbers_up_to(12) == std::vector<Count>{1, 2, 4, 8, 12});
}

TEST_CASE("the best plans of each device count merge into the best of all", "[search]") {
  Space s = space_of(with_layers(even(), 4), 1, 20'000'000, 128, 12);
  s.gpus = numbers_up_to(6);
  for (const Objective o : {Objective::time, Objective::cost, Objective::energy, Objective::memory}) {
    s.objective = o;
    const auto each = search_numbers(s, [](const Space& one) { return search(one); });
    REQUIRE(each.size() == 4);
    std::vector<SearchResult> parts;
    double least = 1e300;
    for (const OfNumber& n : each) {
      parts.push_back(n.found);
      Space one = s;
      one.gpus = {n.gpus};
      for (const Found& f : all_trained(one))
        if (f.peak <= s.cluster.device.memory) least = std::min(least, f.value);
    }
    const SearchResult all = merge(s, parts);
    REQUIRE(!all.best.empty());
    CHECK(all.best[0].value <= least * (1 + 1e-12));  // it also recomputes some of the modules
    CHECK(all.best == search(s).best);
  }
  int calls = 0;
  const auto first = search_numbers(s, [&](const Space&) {
    ++calls;
    SearchResult r;
    r.stopped = true;
    return r;
  });
  CHECK(first.size() == 1);
  CHECK(calls == 1);
}

TEST_CASE("the offer for a hardware type is the device count with the best plan that meets the deadline", "[search]") {
  Space s = space_of(with_layers(even(), 6), 1, 20'000'000, 512, 16);
  s.gpus = numbers_up_to(8);
  const double tokens = 1e9;
  const Searching searching = [](const Space& one) { return search(one); };
  for (const Objective o : {Objective::time, Objective::cost, Objective::energy}) {
    s.objective = o;
    std::vector<Found> each;
    for (const Count n : {1, 2, 4, 8}) {
      Space one = s;
      one.gpus = {n};
      each.push_back(search(one).best[0]);
    }
    for (const Found& limit : each) {
      const Seconds deadline = run_time(s, limit, tokens);
      std::optional<Found> best, fastest;
      for (const Found& f : each) {
        if (!fastest || f.step < fastest->step) fastest = f;
        if (f.step <= limit.step && (!best || f.value < best->value)) best = f;
      }
      const Offer found = offer(s, tokens, deadline, searching);
      CHECK(found.best == best);
      CHECK(found.fastest == fastest);
    }
    const Offer never = offer(s, tokens, Seconds(1e-9), searching);
    CHECK(!never.best);
    CHECK(never.fastest);
    CHECK(offer(s, tokens, {}, searching).best->value <= each[0].value);
  }
  CHECK(joined_numbers(s) == s.gpus);
  s.cluster.levels = {};
  CHECK(joined_numbers(s) == std::vector<Count>{1});
  s.cluster.levels.push({.ranks = 4, .bandwidth = BytesPerSecond(300e9), .latency = Seconds(1e-6)});
  CHECK(joined_numbers(s) == std::vector<Count>{1, 2, 4});
  s.gpus = {8};
  const Offer none = offer(s, tokens, {}, searching);
  CHECK(!none.best);
  CHECK(!none.fastest);
}

TEST_CASE("the largest micro-batch, sequence and batch fit, and the next do not", "[search]") {
  Setup s = setup(60'000'000);
  s.plan.global_batch = 8 * 24;
  const auto micro = largest_micro_batch(s);
  REQUIRE(micro);
  const std::vector<Count> all = divisors(24);
  Setup next = s;
  next.plan.micro_batch = *micro;
  CHECK(does_train(next));
  for (const Count n : all)
    if (n > *micro) {
      next.plan.micro_batch = n;
      CHECK(!does_train(next));
    }
  CHECK(*micro > 1);
  CHECK(*micro < 24);

  s = setup(60'000'000);
  for (const Count cp : {1, 4}) {
    s.layout = {.cp = cp, .dp = 8 / cp};
    const auto seq = largest_sequence(s);
    REQUIRE(seq);
    next = s;
    next.plan.seq = *seq;
    CHECK(*seq > 512);
    CHECK(does_train(next));
    next.plan.seq += cp == 1 ? 1 : 2 * cp;
    CHECK(!does_train(next));
  }

  s = setup(60'000'000);
  s.layout = {.pp = 2, .dp = 4};
  CHECK(largest_global_batch(s) == 0);  // 1F1B stores two micro-batches at most
  s.layout.schedule = Schedule::gpipe;
  Setup two = s;
  two.plan.global_batch = 8;
  s.cluster.device.memory = peak(two);  // GPipe stores all micro-batches, here two
  CHECK(largest_global_batch(s) == 8);
  for (const Count micro_batches : {8, 9, 21}) {  // including more than four per stage
    two.plan.global_batch = 4 * micro_batches;
    s.cluster.device.memory = peak(two);
    CHECK(largest_global_batch(s) == two.plan.global_batch);
  }
  s.cluster.device.memory = Bytes(1000);
  CHECK(!largest_micro_batch(s));
  CHECK(!largest_sequence(s));
  CHECK(!largest_global_batch(s));
}

TEST_CASE("each remedy makes a plan fit by one change, and the fastest comes first", "[search]") {
  Setup s = setup();
  s.plan.micro_batch = 2;
  s.cluster.device.memory = peak(s) - Bytes(1);
  CHECK(lacking(s) == Bytes(1));
  for (const Remedied& r : remedies(s)) CHECK(r.remedy < Remedy::offloaded_activations);  // the host is unknown
  s.cluster.device.host.link = BytesPerSecond(63e9);
  const std::vector<Remedied> all = remedies(s);
  std::vector<Remedy> kinds;
  for (const Remedied& r : all) {
    kinds.push_back(r.remedy);
    Setup mended = s;
    mended.plan = r.plan;
    mended.layout = r.layout;
    CHECK(does_train(mended));
    CHECK(r.peak == peak(mended));
    CHECK(!(r.plan == s.plan && r.layout == s.layout));
    CHECK(devices(r.layout) == 8);
  }
  for (std::size_t i = 1; i < all.size(); ++i) CHECK(all[i - 1].step <= all[i].step);
  for (const Remedy r :
       {Remedy::full_recompute, Remedy::smaller_micro_batch, Remedy::more_tensor_ranks, Remedy::more_stages,
        Remedy::more_context_ranks, Remedy::more_sharding, Remedy::adam8bit, Remedy::bf16_gradients,
        Remedy::offloaded_activations, Remedy::offloaded_optimizer, Remedy::offloaded_weights})
    CHECK(std::count(kinds.begin(), kinds.end(), r) == 1);
  for (const Remedied& r : all)
    if (r.remedy == Remedy::more_sharding) CHECK(r.layout.zero == Zero::optimizer);  // the lowest stage that suffices
  s.cluster.device.memory = peak(s);
  CHECK(remedies(s).empty());
}

TEST_CASE("a remedy increases its parallel degree until the plan fits", "[search]") {
  Setup s = setup();
  s.layout = {.dp = 8};
  Setup quarter = s;
  quarter.layout = {.tp = 4, .dp = 2};
  s.cluster.device.memory = peak(quarter);
  for (const Remedied& r : remedies(s))
    if (r.remedy == Remedy::more_tensor_ranks) {
      CHECK(r.layout == quarter.layout);
      return;
    }
  FAIL("no tensor-parallel ranks");
}
