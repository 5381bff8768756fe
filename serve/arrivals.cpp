#include "serve/arrivals.hpp"

#include <algorithm>

namespace llmcalc {

Arrivals::Arrivals(const RequestTraffic& traffic)
    : requests_(traffic.requests), closed_(traffic.users > 0), to_begin_(traffic.users), held_(traffic.held) {
  link_waiting();
  skip_waiting();
  if (!closed_) return;
  for (; to_begin_ > 0 && next_ < requests_.size(); --to_begin_, ++next_, skip_waiting())
    due_.push({ticks(requests_.at(next_)) + held_, next_});
  begun_ = next_;
}

/// Builds the lists of requests that wait for an answer, if there are such requests.
void Arrivals::link_waiting() {
  for (std::size_t i = requests_.size(); i-- > 0;) {
    const RequestId before = requests_.after(i);
    if (before == no_request) continue;
    if (sibling_.empty()) {
      first_after_.assign(requests_.size(), no_request);
      sibling_.assign(requests_.size(), no_request);
    }
    sibling_[i] = first_after_[before];
    first_after_[before] = static_cast<RequestId>(i);
  }
}

/// Moves on to the next listed request that does not wait for an answer.
void Arrivals::skip_waiting() {
  while (next_ < requests_.size() && requests_.after(next_) != no_request) ++next_;
  listed_ = closed_ || next_ == requests_.size() ? never : ticks(requests_.at(next_));
}

RequestId Arrivals::pop() {
  if (!due_.empty() && (due_.top().time < listed_ || (due_.top().time == listed_ && due_.top().id < next_))) {
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
  for (RequestId i = first; i != no_request; i = sibling_[i]) due_.push({now + ticks(requests_.at(i)), i});
  if (first != no_request || !closed_ || next_ == requests_.size()) return;
  due_.push({now + ticks(requests_.at(next_)), next_});
  ++next_;
  skip_waiting();
}

}  // namespace llmcalc
