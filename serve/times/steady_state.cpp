#include "serve/times/steady_state.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "calc/elementary.hpp"

namespace llmcalc {
namespace {

Count nearest(double x) { return static_cast<Count>(std::floor(x + 0.5)); }

/// Shares of passes by number of chunks.
using ChunkShares = std::vector<std::pair<Count, double>>;

/// The two integers around a mean, with shares that result in this mean.
ChunkShares around(double mean) {
  const double below = std::floor(mean), part = mean - below;
  const auto n = static_cast<Count>(below);
  if (part == 0) return {{n, 1}};
  return {{n, 1 - part}, {n + 1, part}};
}

/// Distribution of the maximum of `ranks` Poisson variates with this mean; values above `most` count as `most`.
ChunkShares most_of_ranks(double mean, double ranks, Count most) {
  ChunkShares all;
  double one = elementary::exp(-mean), up_to = one, before = 0;
  for (Count j = 0; j < most && before < 1 - 1e-9; ++j) {
    const double now = elementary::pow(std::min(up_to, 1.0), ranks);
    all.emplace_back(j, now - before);
    before = now;
    one *= mean / static_cast<double>(j + 1);
    up_to += one;
  }
  all.emplace_back(most, 1 - before);
  return all;
}

/// One rank of one replica under a load.
class SteadyRank {
 public:
  SteadyRank(const EngineRules& engine, const PassTimes& times, const SteadyLoad& load)
      : rules_(engine.scheduler), ranks_(static_cast<double>(engine.ranks)), times_(times), load_(load) {
    decodes_ = (load.generate - 1) / expected_tokens(rules_.speculation);
  }

  /// The number of passes that process a request's prompt, with `decoding` concurrent sequences. passes(): all passes
  /// of the request.
  double chunks(double decoding) const { return new_tokens() / chunk(decoding, new_tokens()); }
  double passes(double decoding) const { return chunks(decoding) + decodes_; }
  double decodes() const { return decodes_; }
  /// Sets the maximum of the mean number of requests that begin in a pass, and the limit that determines it.
  void put_most(SteadyState& s) const {
    const double rows = (apart() && decodes_ > 0 ? 0 : new_tokens()) + decodes_ * decode_rows();
    const auto shared = static_cast<double>(shared_blocks(rules_, load_.shared));
    s.by_tokens = static_cast<double>(rules_.pass_tokens) / rows;
    s.by_sequences = most_begun(static_cast<double>(rules_.sequences), [&](double n) { return passes(n); });
    s.by_blocks = most_begun(static_cast<double>(rules_.blocks) - shared,
                             [&](double n) { return std::max(1.0, block_passes(n) - shared * passes(n)); });
    s.limit = s.by_tokens <= std::min(s.by_sequences, s.by_blocks) ? SteadyLimit::tokens
              : s.by_sequences <= s.by_blocks                      ? SteadyLimit::sequences
                                                                   : SteadyLimit::blocks;
    s.begun = std::min({s.by_tokens, s.by_sequences, s.by_blocks});
  }
  /// Seconds of a pass in which k requests begin and k end. If only one sequence is in progress at a time, the mean
  /// over the passes of its prompt and answer.
  double pass(double k) const {
    if (rules_.sequences > 1) return time(k * decodes_, k * chunks(k * decodes_));
    return (decodes_ * time(1, 0) + chunks(0) * time(0, 1)) / passes(0);
  }

  /// Number of blocks held by requests in progress at this rate, excluding blocks of a shared prefix.
  double held(double rate, double capacity, double places) const {
    const double pass = pass_seen(rate, capacity, places), n = rate * pass * decodes_;
    const auto shared = static_cast<double>(shared_blocks(rules_, load_.shared));
    return rate * pass * std::max(1.0, block_passes(n) - shared * passes(n));
  }

 private:
  double new_tokens() const { return std::max(1.0, load_.prompt - load_.cached); }
  /// Number of rows that a decoding sequence has in a pass.
  double decode_rows() const { return static_cast<double>(1 + rules_.speculation.length); }
  /// Whether prompts have separate passes.
  bool apart() const { return rules_.batching == Batching::prompts_first; }
  /// Number of tokens of a pass that are available for prompts.
  double room(double decoding) const {
    const double taken = apart() ? 0 : decoding * decode_rows();
    return std::max(1.0, static_cast<double>(rules_.pass_tokens) - taken);
  }
  /// Number of tokens per chunk of a prompt with `tokens` new tokens.
  double chunk(double decoding, double tokens) const {
    const double most = rules_.chunk_tokens > 0 ? std::min(static_cast<double>(rules_.chunk_tokens), tokens) : tokens;
    return std::min(most, room(decoding));
  }
  /// Mean number of new prompt tokens, weighted by length: averaged over tokens, not over prompts.
  double seen_tokens() const { return new_tokens() * (1 + load_.prompt_variation); }
  /// Mean number of tokens generated at the midpoint of an answer, weighted by answer length.
  double seen_answer() const { return load_.generate * (1 + load_.variation) / 2; }
  /// The largest number of requests that can begin in a pass if their needs, summed over all of their passes, are at
  /// most `all`.
  template <class Need>
  double most_begun(double all, const Need& need) const {
    double low = 0, high = std::max(0.0, all) / need(0);
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      (middle * need(middle * decodes_) <= all ? low : high) = middle;
    }
    return low;
  }
  /// Number of blocks of a request, summed over its passes: the prompt's blocks in prompt passes, and the blocks of
  /// the prompt and half of the answer in decode passes.
  double block_passes(double decoding) const {
    const auto held = [&](double tokens) {
      return static_cast<double>(blocks_of(rules_, times_.reach, nearest(tokens)));
    };
    return chunks(decoding) * held(load_.prompt) + decodes_ * held(load_.prompt + seen_answer());
  }

