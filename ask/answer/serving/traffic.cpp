#include "ask/answer/serving/traffic.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ask/answer/serving/request_log.hpp"
#include "ask/answer/serving/serving.hpp"
#include "ask/request/request.hpp"
#include "ask/request/server.hpp"
#include "ask/request/serving_inputs.hpp"
#include "text/csv.hpp"
#include "text/error.hpp"
#include "text/json.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {

using Kind = Distribution::Kind;

/// Lengths of prompts and answers.
struct Lengths {
  Distribution prompt, generate;
};

/// Histogram from a column of a length table. A row's bin covers lengths above the previous row's "up_to" tokens, up
/// to and including the row's.
Distribution histogram(const CsvTable& t, std::string_view column) {
  Distribution d{.kind = Kind::histogram};
  const std::size_t end = t.column("up_to"), weight = t.column(column);
  double all = 0;
  for (std::size_t row = 0; row < t.size(); ++row) {
    const double up_to = real(parse_positive(t.text(row, end), t.where(row) + ", \"up_to\""));
    if (!d.bins.empty() && up_to <= d.bins.back().first)
      throw InputError(fmt::format("{}: \"up_to\" {:g} is not above the previous row's {:g}", t.where(row), up_to,
                                   d.bins.back().first));
    d.bins.emplace_back(up_to, parse_real(t.text(row, weight), fmt::format("{}, \"{}\"", t.where(row), column)));
    all += d.bins.back().second;
  }
  if (all <= 0) throw InputError(fmt::format("{}: all weights of \"{}\" are 0", t.where(), column));
  return d;
}

/// A table of lengths: up_to,prompts,answers.
Lengths read_length_table(const std::string& path) {
  const CsvTable t(json::file_text(path, "a length table: up_to,prompts,answers"), path);
  return {histogram(t, "prompts"), histogram(t, "answers")};
}

Distribution length(const ServingInputs& v, Count mean) {
  const Kind kind = v.length_variation > 0 ? Kind::log_normal : Kind::constant;
  return {.kind = kind, .mean = real(mean), .spread = v.length_variation};
}

Lengths lengths_of(const Request& r) {
  const ServingInputs& v = r.serving;
  if (!v.lengths.empty()) return read_length_table(v.lengths);
  return {length(v, r.plan.prompt), length(v, r.plan.generate)};
}

/// Distribution of the times between arrivals of sessions with several turns.
Distribution interval(const ServingInputs& v) {
  const double mean = real(v.turns) / *v.rate;
  if (v.arrival_variation == 1) return {.kind = Kind::exponential, .mean = mean};
  if (v.arrival_variation == 0) return {.mean = mean};
  return {.kind = Kind::gamma, .mean = mean, .spread = v.arrival_variation};
}

/// Work of a pass in which n sequences decode the token at position `context`.
PassWork decode_work(Count n, Count context, const Reach& reach) {
  PassWork w{.decoding = n, .decoded = n, .sampled = n};
  w.decodes = {n * chunk_work(context - 1, 1, {}), n * chunk_work(context - 1, 1, reach)};
  return w;
}

/// Work of a pass with a single prompt.
PassWork prompt_work(Count tokens, const Reach& reach) {
  PassWork w{.prompt_tokens = tokens, .chunks = 1, .sampled = 1};
  w.prompts = {chunk_work(0, tokens, {}), chunk_work(0, tokens, reach)};
  return w;
}

/// Seconds that a request takes while n are in progress: its decode steps, plus one prefill for each of the n.
double request_time(const Request& r, const ServingEngine& e, Count n) {
  const Plan& p = r.plan;
  const Seconds step = seconds(e.times.pass(decode_work(n, p.prompt + p.generate / 2, e.times.reach))),
                prompt = seconds(e.times.pass(prompt_work(p.prompt, e.times.reach)));
  return real(p.generate) * step.value + real(n) * prompt.value;
}

/// Enough requests to estimate the 99.9th percentile and to make the initial state negligible.
Count simulated_requests(const Request& r, const ServingEngine& e) {
  constexpr Count usual = 10'000, most = 1'000'000, rounds = 20, benchmark_rounds = 10;
  const ServingInputs& v = r.serving;
  if (v.requests) return *v.requests;
  if (v.duration) return std::max<Count>(1, static_cast<Count>(std::min(v.duration->value * *v.rate, 1e9)));
  if (v.users && v.start == ClientStart::together) return mul(benchmark_rounds, *v.users);
  const double in_progress = v.users ? real(*v.users) : *v.rate * request_time(r, e, 1);
  return std::clamp(static_cast<Count>(std::min(real(rounds) * in_progress, real(most))), usual, most);
}

