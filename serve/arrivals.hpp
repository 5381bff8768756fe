#pragma once
/// When requests come: at times that are known, or after answers.

#include <queue>
#include <vector>

#include "serve/traffic.hpp"

namespace llmcalc {

class Arrivals {
 public:
  explicit Arrivals(const RequestTraffic& traffic);
  /// When the next request comes; never: none does before a further answer.
  Ticks next() const;
  RequestId pop();
  /// The request is answered at `now`.
  void answered(RequestId id, Ticks now);

 private:
  struct Due {
    Ticks time;
    RequestId id;
    bool operator>(const Due& o) const { return time != o.time ? time > o.time : id > o.id; }
  };
  void skip_waiting();
  Ticks listed() const;

  const std::vector<ServerRequest>& requests_;
  bool closed_;
  Count to_begin_;                                ///< requests that users still send without an answer before
  RequestId next_ = 0;                            ///< of those that wait for no answer of their own
  std::vector<RequestId> first_after_, sibling_;  ///< requests that wait for one, as lists
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
};

}  // namespace llmcalc
