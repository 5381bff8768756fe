// The server compared with one that steps through every sequence in every pass: equal to the attosecond.

#include <vector>

#include "serve/fleet/fleet.hpp"
#include "tests/catch.hpp"
#include "tests/serve/even_times.hpp"
#include "tests/serve/plain_server.hpp"

using namespace llmcalc;

namespace {

/// A server and its load, drawn from a seed.
struct Drawn {
  SchedulerRules rules;
  PassTimes times;
  RequestTraffic traffic;
};

Count between(Random& r, Count least, Count most) {
  return least + static_cast<Count>(r.next() % static_cast<std::uint64_t>(most - least + 1));
}
bool chance(Random& r, Count of) { return between(r, 1, of) == 1; }

PassTimes drawn_times(Random& r) {
  PassTimes t;
  t.rows = PassRowTimes({{1, between(r, 100, 1000)}, {8, between(r, 1000, 2000)}, {32, between(r, 2000, 9000)}});
  t.head = PassRowTimes({{1, between(r, 1, 50)}, {16, between(r, 50, 99)}});
  t.prompts[0].push({.query = between(r, 1, 9), .pair = between(r, 1, 3)});
  t.decodes[0].push({.constant = between(r, 0, 3000), .query = between(r, 0, 9)});
  t.decodes[0].push({.constant = between(r, 0, 300), .key = between(r, 1, 9)});
  t.decodes[1].push({.key = between(r, 1, 9)});
  t.prompts[1].push({.key = between(r, 1, 9)});
  t.drafts = PassRowTimes({{1, 7}, {3, 9}});
  t.sequence = between(r, 0, 5);
  t.moved_block = between(r, 0, 50);
  if (chance(r, 2)) t.reach = {.tokens = between(r, 1, 40), .chunked = chance(r, 2)};
  return t;
}

ServerRequest drawn_request(Random& r, Count i, Count longest) {
  ServerRequest q;
  q.at = Seconds(static_cast<double>(between(r, 0, 40000)) * 1e-18);
  q.prompt = between(r, 1, longest / 2);
  q.generate = chance(r, 5) ? 1 : between(r, 1, longest / 2);
  q.priority = static_cast<int>(between(r, 0, 2));
  if (chance(r, 2)) {
    q.prefix = static_cast<ChainId>(between(r, 0, 1));
    q.prefix_tokens = std::min<Count>(q.prompt, q.prefix == 0 ? 9 : 17);
    if (q.prefix_tokens < (q.prefix == 0 ? 9 : 17)) q.prefix = no_chain;
  }
  if (i > 0 && chance(r, 3)) {
    q.after = static_cast<RequestId>(between(r, 0, i - 1));
    q.at = Seconds(static_cast<double>(between(r, 0, 3000)) * 1e-18);
  }
  return q;
}

/// Makes turns of a session follow one another.
void put_into_sessions(std::vector<ServerRequest>& all, Random& r) {
  ChainId sessions = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    ServerRequest& q = all[i];
    if (q.after == no_request || chance(r, 3)) {
      if (chance(r, 2)) q.session = sessions++;
      continue;
    }
    const ServerRequest& before = all[q.after];
    q.session = before.session;
    q.prefix = before.prefix;
    q.prefix_tokens = before.prefix_tokens;
    q.prompt = std::max(q.prompt, q.prefix_tokens);
  }
}

SchedulerRules drawn_rules(Random& r) {
  SchedulerRules s;
  s.pass_tokens = between(r, 8, 64);
  s.sequences = between(r, 1, 8);
  s.batching = chance(r, 4) ? Batching::prompts_first : Batching::continuous;
  s.admission = chance(r, 3) ? Admission::priority : Admission::first_come;
  s.preemption = chance(r, 3) ? Preemption::swap : Preemption::recompute;
  s.whole_prompt_fits = !chance(r, 3);
  s.poll_passes = chance(r, 3) ? between(r, 2, 9) : 1;
  s.block_tokens = between(r, 1, 6);
  s.whole_groups = between(r, 1, 2);
  s.limited_groups = between(r, 0, 1);
  s.state_blocks = chance(r, 4) ? between(r, 1, 3) : 0;
  s.prefix_cache = chance(r, 2);
  if (chance(r, 4)) {
    s.speculation = {.length = between(r, 1, 3), .acceptance = {0.8, 0.6, 0.5}, .seed = r.next()};
    s.sequences = std::min(s.sequences, s.pass_tokens / (1 + s.speculation.length));
  } else if (chance(r, 3)) {
    s.chunk_tokens = between(r, 1, 20);
  }
  return s;
}

