#include "serve/steady_state.hpp"

#include <algorithm>
#include <cmath>

namespace llmcalc {
namespace {

Count nearest(double x) { return static_cast<Count>(std::floor(x + 0.5)); }

/// One rank of one replica under a load.
class SteadyRank {
 public:
  SteadyRank(const EngineRules& engine, const PassTimes& times, const SteadyLoad& load)
      : rules_(engine.scheduler), ranks_(static_cast<double>(engine.ranks)), times_(times), load_(load) {
    const double most = static_cast<double>(rules_.chunk_tokens > 0 ? std::min(rules_.chunk_tokens, rules_.pass_tokens)
                                                                    : rules_.pass_tokens);
    chunk_ = std::min(new_tokens(), most);
    decodes_ = (load.generate - 1) / expected_tokens(rules_.speculation);
  }

  double chunks() const { return new_tokens() / chunk_; }
  /// Passes of a request.
  double passes() const { return chunks() + decodes_; }
  double decodes() const { return decodes_; }
  /// Fills in the most requests that begin in a pass on average, and what limits them.
  void put_most(SteadyState& s) const {
    const double rows = new_tokens() + decodes_ * static_cast<double>(1 + rules_.speculation.length);
    s.by_tokens = static_cast<double>(rules_.pass_tokens) / rows;
    s.by_sequences = static_cast<double>(rules_.sequences) / passes();
    s.by_blocks = static_cast<double>(rules_.blocks) / block_passes();
    s.limit = s.by_tokens <= std::min(s.by_sequences, s.by_blocks) ? SteadyLimit::tokens
              : s.by_sequences <= s.by_blocks                      ? SteadyLimit::sequences
                                                                   : SteadyLimit::blocks;
    s.begun = std::min({s.by_tokens, s.by_sequences, s.by_blocks});
  }
  /// Seconds of a pass in which k requests begin and as many end; one sequence at a time has passes of its prompt or of
  /// its answer.
  double pass(double k) const {
    if (rules_.sequences > 1) return time(k * decodes_, k * chunks()).mean;
    return (decodes_ * time(1, 0).mean + chunks() * time(0, 1).mean) / passes();
  }

  SteadyTimes at(double rate, double capacity, double places) const {
    SteadyTimes t;
    const double pass = pass_seen(rate, capacity, places), others = rate * pass * decodes_;
    const double n = std::min(others + (decodes_ > 0 ? 1 : 0), places - 1);
    const double others_chunks = std::min(rate * pass * chunks(), places - 1);
    const double own = chunks() * time(n, std::min(1 + others_chunks, most_chunks(n)), others_chunks + 1 / ranks_).mean;
    t.busy = places > 1 ? 1 - std::exp(-rate * (own + decodes_ * pass)) : 0;
    t.rest = Seconds(rest(rate, pass, n));
    t.prompt = Seconds(own);
    t.pass = Seconds(pass);
    t.wait = Seconds(queue(rate / capacity, places, places / capacity)) + t.busy * t.rest;
    t.first_token = t.wait + t.prompt;
    t.per_token = Seconds(decodes_ > 0 ? decodes_ * pass / (load_.generate - 1) : 0);
    t.latency = t.first_token + Seconds(decodes_ * pass);
    t.decoding = others;
    return t;
  }

 private:
  struct Moments {
    double mean, square;
  };
  double new_tokens() const { return std::max(1.0, load_.prompt - load_.cached); }
  /// Blocks of a request in all of its passes: of the prompt, then of half the answer too.
  double block_passes() const {
    const auto held = [&](double tokens) {
      return static_cast<double>(blocks_of(rules_, times_.reach, nearest(tokens)));
    };
    return chunks() * held(load_.prompt) + decodes_ * held(load_.prompt + load_.generate / 2);
  }
  double most_chunks(double decoding) const {
    const double room =
        static_cast<double>(rules_.pass_tokens) - decoding * static_cast<double>(1 + rules_.speculation.length);
    return std::max(1.0, room / chunk_);
  }

  PassWork work(Count decoding, Count chunks, double mean_rows) const {
    const Count tokens = nearest(chunk_), passes = std::max<Count>(1, nearest(this->chunks()));
    const Count context = nearest(load_.prompt + load_.generate / 2), past = nearest(load_.cached);
    PassWork w;
    if (ranks_ > 1) w.expert_rows = std::max<Count>(1, nearest(mean_rows));
    w.chunks = chunks;
    w.prompt_tokens = chunks * tokens;
    w.decoding = decoding;
    w.decoded = decoding * (1 + rules_.speculation.length);
    w.sampled = w.decoded + chunks / passes;
    w.drafting = rules_.speculation.on() ? decoding : 0;
    for (std::size_t i = 0; i < reach_kinds; ++i) {
      const Reach reach = i == 0 ? Reach() : times_.reach;
      if (i == 1 && !reach.limited()) break;
      CoreWork whole;
      for (Count c = 0; c < passes; ++c) whole += chunk_work(past + c * tokens, tokens, reach);
      w.prompts[i] = {chunks * tokens, chunks * whole.keys / passes, chunks * whole.pairs / passes};
      w.decodes[i] = decoding * chunk_work(context - 1, 1 + rules_.speculation.length, reach);
    }
    return w;
  }

