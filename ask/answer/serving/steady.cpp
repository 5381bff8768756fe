#include "ask/answer/serving/steady.hpp"

#include <algorithm>

#include "ask/answer/serving/capacity.hpp"
#include "ask/answer/serving/run.hpp"
#include "ask/request/serving_inputs.hpp"

namespace llmcalc {
namespace {

double mean_of(const RequestList& all, Count (RequestList::*tokens)(std::size_t) const) {
  double sum = 0;
  for (std::size_t i = 0; i < all.size(); ++i) sum += real((all.*tokens)(i));
  return sum / static_cast<double>(all.size());
}

/// Ratio of the variance to the squared mean of value(0), value(1), ... for all requests.
template <class Value>
double variation_of(const RequestList& all, const Value& value) {
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double x = real(value(i));
    sum += x;
    squares += x * x;
  }
  const double n = static_cast<double>(all.size());
  return sum > 0 ? std::max(0.0, squares * n / (sum * sum) - 1) : 0;
}

/// Number of tokens in the prefix that all prompts share.
Count shared_by_all(const RequestList& all) {
  Count tokens = all.prefix_tokens(0);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all.prefix(i) == no_chain || all.prefix(i) != all.prefix(0)) return 0;
    tokens = std::min(tokens, all.prefix_tokens(i));
  }
  return tokens;
}

/// Variation of prompt lengths without prefixes; 0 for sessions and for prefixes that extend one another, where the
/// variation of new tokens is unknown.
double prompt_variation_of(const RequestList& all) {
  if (has_sessions(all) || all.prefixes().size() > 0) return 0;
  return variation_of(all, [&](std::size_t i) { return all.prompt(i) - all.prefix_tokens(i); });
}

/// Requests per second of a log.
double rate_of(const RequestList& log) {
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

bool has_sessions(const RequestList& all) {
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all.session(i) != no_chain) return true;
  return false;
}

SteadyLoad mean_load(const ServingTraffic& traffic) {
  const RequestList& all = traffic.requests.requests;
  return {.prompt = mean_of(all, &RequestList::prompt),
          .generate = mean_of(all, &RequestList::generate),
          .shared = shared_by_all(all),
          .variation = variation_of(all, [&](std::size_t i) { return all.generate(i); }),
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
