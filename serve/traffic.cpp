#include "serve/traffic.hpp"

#include <algorithm>
#include <cmath>

#include "calc/elementary.hpp"

namespace llmcalc {
namespace {

double drawn_bin(const Distribution& d, Random& random) {
  double all = 0;
  for (const auto& bin : d.bins) all += bin.second;
  double at = random.uniform() * all, from = 0;
  for (const auto& [to, weight] : d.bins) {
    if (at < weight) return from + (to - from) * at / weight;
    at -= weight;
    from = to;
  }
  return d.bins.back().first;
}

Count drawn_length(const Distribution& d, Random& random) {
  return std::max<Count>(1, static_cast<Count>(std::floor(draw(d, random) + 0.5)));
}

/// Draws a request whose prompt begins with the shared prefix.
ServerRequest drawn_request(const Distribution& prompt, const Distribution& generate, Count prefix, Random& random) {
  ServerRequest r;
  r.prompt = prefix + drawn_length(prompt, random);
  r.generate = drawn_length(generate, random);
  if (prefix > 0) {
    r.prefix = 0;
    r.prefix_tokens = prefix;
  }
  return r;
}

/// Calls `asked` before every 65536th request, but not before the first, because traffic has at least one request.
bool goes_on(const std::function<bool()>& asked, Count i) { return !asked || i == 0 || i % 65536 != 0 || asked(); }

/// Number of requests to prepare for; limited, because drawing may stop.
std::size_t expected(Count requests) { return static_cast<std::size_t>(std::min<Count>(requests, 1 << 24)); }

}  // namespace

double draw(const Distribution& d, Random& random) {
  switch (d.kind) {
    case Distribution::Kind::constant:
      return d.mean;
    case Distribution::Kind::exponential:
      return d.mean * exponential(random);
    case Distribution::Kind::gamma:
      return d.spread > 0 ? d.mean * gamma(random, 1 / (d.spread * d.spread)) : d.mean;
    case Distribution::Kind::log_normal:
      return d.mean * log_normal(random, std::sqrt(elementary::log(1 + d.spread * d.spread)));
    case Distribution::Kind::uniform:
      return d.mean * (1 + d.spread * (2 * random.uniform() - 1));
    case Distribution::Kind::histogram:
      return drawn_bin(d, random);
  }
  return d.mean;
}

double mean(const Distribution& d) {
  if (d.kind != Distribution::Kind::histogram) return d.mean;
  double all = 0, sum = 0, from = 0;
  for (const auto& [to, weight] : d.bins) {
    all += weight;
    sum += weight * (from + to) / 2;
    from = to;
  }
  return sum / all;
}

void spread_starts(RequestTraffic& t, Seconds cycle, double offset) {
  const std::size_t n = std::min(t.requests.size(), static_cast<std::size_t>(t.users));
  for (std::size_t i = 0; i < n; ++i)
    t.requests.set_at(i, Seconds(cycle.value * (static_cast<double>(i) + offset) / static_cast<double>(t.users)));
}

void hold_first_wave(RequestTraffic& t, Seconds delay) {
  if (t.users > 1 && t.start == ClientStart::together) t.held = ticks(delay);
}

RequestTraffic open_traffic(const OpenTraffic& t) {
  Random random(t.seed);
  RequestTraffic all;
  all.requests.reserve(expected(mul(t.count, t.turns)));
  double now = 0;
  for (Count i = 0; i < t.count && goes_on(t.goes_on, i); ++i) {
    now += draw(t.interval, random);
    Count before = 0;
    for (Count turn = 0; turn < t.turns; ++turn) {
      ServerRequest r = drawn_request(t.prompt, t.generate, t.prefix_tokens, random);
      if (turn > 0) r.prompt = before + r.prompt - t.prefix_tokens;
      before = r.prompt + r.generate;
      r.at = Seconds(turn == 0 ? now : draw(t.think, random));
      if (turn > 0) r.after = static_cast<RequestId>(all.requests.size() - 1);
      if (t.turns > 1) r.session = static_cast<ChainId>(i);
      all.requests.push_back(r);
    }
  }
  return all;
}

RequestTraffic closed_traffic(const ClosedTraffic& t) {
  Random random(t.seed);
  RequestTraffic all{.requests = {}, .users = t.users};
  all.requests.reserve(expected(t.count));
  for (Count i = 0; i < t.count && goes_on(t.goes_on, i); ++i) {
    ServerRequest r = drawn_request(t.prompt, t.generate, t.prefix_tokens, random);
    r.at = Seconds(i < t.users ? 0 : draw(t.think, random));
    all.requests.push_back(r);
  }
  return all;
}

}  // namespace llmcalc
