#pragma once
/// Chooses the replica of a request.

#include <vector>

#include "serve/fleet.hpp"

namespace llmcalc {

class Router {
 public:
  Router(Routing routing, std::size_t replicas) : routing_(routing), loads_(replicas) {}
  /// The replica of the request, which is counted there until done().
  std::size_t route(const ServerRequest& r);
  void done(std::size_t replica) { --loads_[replica]; }

 private:
  std::size_t least_loaded() const;
  std::size_t near_prefix(const ServerRequest& r);

  Routing routing_;
  std::vector<Count> loads_;  ///< requests that wait or are in progress
  std::size_t next_ = 0;
  std::vector<std::size_t> of_session_, of_prefix_;  ///< replica that had it last, and 1; 0: none
};

}  // namespace llmcalc
