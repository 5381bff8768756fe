#pragma once
/// The event loop of one or two fleets of replicas: passes, arrivals and transfers in order of time.

#include <deque>
#include <queue>
#include <vector>

#include "serve/arrivals.hpp"
#include "serve/fleet/disaggregated.hpp"
#include "serve/fleet/router.hpp"

namespace llmcalc {

class FleetLoop {
 public:
  FleetLoop(const RequestTraffic& traffic, const ServerWatch& watch);
  /// Adds a fleet. The first receives arrivals; a second receives the requests that leave the first.
  void add(const Fleet& fleet, const PassTimes& times, const CacheTransfer& from_here = {});
  ServerRun run();

 private:
  struct Pool {
    Router router;
    std::deque<Server> servers;
    CacheTransfer transfer;
    Ticks request;               ///< PassTimes::request of the engines
    std::vector<Ticks> sending;  ///< end of each replica's transfers
    std::uint32_t first = 0;     ///< number of its first replica
  };
  struct Traveling {
    Ticks time;
    RequestId id;
    bool operator>(const Traveling& o) const { return time != o.time ? time > o.time : id > o.id; }
  };

  /// The end of a replica's passes, as expected when the entry was made.
  struct PassesEnd {
    Ticks time;
    std::uint32_t replica;
    bool operator>(const PassesEnd& o) const { return time != o.time ? time > o.time : replica > o.replica; }
  };

  Pool& pool_of(std::uint32_t replica) { return pools_[replica < pools_.back().first ? 0 : pools_.size() - 1]; }
  Ticks next();
  void finish_passes(Ticks now);
  void start_passes(Ticks now);
  void arrive(Ticks now);
  void land(Ticks now);
  void give(Pool& pool, RequestId id, Ticks now, const Progress& progress);
  void finish(std::uint32_t replica);
  void leave(Pool& pool, RequestId id);
  void send(Pool& from, RequestId id);
  bool goes_on();

  const RequestList& requests_;
  const ServerWatch& watch_;
  Arrivals arrivals_;
  std::deque<Pool> pools_;
  std::vector<Server*> servers_;  ///< servers of all pools, by replica
  std::priority_queue<Traveling, std::vector<Traveling>, std::greater<>> traveling_;
  std::priority_queue<PassesEnd, std::vector<PassesEnd>, std::greater<>> ends_;  ///< ends of the replicas' passes; may
                                                                                 ///< contain outdated entries
  std::vector<std::uint32_t> changed_;  ///< replicas with new events, which may start a pass
  ServerRun run_;
  Count answered_ = 0, times_asked_ = 0;
};

}  // namespace llmcalc
