#include "calc/pipeline/events.hpp"

#include <algorithm>

namespace llmcalc {

void Timeline::clear() {
  tasks_.clear();
  streams_.clear();
  waits_.clear();
}

std::size_t Timeline::stream(const TaskStream& s) {
  const auto found = std::find(streams_.begin(), streams_.end(), s);
  const auto number = static_cast<std::size_t>(found - streams_.begin());
  if (found == streams_.end()) streams_.push_back(s);
  return number;
}

std::size_t Timeline::add(const Task& t) {
  tasks_.push_back(t);
  return tasks_.size() - 1;
}

/// Lists all waits: the caller's, and each task's wait for its predecessor on a stream that runs one task at a time.
void Timeline::order_streams() {
  const std::size_t none = tasks_.size();
  all_ = waits_;
  last_.assign(streams_.size(), none);
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    std::size_t& last = last_[tasks_[i].stream];
    if (last != none && streams_[tasks_[i].stream].takes_turns()) all_.push_back({last, i, {}});
    last = i;
  }
}

/// Groups the waits by the task that is waited for, and counts the waits of each task.
void Timeline::group_waits() {
  first_then_.assign(tasks_.size() + 1, 0);
  open_.assign(tasks_.size(), 0);
  for (const Wait& w : all_) {
    ++first_then_[w.first + 1];
    ++open_[w.then];
  }
  for (std::size_t i = 0; i < tasks_.size(); ++i) first_then_[i + 1] += first_then_[i];
  then_.resize(all_.size());
  last_.assign(first_then_.begin(), first_then_.end());
  for (const Wait& w : all_) then_[last_[w.first]++] = w;
}

std::optional<Seconds> Timeline::run() {
  order_streams();
  group_waits();
  ready_.clear();
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    tasks_[i].start = tasks_[i].ready;
    if (open_[i] == 0) ready_.push_back(i);
  }
  Seconds end;
  for (std::size_t n = 0; n < ready_.size(); ++n) {
    Task& t = tasks_[ready_[n]];
    t.end = t.start + t.duration;
    end = std::max(end, t.end);
    for (std::size_t k = first_then_[ready_[n]]; k < first_then_[ready_[n] + 1]; ++k) {
      const Wait& w = then_[k];
      tasks_[w.then].start = std::max(tasks_[w.then].start, t.end - w.before);
      if (--open_[w.then] == 0) ready_.push_back(w.then);
    }
  }
  if (ready_.size() < tasks_.size()) return std::nullopt;
  return end;
}

}  // namespace llmcalc
