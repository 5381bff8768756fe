#pragma once
/// Chooses a replica for each request.

#include <optional>
#include <vector>

#include "serve/fleet/fleet.hpp"
#include "serve/prefix_tree.hpp"

namespace llmcalc {

class Router {
 public:
  /// The tree must outlive the router.
  Router(Routing routing, std::size_t replicas, const PrefixTree& prefixes)
      : routing_(routing), prefixes_(prefixes), loads_(replicas) {}
  /// Chooses the replica for a request. The request counts toward the replica's load until done().
  std::size_t route(const ServerRequest& r);
  void done(std::size_t replica) { --loads_[replica]; }

 private:
  std::size_t least_loaded() const;
  std::optional<std::size_t> home(const ServerRequest& r) const;
  std::optional<std::size_t> home_of_prefix(ChainId prefix) const;
  std::size_t near_prefix(const ServerRequest& r);
  void note_prefix(ChainId prefix, std::size_t replica);

  Routing routing_;
  const PrefixTree& prefixes_;
  std::vector<Count> loads_;  ///< requests waiting or in progress, by replica
  std::size_t next_ = 0;
  std::vector<std::size_t> of_session_;              ///< last replica of each session, plus 1; 0: unknown
  std::vector<std::vector<std::size_t>> of_prefix_;  ///< replicas assumed to cache each prefix because they have had
                                                     ///< it; each is also in the list of the prefix's parent
};

}  // namespace llmcalc
