#include "serve/served.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "serve/sort_times.hpp"

namespace llmcalc {
void TokenGaps::add(Ticks gap, Count tokens) {
  Bin& bin = bins_[GapBins::all().of(seconds(gap).value)];
  bin.gaps += tokens;
  bin.sum += gap * tokens;
  size_ += tokens;
  sum_ += gap * tokens;
}

/// Adds the passes bin by bin.
void TokenGaps::add(Ticks first, Ticks last, Ticks all, Count n, Count tokens) {
  if (n == 0) return;
  const GapBins& all_bins = GapBins::all();
  const double from = seconds(first).value, to = seconds(last).value;
  const double step = n > 1 ? (to - from) / static_cast<double>(n - 1) : 0;
  const Ticks slope = n > 1 ? (last - first) / (n - 1) : 0;
  size_ += n * tokens;
  sum_ += all * tokens;
  for (Count i = 0; i < n;) {
    const std::size_t bin = all_bins.of(from + step * static_cast<double>(i));
    const double until = step > 0 ? (all_bins.end(bin) - from) / step : static_cast<double>(n);
    const Count end = until < static_cast<double>(n) ? std::max(i + 1, static_cast<Count>(until) + 1) : n;
    const Ticks passes = end - i,
                steps = passes * (i + end - 1) / 2;  // passes i to end - 1; sum of their indices
    bins_[bin].gaps += (end - i) * tokens;
    bins_[bin].sum += tokens * (passes * first + slope * steps);
    i = end;
  }
}

void TokenGaps::add(const TokenGaps& other) {
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    bins_[i].gaps += other.bins_[i].gaps;
    bins_[i].sum += other.bins_[i].sum;
  }
  size_ += other.size_;
  sum_ += other.sum_;
}

Seconds TokenGaps::mean() const { return size_ > 0 ? (1 / static_cast<double>(size_)) * seconds(sum_) : Seconds(); }

Seconds TokenGaps::percentile(double percent) const {
  const auto rank = static_cast<Count>(std::ceil(percent / 100 * static_cast<double>(size_)));
  Count below = 0;
  for (const Bin& bin : bins_) {
    below += bin.gaps;
    if (bin.gaps > 0 && below >= rank) return seconds(bin.sum / bin.gaps);
  }
  return {};
}

/// Adds the fraction `share` of a stretch to sample i.
void ServerTimeline::add(const Stretch& s, std::size_t i, double share) {
  Sample& sum = sums_[i];
  const double time = share * seconds(s.end - s.start).value;
  sum.in_progress += time * static_cast<double>(s.in_progress);
  sum.waiting += time * static_cast<double>(s.waiting);
  sum.blocks_used += time * static_cast<double>(s.blocks_used);
  sum.busy += time * static_cast<double>(s.busy);
  sum.prompt_tokens += share * static_cast<double>(s.prompt_tokens);
  sum.tokens += share * static_cast<double>(s.tokens);
}

/// Index of the sample that contains a time.
std::size_t ServerTimeline::sample_at(Ticks t) {
  while (t < static_cast<Ticks>(near_) * width_) --near_;
  while (t >= static_cast<Ticks>(near_ + 1) * width_) ++near_;
  return near_;
}

void ServerTimeline::add(const Stretch& s) {
  if (s.end <= s.start) return;
  end_ = std::max(end_, s.end);
  while (s.end > static_cast<Ticks>(most) * width_) widen();
  std::size_t i = sample_at(s.start);
  for (Ticks from = s.start; from < s.end; ++i) {
    const Ticks to = std::min(s.end, static_cast<Ticks>(i + 1) * width_);
    if (i >= sums_.size()) sums_.resize(i + 1);
    add(s, i, static_cast<double>(to - from) / static_cast<double>(s.end - s.start));
    from = to;
  }
}

void ServerTimeline::widen() {
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    if (i % 2 == 0) {
      sums_[i / 2] = sums_[i];
      continue;
    }
    Sample& sum = sums_[i / 2];
    sum.in_progress += sums_[i].in_progress;
    sum.waiting += sums_[i].waiting;
    sum.blocks_used += sums_[i].blocks_used;
    sum.busy += sums_[i].busy;
    sum.prompt_tokens += sums_[i].prompt_tokens;
    sum.tokens += sums_[i].tokens;
  }
  sums_.resize((sums_.size() + 1) / 2);
  near_ /= 2;
  width_ *= 2;
}

