#pragma once
/// Sequences that wait for admission: in order of arrival, with preempted sequences first, or by priority.

#include <algorithm>
#include <deque>
#include <tuple>
#include <vector>

#include "serve/decoding_set.hpp"
#include "serve/request.hpp"

namespace llmcalc {

class WaitingQueue {
 public:
  explicit WaitingQueue(Admission admission) : by_priority_(admission == Admission::priority) {}

  struct Entry {
    int priority = 0;
    std::uint32_t arrival = 0;  ///< position in the order of arrival
    RequestId id = no_request;
    SequenceSlot slot = no_slot;
    bool operator>(const Entry& o) const { return std::tie(priority, arrival) > std::tie(o.priority, o.arrival); }
  };
  bool empty() const { return entries_.empty(); }
  Count size() const { return static_cast<Count>(entries_.size()); }
  Entry& front() { return entries_.front(); }
  const Entry& front() const { return entries_.front(); }
  void push(const Entry& e) {
    entries_.push_back(e);
    if (by_priority_) std::push_heap(entries_.begin(), entries_.end(), std::greater<>());
  }
  /// Requeues a preempted sequence.
  void push_front(const Entry& e) {
    if (by_priority_) return push(e);
    entries_.push_front(e);
  }
  void pop() {
    if (!by_priority_) return entries_.pop_front();
    std::pop_heap(entries_.begin(), entries_.end(), std::greater<>());
    entries_.pop_back();
  }

 private:
  bool by_priority_;
  std::deque<Entry> entries_;
};

}  // namespace llmcalc