/// Starts users in steady state, evenly spread over a cycle of think time Z and request time R. A user with a request
/// in progress thinks after it ends; a thinking user draws a full think time, since the exponential distribution is
/// memoryless. Requests therefore arrive at users / (Z + R) from the start. Without think time, users start one after
/// another.
void spread_users(RequestTraffic& t, const Request& r, const ServingEngine& e) {
  const Count users = *r.serving.users, each = ceil_div(users, mul(serving_engines(r), e.rules.ranks));
  const double think = r.serving.think.value, all = request_time(r, e, std::min(each, e.limits.sequences)) + think;
  spread_starts(t, Seconds(all), think > 0 ? 0.5 : 0);
  if (think == 0) return;
  Random random(
      ~static_cast<std::uint64_t>(r.serving.seed));  // independent of the random numbers that draw the lengths
  std::vector<Seconds> at;
  for (std::size_t i = 0; i < std::min(t.requests.size(), static_cast<std::size_t>(users)); ++i)
    at.emplace_back(std::max(0.0, t.requests.at(i).value - think) + think * exponential(random));
  std::sort(at.begin(), at.end());
  for (std::size_t i = 0; i < at.size(); ++i) t.requests.set_at(i, at[i]);
}

void start_users(RequestTraffic& t, const Request& r, const ServingEngine& e) {
  t.start = r.serving.start;
  if (t.start == ClientStart::spread) return spread_users(t, r, e);
  if (r.engine) hold_first_wave(t, first_wave_seconds(inference_estimator().parameters, *r.engine->inference));
}

RequestTraffic drawn_traffic(const Request& r, const ServingEngine& e, const std::function<bool()>& goes_on) {
  const ServingInputs& v = r.serving;
  const Lengths of = lengths_of(r);
  const Distribution think{.kind = Kind::exponential, .mean = v.think.value};
  const Count n = simulated_requests(r, e);
  if (v.users) {
    RequestTraffic t = closed_traffic({.users = *v.users,
                                       .count = n,
                                       .prompt = of.prompt,
                                       .generate = of.generate,
                                       .think = think,
                                       .prefix_tokens = v.shared_prefix,
                                       .seed = static_cast<std::uint64_t>(v.seed),
                                       .goes_on = goes_on});
    start_users(t, r, e);
    return t;
  }
  return open_traffic({.count = ceil_div(n, v.turns),
                       .interval = interval(v),
                       .prompt = of.prompt,
                       .generate = of.generate,
                       .turns = v.turns,
                       .think = think,
                       .prefix_tokens = v.shared_prefix,
                       .seed = static_cast<std::uint64_t>(v.seed),
                       .goes_on = goes_on});
}

/// Truncates requests longer than the engine's limit: the prompt, and the answer too if that does not suffice.
Count cut_to(Count most, RequestList& requests) {
  Count cut = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (add(requests.prompt(i), requests.generate(i)) <= most) continue;
    ServerRequest q = requests[i];
    q.generate = std::min(q.generate, most - 1);
    q.prompt = most - q.generate;
    q.prefix_tokens = std::min(q.prefix_tokens, q.prompt);
    requests.set(i, q);
    ++cut;
  }
  return cut;
}

/// Drops all but the first requests, so that a stopped run ends within a second. The rest is not needed, because a
/// request waits only for earlier ones.
void keep_first(RequestList& requests) { requests.keep_first(65536); }

void refuse_long(const RequestLog& log, const Request& r, Count most) {
  for (std::size_t i = 0; i < log.requests.size(); ++i) {
    const Count prompt = log.requests.prompt(i), generate = log.requests.generate(i);
    if (add(prompt, generate) <= most) continue;
    const bool by_model = most == r.model.arch.context;
    throw InputError(fmt::format("{}, line {}: prompt and answer have {} tokens, but {} {}", r.serving.log,
                                 log.lines[i], prompt + generate,
                                 by_model ? r.model.name + " supports at most" : "the KV cache fits at most", most));
  }
}

}  // namespace

ServingTraffic serving_traffic(const Request& r, const ServingEngine& e, const std::function<bool()>& goes_on) {
  const Count most = std::min(r.model.arch.context, e.longest);
  if (r.serving.log.empty()) {
    ServingTraffic t;
    t.requests = drawn_traffic(r, e, goes_on);
    t.stopped = goes_on && !goes_on();
    if (t.stopped) keep_first(t.requests.requests);
    t.cut = cut_to(most, t.requests.requests);
    return t;
  }
  RequestLog log = read_request_log_file(r.serving.log);
  refuse_long(log, r, most);
  return {.requests = {.requests = std::move(log.requests)}, .unused = std::move(log.unused), .failed = log.failed};
}

}  // namespace llmcalc
