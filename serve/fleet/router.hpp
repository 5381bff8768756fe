#pragma once
/// Chooses a replica for each request.

#include <optional>
#include <vector>

#include "serve/fleet/fleet.hpp"

namespace llmcalc {

class Router {
 public:
  Router(Routing routing, std::size_t replicas) : routing_(routing), loads_(replicas) {}
  /// Chooses the replica for a request. The request counts toward the replica's load until done().
  std::size_t route(const ServerRequest& r);
  void done(std::size_t replica) { --loads_[replica]; }

 private:
  std::size_t least_loaded() const;
  std::optional<std::size_t> home(const ServerRequest& r) const;
  std::size_t near_prefix(const ServerRequest& r);

  Routing routing_;
  std::vector<Count> loads_;  ///< requests waiting or in progress, by replica
  std::size_t next_ = 0;
  std::vector<std::size_t> of_session_;              ///< last replica of each session, plus 1; 0: unknown
  std::vector<std::vector<std::size_t>> of_prefix_;  ///< replicas assumed to cache each prefix because they have had it
};

}  // namespace llmcalc