std::vector<Sample> ServerTimeline::samples() const {
  std::vector<Sample> all = sums_;
  const Seconds width = seconds(width_);
  for (std::size_t i = 0; i < all.size(); ++i) {
    Sample& s = all[i];
    s.start = static_cast<double>(i) * width;
    s.length = std::min(width, seconds(end_ - static_cast<Ticks>(i) * width_));
    for (double* x : {&s.in_progress, &s.waiting, &s.blocks_used, &s.busy}) *x /= s.length.value;
  }
  return all;
}

double integral(std::span<const Sample> samples, Seconds from, Seconds to, double Sample::*of) {
  double sum = 0;
  for (const Sample& s : samples) {
    const Seconds within = std::min(to, s.start + s.length) - std::max(from, s.start);
    sum += std::max(0.0, within.value) * s.*of;
  }
  return sum;
}

Seconds percentile(std::span<const Seconds> values, double percent) {
  const double at = percent / 100 * static_cast<double>(values.size() - 1);
  const auto i = static_cast<std::size_t>(at);
  if (i + 1 >= values.size()) return values.back();
  const double part = at - static_cast<double>(i);
  return (1 - part) * values[i] + part * values[i + 1];
}

Spread spread(std::vector<Seconds> values) {
  if (values.empty()) return {};
  sort_times(values);
  Seconds sum;
  for (const Seconds v : values) sum += v;
  const auto at = [&](double percent) { return percentile(values, percent); };
  return {(1 / static_cast<double>(values.size())) * sum, at(50), at(90), at(95), at(99), at(99.9)};
}

namespace {

Spread spread_of(const TokenGaps& g) {
  return {g.mean(), g.percentile(50), g.percentile(90), g.percentile(95), g.percentile(99), g.percentile(99.9)};
}

Seconds until_first(const AnswerTimes& a) { return seconds(a.first - a.sent); }
/// Time per token after the first; 0 if the answer has only one token.
Seconds per_token(const AnswerTimes& a, Count generate) {
  const Count further = generate - 1;
  return further > 0 ? (1 / static_cast<double>(further)) * seconds(a.last - a.first) : Seconds();
}

/// The spread of a time over all answers that have it; `time` returns it, or nullopt.
template <typename Time>
Spread spread_of(const AnswerList& answers, const Time& time) {
  std::vector<Seconds> all;
  all.reserve(answers.size());
  for (std::size_t i = 0; i < answers.size(); ++i)
    if (const std::optional<Seconds> t = time(i)) all.push_back(*t);
  return spread(std::move(all));
}

/// Sets the spreads of latencies, one after another, so that only one list of times is in memory.
void add_latencies(Served& s, const ServerRun& run, const RequestList& requests) {
  const AnswerList& all = run.answers;
  const auto is_answered = [&](std::size_t i) { return all.last(i) != never; };
  const auto since_sent = [&](std::size_t i, Ticks t) { return seconds(t - all.sent(i)); };
  using Time = std::optional<Seconds>;
  s.first_token =
      spread_of(all, [&](std::size_t i) { return is_answered(i) ? Time(since_sent(i, all.first(i))) : Time(); });
  s.latency = spread_of(all, [&](std::size_t i) { return is_answered(i) ? Time(since_sent(i, all.last(i))) : Time(); });
  s.per_token = spread_of(all, [&](std::size_t i) {
    return is_answered(i) && requests.generate(i) > 1 ? Time(per_token(all[i], requests.generate(i))) : Time();
  });
}

}  // namespace

bool meets(const Slo& slo, const AnswerTimes& answer, Count generate) {
  constexpr Slo none;
  return (slo.first_token >= none.first_token || until_first(answer) <= slo.first_token) &&
         (slo.per_token >= none.per_token || per_token(answer, generate) <= slo.per_token);
}

