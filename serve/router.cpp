#include "serve/router.hpp"

#include <algorithm>

namespace llmcalc {

std::size_t Router::least_loaded() const {
  return static_cast<std::size_t>(std::min_element(loads_.begin(), loads_.end()) - loads_.begin());
}

/// A replica that has more than twice the requests of the least loaded one, and 8, is left alone: what a hit saves does
/// not make up for the queue.
std::size_t Router::near_prefix(const ServerRequest& r) {
  const auto known = [](std::vector<std::size_t>& all, ChainId n) -> std::size_t& {
    if (n >= all.size()) all.resize(n + 1);
    return all[n];
  };
  std::size_t near = 0;
  if (r.prefix != no_chain) near = known(of_prefix_, r.prefix);
  if (r.session != no_chain && known(of_session_, r.session) > 0) near = known(of_session_, r.session);
  const std::size_t least = least_loaded();
  const bool free = near > 0 && loads_[near - 1] <= 2 * loads_[least] + 8;
  const std::size_t chosen = free ? near - 1 : least;
  if (r.session != no_chain) known(of_session_, r.session) = chosen + 1;
  if (r.prefix != no_chain) known(of_prefix_, r.prefix) = chosen + 1;
  return chosen;
}

std::size_t Router::route(const ServerRequest& r) {
  std::size_t chosen = 0;
  switch (routing_) {
    case Routing::round_robin:
      chosen = next_++ % loads_.size();
      break;
    case Routing::least_loaded:
      chosen = least_loaded();
      break;
    case Routing::prefix_aware:
      chosen = near_prefix(r);
      break;
  }
  ++loads_[chosen];
  return chosen;
}

}  // namespace llmcalc
