#include "serve/arrivals.hpp"

#include <algorithm>

namespace llmcalc {

Arrivals::Arrivals(const RequestTraffic& traffic)
    : requests_(traffic.requests), closed_(traffic.users > 0), to_begin_(traffic.users) {
  const auto waits = [](const ServerRequest& r) { return r.after != no_request; };
  if (std::any_of(requests_.begin(), requests_.end(), waits)) {
    first_after_.assign(requests_.size(), no_request);
    sibling_.assign(requests_.size(), no_request);
    for (std::size_t i = requests_.size(); i-- > 0;) {
      const RequestId before = requests_[i].after;
      if (before == no_request) continue;
      sibling_[i] = first_after_[before];
      first_after_[before] = static_cast<RequestId>(i);
    }
  }
  skip_waiting();
  if (!closed_) return;
  for (; to_begin_ > 0 && next_ < requests_.size(); --to_begin_, ++next_, skip_waiting())
    due_.push({ticks(requests_[next_].at), next_});
}

void Arrivals::skip_waiting() {
  while (next_ < requests_.size() && requests_[next_].after != no_request) ++next_;
}

/// Time of the next listed request that does not wait for an answer; `never` in a closed loop or at the end of the
/// list.
Ticks Arrivals::listed() const { return closed_ || next_ == requests_.size() ? never : ticks(requests_[next_].at); }

Ticks Arrivals::next() const { return std::min(due_.empty() ? never : due_.top().time, listed()); }

RequestId Arrivals::pop() {
  if (!due_.empty() && (due_.top().time < listed() || (due_.top().time == listed() && due_.top().id < next_))) {
    const RequestId id = due_.top().id;
    due_.pop();
    return id;
  }
  const RequestId id = next_++;
  skip_waiting();
  return id;
}

void Arrivals::answered(RequestId id, Ticks now) {
  const RequestId first = first_after_.empty() ? no_request : first_after_[id];
  for (RequestId i = first; i != no_request; i = sibling_[i]) due_.push({now + ticks(requests_[i].at), i});
  if (first != no_request || !closed_ || next_ == requests_.size()) return;
  due_.push({now + ticks(requests_[next_].at), next_});
  ++next_;
  skip_waiting();
}

}  // namespace llmcalc
