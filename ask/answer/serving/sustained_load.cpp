#include "ask/answer/serving/sustained_load.hpp"

#include <algorithm>
#include <cmath>

#include "ask/answer/serving/run.hpp"
#include "ask/answer/serving/traffic.hpp"
#include "ask/request/request.hpp"
#include "calc/elementary.hpp"

namespace llmcalc {
namespace {

constexpr Count most_of_a_trial = 100'000;  ///< maximum number of requests; more do not make a percentile more precise

/// Whether enough requests meet the limits when the whole server runs under a load.
bool is_saved(const Request& r, const ServingEngine& e, double load) {
  Request one = with_load(r, load);
  if (one.serving.requests) one.serving.requests = std::min(*one.serving.requests, most_of_a_trial);
  ServingTraffic traffic = serving_traffic(one, e);
  traffic.requests.requests.keep_first(static_cast<std::size_t>(most_of_a_trial));
  return !run_within_slo(one, e, traffic).stopped;
}

/// A load rounded down for display.
double shown_load(const Request& r, double load) { return r.serving.users ? std::floor(load) : shown_rate(load); }

}  // namespace

Request with_load(Request r, double load) {
  if (r.serving.users)
    r.serving.users = std::max<Count>(1, std::llround(load));
  else
    r.serving.rate = load;
  return r;
}

double load_of(const Request& r) { return r.serving.users ? real(*r.serving.users) : *r.serving.rate; }

bool keeps_slo(const Request& r, const Served& s) { return s.requests > 0 && 100 * s.met >= r.serving.percentile; }

ServerRun run_within_slo(const Request& r, const ServingEngine& e, const ServingTraffic& traffic,
                         const GoesOn& goes_on) {
  const RequestList& all = traffic.requests.requests;
  const Slo slo = slo_of(r);
  double met = real(static_cast<Count>(all.size()));
  const auto note = [&](RequestId id, const AnswerTimes& a) {
    if (!meets(slo, a, all.generate(id))) --met;
    return 100 * (met / real(static_cast<Count>(all.size()))) >= r.serving.percentile;
  };
  return plain_run(r, e, traffic, {.goes_on = goes_on, .answered = note});
}

double shown_rate(double rate) {
  const double steps = rate < 100 ? elementary::pow(10, 2 - std::floor(elementary::log10(rate))) : 1;
  return std::floor(rate * steps * (1 + 1e-12)) / steps;
}

double most_sustained_load(const Request& r, const ServingEngine& e, double capacity) {
  constexpr double step = 1.01, least = 1.0 / 256;
  const double most = r.serving.users ? load_of(r) : std::min(load_of(r), capacity);
  double low = shown_load(r, most), high = load_of(r);
  for (; low > 0 && !is_saved(r, e, low); low = shown_load(r, low / 2)) {
    if (low < least * most) return 0;
    high = low;
  }
  high = std::min(high, most);
  while (low > 0 && high > step * low) {
    const double middle = shown_load(r, std::sqrt(low * high));
    if (middle <= low || middle >= high) break;
    (is_saved(r, e, middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace llmcalc
