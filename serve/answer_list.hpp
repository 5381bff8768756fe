#pragma once
/// The answers of a run, in the order of the requests, stored by member. A run in which each answer takes less than
/// 18 s needs 28 bytes per answer.

#include "serve/list_iterator.hpp"
#include "serve/request.hpp"
#include "serve/split_column.hpp"

namespace llmcalc {

class AnswerList {
 public:
  AnswerList() = default;
  /// The answers to `n` requests that have not arrived.
  explicit AnswerList(std::size_t n)
      : sent_(n, 0), first_(n, 0), last_(n, 0), cached_(n, 0), preemptions_(n, 0), replica_(n, 0) {}

  std::size_t size() const { return replica_.size(); }
  AnswerTimes operator[](std::size_t i) const {
    return {sent(i), first(i), last(i), cached(i), preemptions(i), replica_[i]};
  }
  ListIterator<AnswerList, AnswerTimes> begin() const { return {*this, 0}; }
  ListIterator<AnswerList, AnswerTimes> end() const { return {*this, size()}; }

  // members of an answer
  Ticks sent(std::size_t i) const { return later(0, sent_[i]); }
  Ticks first(std::size_t i) const { return later(sent(i), first_[i]); }
  Ticks last(std::size_t i) const { return later(first(i), last_[i]); }
  Count cached(std::size_t i) const { return cached_[i]; }
  std::uint32_t preemptions(std::size_t i) const { return preemptions_[i]; }
  std::uint32_t replica(std::size_t i) const { return replica_[i]; }

  // Times of an answer are set in this order.
  void set_sent(std::size_t i, Ticks t) { sent_.set(i, t + 1); }
  void set_first(std::size_t i, Ticks t) { first_.set(i, t - sent(i) + 1); }
  void set_last(std::size_t i, Ticks t) { last_.set(i, t - first(i) + 1); }
  void unset_last(std::size_t i) { last_.set(i, 0); }
  void set_cached(std::size_t i, Count tokens) { cached_.set(i, tokens); }
  void count_preemption(std::size_t i) { preemptions_.set(i, preemptions_[i] + 1); }
  void set_replica(std::size_t i, std::uint32_t replica) { replica_.set(i, replica); }

 private:
  static Ticks later(Ticks from, Ticks stored) { return stored == 0 ? never : from + stored - 1; }

  // Each time is stored as the time since the previous one plus 1 tick, the first since the start; `never` as 0.
  TickColumn sent_, first_, last_;
  CountColumn cached_;
  CompactColumn<std::uint32_t> preemptions_, replica_;
};

}  // namespace llmcalc