  /// Work of a pass. `prompt`: number of new tokens of each prompt in the pass.
  PassWork work(Count decoding, Count chunks, double mean_rows, double prompt) const {
    const auto most = nearest(room(static_cast<double>(decoding)));
    const Count tokens = nearest(chunk(static_cast<double>(decoding), prompt));
    const Count context = nearest(load_.prompt + seen_answer()), past = nearest(load_.cached);
    const Count passes = std::max<Count>(1, nearest(prompt / static_cast<double>(tokens)));
    PassWork w;
    if (ranks_ > 1) w.expert_rows = std::max<Count>(1, nearest(mean_rows));
    w.chunks = chunks;
    w.prompt_tokens = std::min(chunks * tokens, most);
    w.decoding = decoding;
    w.decoded = decoding * (1 + rules_.speculation.length);
    w.sampled = w.decoded + chunks / passes;
    w.drafting = rules_.speculation.on() ? decoding : 0;
    for (std::size_t i = 0; i < reach_kinds; ++i) {
      const Reach reach = i == 0 ? Reach() : times_.reach;
      if (i == 1 && !reach.limited()) break;
      CoreWork whole;
      for (Count c = 0; c < passes; ++c) whole += chunk_work(past + c * tokens, tokens, reach);
      const auto part = [&](Count all) { return all / passes * w.prompt_tokens / std::max<Count>(1, tokens); };
      w.prompts[i] = {w.prompt_tokens, part(whole.keys), part(whole.pairs)};
      w.decodes[i] = decoding * chunk_work(context - 1, 1 + rules_.speculation.length, reach);
    }
    return w;
  }

  /// Distribution of the number of chunks on the slowest of the ranks that step together. `chunks`: mean number per
  /// rank, for prompts of mean length.
  ChunkShares slowest(double decoding, double chunks) const {
    const double tokens = chunk(decoding, seen_tokens()), bursts = chunks * chunk(decoding, new_tokens()) / tokens;
    if (ranks_ == 1) return around(bursts);
    return most_of_ranks(bursts, ranks_, static_cast<Count>(std::ceil(room(decoding) / tokens)));
  }
  /// Mean seconds of a pass. `chunks`: mean number of chunks per rank.
  double time(double decoding, double chunks) const {
    const double rows = decoding * decode_rows() + chunks * chunk(decoding, new_tokens());
    const double prompt = seen_tokens();
    if (!apart()) return time(decoding, slowest(decoding, chunks), rows, prompt);
    return time(decoding, {{0, 1}}, rows, prompt) + time(0, slowest(0, chunks), rows, prompt);
  }
  /// Like time() above, for a specific distribution of chunks. `rows`: mean rows per rank.
  double time(double decoding, const ChunkShares& chunks, double rows, double prompt) const {
    double mean = 0;
    for (const auto& [n, of_n] : around(decoding))
      for (const auto& [m, of_m] : chunks) {
        const PassWork w = work(n, m, rows, prompt);
        mean += of_n * of_m * (w.rows() == 0 ? 0 : seconds(times_.pass(w)).value);
      }
    return mean;
  }

  /// Pass time experienced by a decoding sequence, found by bisection between a pass with one sequence and a pass at
  /// full capacity.
  double pass_seen(double rate, double capacity, double places) const {
    const double own = decodes_ > 0 ? 1 : 0;
    const auto others = [&](double n) { return std::min(n, places - 1); };
    const auto n = [&](double t) { return own + others(rate * t * decodes_); };
    const auto excess = [&](double t) { return time(n(t), others(rate * t * chunks(n(t)))) - t; };
    SteadyState most;
    put_most(most);
    double low = 0, high = 2 * most.begun / capacity + time(own, 1);
    while (excess(high) > 0 && high < 1e9) high *= 2;
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      (excess(middle) > 0 ? low : high) = middle;
    }
    return high;
  }

  const SchedulerRules& rules_;
  double ranks_;  ///< number of ranks that step together
  const PassTimes& times_;
  const SteadyLoad& load_;
  double decodes_ = 0;
};