namespace {

/// The interval (from, to] of a run.
struct RunWindow {
  Ticks from = 0, to = 0;
};

/// The interval from the first arrival to the last token.
RunWindow whole(const ServerRun& run) {
  RunWindow all{never, run.end};
  for (std::size_t i = 0; i < run.answers.size(); ++i)
    if (run.answers.last(i) != never) all.from = std::min(all.from, run.answers.sent(i));
  return all;
}

/// The interval from the n-th answer, where n is the number of users, to the last answer after which a user sent
/// another request. Empty if there are fewer than n answers.
RunWindow while_all_ask(const ServerRun& run, const RequestTraffic& traffic) {
  std::vector<Ticks> ends;
  Ticks last = 0;
  for (std::size_t i = 0; i < traffic.requests.size(); ++i) {
    const AnswerTimes a = run.answers[i];
    if (a.last != never) ends.push_back(a.last);
    if (a.sent != never) last = std::max(last, a.sent - ticks(traffic.requests.at(i)));
  }
  const auto users = static_cast<std::size_t>(traffic.users);
  if (ends.size() < users) return {};
  const auto nth = ends.begin() + static_cast<std::ptrdiff_t>(users - 1);
  std::nth_element(ends.begin(), nth, ends.end());
  return {*nth, last};
}

CountedAnswers counted(const ServerRun& run, const RequestList& requests, const Slo& slo, RunWindow s) {
  CountedAnswers c{.begin = seconds(s.from), .time = seconds(s.to - s.from)};
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const AnswerTimes a = run.answers[i];
    if (a.last == never || a.last <= s.from || a.last > s.to) continue;
    const Count tokens = requests.generate(i);
    ++c.requests;
    c.prompt_tokens += requests.prompt(i);
    c.tokens += tokens;
    c.met += meets(slo, a, tokens) ? 1 : 0;
  }
  return c;
}

/// The answers from which rates are computed. `answered`: number of answered requests, at least one.
CountedAnswers counted(const ServerRun& run, const RequestTraffic& traffic, const Slo& slo, Count answered) {
  if (traffic.users > 0 && traffic.start == ClientStart::spread) {
    const RunWindow s = while_all_ask(run, traffic);
    CountedAnswers some = counted(run, traffic.requests, slo, s);
    some.busy = Seconds(integral(run.timeline.samples(), seconds(s.from), seconds(s.to), &Sample::busy));
    if (2 * some.requests >= answered) return some;
  }
  CountedAnswers all = counted(run, traffic.requests, slo, whole(run));
  all.busy = seconds(run.busy);
  return all;
}

/// Sets the rates from the counted answers.
void add_rates(Served& s, Count replicas) {
  const CountedAnswers& c = s.counted;
  const double rate = 1 / c.time.value;
  s.prompt_rate = rate * static_cast<double>(c.prompt_tokens);
  s.token_rate = rate * static_cast<double>(c.tokens);
  s.request_rate = rate * static_cast<double>(c.requests);
  s.goodput = rate * static_cast<double>(c.met);
  s.utilization = c.busy / c.time / static_cast<double>(replicas);
}

}  // namespace

Served served(const ServerRun& run, const RequestTraffic& traffic, Count replicas, const Slo& slo) {
  const RequestList& requests = traffic.requests;
  Served s;
  Count prompts = 0, met = 0, cached = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const AnswerTimes a = run.answers[i];
    if (a.last == never) continue;
    const Count tokens = requests.generate(i);
    s.continued += tokens > 1 ? 1 : 0;
    met += meets(slo, a, tokens) ? 1 : 0;
    prompts += requests.prompt(i);
    cached += a.cached;
    s.preemptions += a.preemptions;
    ++s.requests;
  }
  if (s.requests == 0) return s;
  const RunWindow all = whole(run);
  s.duration = seconds(all.to - all.from);
  add_latencies(s, run, requests);
  s.gap = spread_of(run.gaps);
  s.counted = counted(run, traffic, slo, s.requests);
  add_rates(s, replicas);
  s.met = static_cast<double>(met) / static_cast<double>(s.requests);
  s.cached = static_cast<double>(cached) / static_cast<double>(prompts);
  return s;
}

}  // namespace llmcalc
