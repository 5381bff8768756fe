// The long run of a server by queueing theory.

#include <algorithm>
#include <cmath>

#include "report/sections.hpp"
#include "report/serving_report.hpp"
#include "report/serving_values.hpp"

namespace llmcalc {
namespace {

double mean_of(const std::vector<ServerRequest>& all, Count ServerRequest::*tokens) {
  double sum = 0;
  for (const ServerRequest& r : all) sum += real(r.*tokens);
  return sum / static_cast<double>(all.size());
}

/// Variance over squared mean.
template <class Value>
double variation_of(const std::vector<ServerRequest>& all, const Value& value) {
  double sum = 0, squares = 0;
  for (const ServerRequest& r : all) {
    const double x = real(value(r));
    sum += x;
    squares += x * x;
  }
  const double n = static_cast<double>(all.size());
  return sum > 0 ? std::max(0.0, squares * n / (sum * sum) - 1) : 0;
}

/// Tokens with which all prompts begin.
Count shared_by_all(const std::vector<ServerRequest>& all) {
  Count tokens = all.front().prefix_tokens;
  for (const ServerRequest& r : all) {
    if (r.prefix == no_chain || r.prefix != all.front().prefix) return 0;
    tokens = std::min(tokens, r.prefix_tokens);
  }
  return tokens;
}

/// Of what prompts add to their prefixes. What a session adds to what was said before is not known: it counts as even.
double prompt_variation_of(const std::vector<ServerRequest>& all) {
  if (has_sessions(all)) return 0;
  return variation_of(all, [](const ServerRequest& r) { return r.prompt - r.prefix_tokens; });
}

/// Requests per second of a log.
double rate_of(const std::vector<ServerRequest>& log) {
  const double span = log.back().at.value - log.front().at.value;
  return span > 0 ? static_cast<double>(log.size() - 1) / span : 0;
}

/// Whether a turn comes to the cache that its session's last one left, and the traffic is no log.
bool finds_its_cache(const ServingInputs& v, const Fleet& fleet) {
  const bool one = fleet.replicas == 1 || fleet.routing == Routing::prefix_aware;
  return v.turns > 1 && one && fleet.server.ranks == 1 && fleet.server.scheduler.prefix_cache;
}

/// A prompt is the shared prefix, what was said before, and what is new.
Sessions sessions_of(const Request& r, const SteadyLoad& load) {
  const double of_turn = real(r.plan.prompt) + load.generate;
  return {.turns = r.serving.turns, .think = r.serving.think, .history = real(r.serving.turns - 1) / 2 * of_turn};
}

}  // namespace

bool has_sessions(const std::vector<ServerRequest>& all) {
  return std::any_of(all.begin(), all.end(), [](const ServerRequest& q) { return q.session != no_chain; });
}

SteadyLoad mean_load(const ServingTraffic& traffic) {
  const std::vector<ServerRequest>& all = traffic.requests.requests;
  return {.prompt = mean_of(all, &ServerRequest::prompt),
          .generate = mean_of(all, &ServerRequest::generate),
          .shared = shared_by_all(all),
          .variation = variation_of(all, [](const ServerRequest& r) { return r.generate; }),
          .prompt_variation = prompt_variation_of(all)};
}

bool has_known_arrivals(const ServingInputs& v) { return v.rate && v.turns == 1; }

std::string why_no_long_run(const Request& r, const ServingEngine& e) {
  if (r.serving.pools) return "it knows no engines of two kinds (--pools)";
  if (e.rules.scheduler.batching == Batching::fixed) return "it knows no fixed batches";
  return "";
}

std::string assumed_arrivals(const Request& r) {
  if (!has_known_arrivals(r.serving)) return "poisson, assumed";
  const std::string said = arrivals_text(r.serving.arrival_variation);
  return said == "poisson" ? said : said + ", in the wait for a place alone";
}

SteadyState steady_state_of(const Request& r, const ServingEngine& e, const ServingTraffic& traffic,
                            const Served& served, std::optional<double> cached_at_capacity) {
  const ServingInputs& v = r.serving;
  SteadyLoad load = mean_load(traffic);
  const auto tokens = [&](double share) { return std::min(share * load.prompt, load.prompt - 1); };
  load.cached = tokens(served.cached);
  if (const Fleet fleet = serving_fleet(r, e); finds_its_cache(v, fleet))
    load.sessions = sessions_of(r, load);
  else if (cached_at_capacity)
    load.cached_at_capacity = tokens(*cached_at_capacity);
  if (has_known_arrivals(v)) load.arrivals = v.arrival_variation * v.arrival_variation;
  const Fleet fleet = serving_fleet(r, e);
  if (v.users)
    load.rate = closed_rate(fleet, e.times, load, *v.users, v.think);
  else
    load.rate = v.rate ? *v.rate : rate_of(traffic.requests.requests);
  return steady_state(fleet, e.times, load);
}

Section steady_state_section(const Request& r, const SteadyState& s) {
  Section section{"steady_state", "the long run, by queueing theory", {}};
  section.add("capacity_req_s", "capacity", s.capacity, Unit::none, "requests per second");
  section.add("limit", "  limited by", std::string(name(s.limit)));
  section.add("rate_req_s", "rate", s.load * s.capacity, Unit::none, "requests per second");
  section.add("arrivals", "  which come as", assumed_arrivals(r));
  section.add("load", "load", s.load, Unit::ratio, "of the capacity");
  if (s.growth > 0) section.add("growth_req_s", "the queue grows by", s.growth, Unit::none, "requests per second");
  if (!s.times) return section;
  section.add("wait_s", "wait for a place", s.times->wait);
  section.add("ttft_s", "to the first token", s.times->first_token);
  if (s.decodes > 0) section.add("tpot_s", "per token behind it", s.times->per_token);
  section.add("latency_s", "to the last token", s.times->latency);
  section.add("decoding", "sequences in a pass", s.times->decoding);
  return section;
}

}  // namespace llmcalc
