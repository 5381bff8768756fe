#include "ask/answer/serving/steady.hpp"

#include <algorithm>

#include "ask/answer/serving/capacity.hpp"
#include "ask/answer/serving/run.hpp"
#include "ask/request/serving_inputs.hpp"

namespace llmcalc {
namespace {

double mean_of(const std::vector<ServerRequest>& all, Count ServerRequest::*tokens) {
  double sum = 0;
  for (const ServerRequest& r : all) sum += real(r.*tokens);
  return sum / static_cast<double>(all.size());
}

/// Ratio of the variance to the squared mean.
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

/// Number of tokens in the prefix that all prompts share.
Count shared_by_all(const std::vector<ServerRequest>& all) {
  Count tokens = all.front().prefix_tokens;
  for (const ServerRequest& r : all) {
    if (r.prefix == no_chain || r.prefix != all.front().prefix) return 0;
    tokens = std::min(tokens, r.prefix_tokens);
  }
  return tokens;
}

/// Variation of prompt lengths without prefixes; 0 for sessions, whose new tokens have an unknown variation.
double prompt_variation_of(const std::vector<ServerRequest>& all) {
  if (has_sessions(all)) return 0;
  return variation_of(all, [](const ServerRequest& r) { return r.prompt - r.prefix_tokens; });
}

/// Requests per second of a log.
double rate_of(const std::vector<ServerRequest>& log) {
  const double span = log.back().at.value - log.front().at.value;
  return span > 0 ? static_cast<double>(log.size() - 1) / span : 0;
}

/// Whether each turn goes to the engine that cached its session's previous turn. False for logs.
bool finds_its_cache(const ServingInputs& v, const Fleet& fleet) {
  const bool one = fleet.replicas == 1 || fleet.routing == Routing::prefix_aware;
  return v.turns > 1 && one && fleet.server.ranks == 1 && fleet.server.scheduler.prefix_cache;
}

/// Sessions whose prompts consist of the shared prefix, the previous conversation, and new tokens.
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

std::string why_no_long_run(const Request& r, const ServingEngine& e) {
  if (r.serving.pools) return "separate prefill and decode engines (--pools) are not supported";
  if (e.rules.scheduler.batching == Batching::fixed) return "fixed batches are not supported";
  return "";
}

SteadyState steady_state_of(const Request& r, const ServingEngine& e, const ServingTraffic& traffic,
                            const Served& served, std::optional<double> cached_at_capacity) {
  const ServingInputs& v = r.serving;
  SteadyLoad load = mean_load(traffic);
  const auto tokens = [&](double share) { return std::min(share * load.prompt, load.prompt - 1); };
  load.cached = tokens(served.cached);
  const Fleet fleet = serving_fleet(r, e);
  if (finds_its_cache(v, fleet))
    load.sessions = sessions_of(r, load);
  else if (cached_at_capacity)
    load.cached_at_capacity = tokens(*cached_at_capacity);
  if (!v.users) load.rate = v.rate ? *v.rate : rate_of(traffic.requests.requests);
  return steady_state(fleet, e.times, load);
}

}  // namespace llmcalc