Drawn drawn(std::uint64_t seed) {
  Random r(seed);
  Drawn d{.rules = drawn_rules(r), .times = drawn_times(r), .traffic = {}};
  if (d.times.reach.limited() && chance(r, 4)) {  // windows only
    d.rules.whole_groups = 0;
    d.rules.limited_groups = 1;
    d.rules.prefix_cache = false;
  }
  const Count longest = between(r, 4, 90);
  const Count room = blocks_of(d.rules, d.times.reach, longest + d.rules.speculation.length);
  d.rules.blocks = room + between(r, 0, room);
  std::vector<ServerRequest> requests;
  for (Count i = 0; i < between(r, 1, 30); ++i) requests.push_back(drawn_request(r, i, longest));
  put_into_sessions(requests, r);
  if (chance(r, 3)) {
    d.traffic.users = between(r, 1, 12);
  } else {
    // arrival times in increasing order
    Seconds last;
    for (ServerRequest& q : requests)
      if (q.after == no_request) last = q.at = last + Seconds(q.at.value / 10);
  }
  d.traffic.requests = requests;
  return d;
}

/// Prefixes that extend one another by 1 to 12 tokens.
struct DrawnPrefixes {
  PrefixTree tree;
  std::vector<Count> tokens;
};

DrawnPrefixes drawn_prefixes(Random& r) {
  DrawnPrefixes all;
  for (Count i = 0; i < between(r, 2, 8); ++i) {
    const bool root = i == 0 || chance(r, 4);
    const auto parent = root ? no_chain : static_cast<ChainId>(between(r, 0, i - 1));
    const Count begin = root ? 0 : all.tokens[parent];
    all.tree.add(parent, begin);
    all.tokens.push_back(begin + between(r, 1, 12));
  }
  return all;
}

/// Gives the requests prefixes of a tree, as long as they fit into the prompts.
void put_into_tree(RequestList& all, std::uint64_t seed) {
  Random r(seed);
  const DrawnPrefixes drawn = drawn_prefixes(r);
  for (std::size_t i = 0; i < all.size(); ++i) {
    ServerRequest q = all[i];
    q.session = q.prefix = no_chain;
    q.prefix_tokens = 0;
    const auto prefix = static_cast<ChainId>(between(r, 0, static_cast<Count>(drawn.tokens.size()) - 1));
    if (drawn.tokens[prefix] <= q.prompt) {
      q.prefix = prefix;
      q.prefix_tokens = drawn.tokens[prefix];
    }
    all.set(i, q);
  }
  all.set_prefixes(drawn.tree);
}

/// Sums over runs.
struct Sums {
  Count preempted = 0, cached = 0, alike = 0;
};

/// Checks that both servers give the same results, and adds these to the sums.
void compare(const Drawn& d, Sums& sums) {
  test::PlainServer plain(d.rules, d.times, d.traffic);
  plain.run();
  const ServerWatch watch{.pass = [&](const PassRecord& p) { sums.alike += p.passes - 1; }};
  const ServerRun run = serve({.server = {.scheduler = d.rules}}, d.times, d.traffic, watch);
  REQUIRE(run.passes == plain.passes);
  REQUIRE(run.most_blocks == plain.most_blocks);
  for (std::size_t i = 0; i < run.answers.size(); ++i) {
    const AnswerTimes a = run.answers[i], b = plain.answers[i];
    REQUIRE(std::tie(a.sent, a.first, a.last) == std::tie(b.sent, b.first, b.last));
    REQUIRE(std::tie(a.cached, a.preemptions) == std::tie(b.cached, b.preemptions));
    sums.preempted += a.preemptions;
    sums.cached += a.cached;
  }
}

}  // namespace

TEST_CASE("the server gives the same results as a plain server that steps through every sequence and pass",
          "[serve][equality]") {
  Sums sums;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    compare(drawn(seed), sums);
  }
  CHECK(sums.preempted > 1000);
  CHECK(sums.cached > 1000);
  CHECK(sums.alike > 10000);  // passes counted in one step
}

TEST_CASE("the server gives the same results as the plain server for prefixes that extend one another",
          "[serve][equality]") {
  Sums sums;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    Drawn d = drawn(seed);
    put_into_tree(d.traffic.requests, seed);
    d.rules.prefix_cache = d.rules.whole_groups > 0;
    compare(d, sums);
  }
  CHECK(sums.preempted > 500);
  CHECK(sums.cached > 1000);
}