/// A rank whose cache keeps the histories of sessions.
class SessionRank {
 public:
  SessionRank(const EngineRules& engine, const PassTimes& times, const SteadyLoad& load)
      : engine_(engine), times_(times), load_(load) {}

  /// The load if the fraction `kept` of turns find their history in the cache.
  SteadyLoad with(double kept) const {
    SteadyLoad l = load_;
    const SchedulerRules& rules = engine_.scheduler;
    const Count of_prefix = rules.whole_groups > 0 ? shared_blocks(rules, load_.shared) / rules.whole_groups : 0;
    l.cached = static_cast<double>(of_prefix * rules.block_tokens) + kept * load_.sessions.history;
    l.cached = std::min(l.cached, load_.prompt - 1);
    return l;
  }
  /// The fraction of turns that find their history in the cache at this rate: a fixed point, found by iteration from 1
  /// down. Absent if requests in progress fill the cache or the rate exceeds the limits on passes.
  std::optional<double> kept(double rate) const {
    constexpr int steps = 200;
    constexpr double still = 1e-4;
    double share = 1;
    for (int i = 0; i < steps; ++i) {
      const double room = room_at(rate, share);
      if (room <= 0) return std::nullopt;
      const double next = kept_share(engine_.scheduler, load_.sessions, rate, room);
      if (next > share - still) return next;
      share = next;
    }
    return share;
  }
  /// The highest rate at which kept() has a value.
  double most() const {
    double low = 0, high = capacity(1).first;
    for (int i = 0; i < 20; ++i) {
      const double middle = (low + high) / 2;
      (kept(middle) ? low : high) = middle;
    }
    return low;
  }

 private:
  /// Capacity by the limits on a pass: requests per second, and sequences in progress.
  std::pair<double, double> capacity(double kept) const {
    const SteadyLoad l = with(kept);
    const SteadyRank rank(engine_, times_, l);
    SteadyState s;
    rank.put_most(s);
    return {s.begun / rank.pass(s.begun), std::max(1.0, s.begun * rank.passes(s.begun * rank.decodes()))};
  }
  /// Number of blocks available between turns; at most 0 if the cache is full.
  double room_at(double rate, double kept) const {
    const auto [most, places] = capacity(kept);
    if (rate >= most) return 0;
    const SteadyLoad l = with(kept);
    const auto all = static_cast<double>(engine_.scheduler.blocks - shared_blocks(engine_.scheduler, l.shared));
    return all - SteadyRank(engine_, times_, l).held(rate, most, places);
  }

  const EngineRules& engine_;
  const PassTimes& times_;
  const SteadyLoad& load_;
};

/// The load at capacity. For sessions, also the rate per rank and the fraction of turns that find their history in
/// the cache.
struct AtCapacity {
  SteadyLoad load;
  std::optional<double> rate{}, kept{};
};
AtCapacity at_capacity_of(const Fleet& fleet, const PassTimes& times, const SteadyLoad& load) {
  AtCapacity at{.load = load};
  at.load.cached = load.cached_at_capacity.value_or(load.cached);
  if (load.sessions.turns == 1) return at;
  const SessionRank rank(fleet.server, times, load);
  at.rate = rank.most();
  at.kept = rank.kept(*at.rate).value_or(0);
  at.load = rank.with(*at.kept);
  return at;
}

/// Number of requests that begin in a pass at this rate; at most `most`.
double begun_at(const SteadyRank& rank, double rate, double most) {
  double low = 0, high = most;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (middle < rate * rank.pass(middle) ? low : high) = middle;
  }
  return high;
}

}  // namespace

SteadyState steady_state(const Fleet& fleet, const PassTimes& times, const SteadyLoad& load) {
  const AtCapacity most = at_capacity_of(fleet, times, load);
  const SteadyRank rank(fleet.server, times, load), full(fleet.server, times, most.load);
  SteadyState s;
  s.ranks = static_cast<double>(fleet.replicas * fleet.server.ranks);
  full.put_most(s);
  s.kept = most.kept;
  if (most.rate) s.begun = begun_at(full, *most.rate, s.begun);
  if (most.kept && *most.kept < 1 - 1e-3) {  // blocks are the limit, because sessions also hold them between turns
    s.limit = SteadyLimit::blocks;
    s.by_blocks = s.begun;
  }
  s.full_pass = Seconds(full.pass(s.begun));
  s.decodes = rank.decodes();
  const double capacity = s.begun / s.full_pass.value;
  s.capacity = s.ranks * capacity;
  s.load = load.rate / s.capacity;
  s.growth = std::max(0.0, load.rate - s.capacity);
  if (load.sessions.turns > 1 && load.sessions.think == Seconds()) s.above = 0.25;
  if (fleet.server.ranks > 1 && load.variation == 0 && load.prompt_variation == 0) s.below = 0.3;
  return s;
}

}  // namespace llmcalc
