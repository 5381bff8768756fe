#pragma once
/// Arrivals of requests, at fixed times or after the answers to other requests.

#include <algorithm>
#include <queue>
#include <vector>

#include "serve/traffic.hpp"

namespace llmcalc {

class Arrivals {
 public:
  explicit Arrivals(const RequestTraffic& traffic);
  /// Time of the next arrival; `never` if it depends on an answer that is not complete.
  Ticks next() const { return due_.empty() ? listed_ : std::min(due_.top().time, listed_); }
  RequestId pop();
  /// Time that the request waited before it arrived.
  Ticks held(RequestId id) const { return id < begun_ ? held_ : 0; }
  /// Records that the request is answered at `now`.
  void answered(RequestId id, Ticks now);

 private:
  struct Due {
    Ticks time;
    RequestId id;
    bool operator>(const Due& o) const { return time != o.time ? time > o.time : id > o.id; }
  };
  void link_waiting();
  void skip_waiting();

  const RequestList& requests_;
  bool closed_;
  Count to_begin_;  ///< number of users that have not sent their first request
  Ticks held_;
  RequestId begun_ = 0;                           ///< the requests before this one are the users' first
  RequestId next_ = 0;                            ///< next request in the list that does not wait for a specific
                                                  ///< answer
  Ticks listed_ = never;                          ///< time of that request; `never` in a closed loop or at the end of
                                                  ///< the list
  std::vector<RequestId> first_after_, sibling_;  ///< linked lists of the requests that wait for each answer
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
};

}  // namespace llmcalc
