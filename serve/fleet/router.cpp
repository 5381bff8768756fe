#include "serve/fleet/router.hpp"

#include <algorithm>

namespace llmcalc {

std::size_t Router::least_loaded() const {
  return static_cast<std::size_t>(std::min_element(loads_.begin(), loads_.end()) - loads_.begin());
}

/// The last replica of the session; without one, the replica of the prefix.
std::optional<std::size_t> Router::home(const ServerRequest& r) const {
  if (r.session != no_chain && r.session < of_session_.size() && of_session_[r.session] > 0)
    return of_session_[r.session] - 1;
  return home_of_prefix(r.prefix);
}

/// The least loaded replica that has had the prefix; if there is none, that has had most of it.
std::optional<std::size_t> Router::home_of_prefix(ChainId prefix) const {
  for (; prefix != no_chain; prefix = prefixes_.parent(prefix)) {
    if (prefix >= of_prefix_.size() || of_prefix_[prefix].empty()) continue;
    const std::vector<std::size_t>& had = of_prefix_[prefix];
    const auto less = [&](std::size_t a, std::size_t b) { return loads_[a] < loads_[b]; };
    return *std::min_element(had.begin(), had.end(), less);
  }
  return std::nullopt;
}

/// Records that a replica has had a prefix and thus its parents.
void Router::note_prefix(ChainId prefix, std::size_t replica) {
  for (; prefix != no_chain; prefix = prefixes_.parent(prefix)) {
    if (prefix >= of_prefix_.size()) of_prefix_.resize(prefix + 1);
    std::vector<std::size_t>& had = of_prefix_[prefix];
    if (std::find(had.begin(), had.end(), replica) != had.end()) return;
    had.push_back(replica);
  }
}

/// Returns home(), or the least loaded replica if home() is empty or too busy: a cache hit does not make up for a
/// queue of more than twice the least loaded replica's requests plus 8.
std::size_t Router::near_prefix(const ServerRequest& r) {
  const std::optional<std::size_t> near = home(r);
  const std::size_t least = least_loaded();
  const std::size_t chosen = near && loads_[*near] <= 2 * loads_[least] + 8 ? *near : least;
  if (r.session != no_chain) {
    if (r.session >= of_session_.size()) of_session_.resize(r.session + 1);
    of_session_[r.session] = chosen + 1;
  }
  note_prefix(r.prefix, chosen);
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