  /// The same of a pass of ranks that step together, each with `chunks` in the mean: they wait for one that has a
  /// chunk.
  Moments time(double decoding, double chunks) const {
    const double any = ranks_ > 1 ? 1 - std::exp(-ranks_ * chunks) : 0;
    return time(decoding, std::max(chunks, any), chunks);
  }
  /// Seconds of a pass and their square, where numbers lie between two integers and are one or the other; `mean`:
  /// chunks of a rank in the mean.
  Moments time(double decoding, double chunks, double mean) const {
    const double n = std::floor(decoding), m = std::floor(chunks);
    const double rows = decoding * static_cast<double>(1 + rules_.speculation.length) + mean * chunk_;
    Moments sum{0, 0};
    for (const bool more_n : {false, true}) {
      for (const bool more_m : {false, true}) {
        const double share = (more_n ? decoding - n : 1 - (decoding - n)) * (more_m ? chunks - m : 1 - (chunks - m));
        if (share == 0) continue;
        const PassWork w =
            work(static_cast<Count>(n) + (more_n ? 1 : 0), static_cast<Count>(m) + (more_m ? 1 : 0), rows);
        const double s = w.rows() == 0 ? 0 : seconds(times_.pass(w)).value;
        sum.mean += share * s;
        sum.square += share * s * s;
      }
    }
    return sum;
  }

  /// The pass that a decoding sequence sees: bisected between a pass of itself alone and one of full capacity.
  double pass_seen(double rate, double capacity, double places) const {
    const double own = decodes_ > 0 ? 1 : 0;
    const auto others = [&](double n) { return std::min(n, places - 1); };
    const auto excess = [&](double t) {
      return time(own + others(rate * t * decodes_), others(rate * t * chunks())).mean - t;
    };
    SteadyState most;
    put_most(most);
    double low = 0, high = 2 * most.begun / capacity + time(own, 1).mean;
    while (excess(high) > 0 && high < 1e9) high *= 2;
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      (excess(middle) > 0 ? low : high) = middle;
    }
    return high;
  }

  /// The mean rest of a pass at a random moment.
  double rest(double rate, double pass, double decoding) const {
    const Moments m = time(decoding, rate * pass * chunks());
    return m.mean > 0 ? m.square / (2 * m.mean) : 0;
  }

  double queue(double load, double places, double in_progress) const {
    const double exponent = std::sqrt(2 * (places + 1)) - 1;
    return (load_.arrivals + load_.variation) / 2 * std::pow(load, exponent) / (1 - load) * in_progress / places;
  }

  const SchedulerRules& rules_;
  double ranks_;  ///< that step together
  const PassTimes& times_;
  const SteadyLoad& load_;
  double chunk_ = 1, decodes_ = 0;
};

}  // namespace

SteadyState steady_state(const Fleet& fleet, const PassTimes& times, const SteadyLoad& load) {
  const SteadyRank rank(fleet.server, times, load);
  SteadyState s;
  s.ranks = static_cast<double>(fleet.replicas * fleet.server.ranks);
  rank.put_most(s);
  s.full_pass = Seconds(rank.pass(s.begun));
  s.decodes = rank.decodes();
  const double capacity = s.begun / s.full_pass.value;
  s.capacity = s.ranks * capacity;
  s.most_in_progress = s.begun * rank.passes();
  s.load = load.rate / s.capacity;
  s.growth = std::max(0.0, load.rate - s.capacity);
  if (s.load >= 1) return s;
  s.times = rank.at(load.rate / s.ranks, capacity, std::max(1.0, s.most_in_progress));
  const Seconds besides = seconds(times.request);
  s.times->first_token += besides;
  s.times->latency += besides;
  return s;
}

double closed_rate(const Fleet& fleet, const PassTimes& times, SteadyLoad load, Count users, Seconds think) {
  double low = 0, high = steady_state(fleet, times, load).capacity;
  for (int i = 0; i < 60; ++i) {
    load.rate = (low + high) / 2;
    const SteadyState s = steady_state(fleet, times, load);
    const bool fewer = s.times && load.rate * (s.times->latency + think).value < static_cast<double>(users);
    (fewer ? low : high) = load.rate;
  }
  return low;
}

}  // namespace llmcalc
