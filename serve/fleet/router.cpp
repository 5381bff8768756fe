#include "serve/fleet/router.hpp"

#include <algorithm>

namespace llmcalc {

std::size_t Router::least_loaded() const {
  return static_cast<std::size_t>(std::min_element(loads_.begin(), loads_.end()) - loads_.begin());
}

/// The last replica of the session; without one, the least loaded replica that has had the prefix.
std::optional<std::size_t> Router::home(const ServerRequest& r) const {
  if (r.session != no_chain && r.session < of_session_.size() && of_session_[r.session] > 0)
    return of_session_[r.session] - 1;
  if (r.prefix == no_chain || r.prefix >= of_prefix_.size() || of_prefix_[r.prefix].empty()) return std::nullopt;
  const std::vector<std::size_t>& had = of_prefix_[r.prefix];
  return *std::min_element(had.begin(), had.end(), [&](std::size_t a, std::size_t b) { return loads_[a] < loads_[b]; });
}

/// Returns home(), or the least loaded replica if home() is empty or too busy: a cache hit does not make up for a
/// queue of more than twice the least loaded replica's requests plus 8.
std::size_t Router::near_prefix(const ServerRequest& r) {
  const auto known = [](auto& all, ChainId n) -> auto& {
    if (n >= all.size()) all.resize(n + 1);
    return all[n];
  };
  const std::optional<std::size_t> near = home(r);
  const std::size_t least = least_loaded();
  const std::size_t chosen = near && loads_[*near] <= 2 * loads_[least] + 8 ? *near : least;
  if (r.session != no_chain) known(of_session_, r.session) = chosen + 1;
  if (r.prefix == no_chain) return chosen;
  std::vector<std::size_t>& had = known(of_prefix_, r.prefix);
  if (std::find(had.begin(), had.end(), chosen) == had.end()) had.push_back(chosen);
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
