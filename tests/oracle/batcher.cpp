#include "tests/oracle/batcher.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace llmcalc::oracle {

Batcher::Batcher(const Settings& settings, std::vector<Arrival> jobs, std::function<Ticks(const Pass&)> length)
    : settings_(settings), jobs_(std::move(jobs)), length_(std::move(length)), outcomes_(jobs_.size()) {
  free_ = settings_.blocks;
}

Count Batcher::wanted(const Sequence& s) const {
  Count n = length(s) - s.computed;
  if (settings_.threshold > 0 && settings_.threshold < n) n = settings_.threshold;
  return std::min(n, budget_);
}

bool Batcher::reserve(Sequence& s, Count tokens) {
  const Count all = (s.computed + tokens + settings_.block - 1) / settings_.block;
  const Count more = std::max<Count>(0, all - s.blocks);
  if (more > free_) return false;
  free_ -= more;
  s.blocks += more;
  return true;
}

void Batcher::preempt_newest() {
  Sequence s = running_.back();
  running_.pop_back();
  budget_ += s.tokens;
  free_ += s.blocks;
  s.computed = s.blocks = s.tokens = 0;
  s.decodes = false;
  ++outcomes_[s.job].preemptions;
  waiting_.push_front(s);
  preempted_ = true;
}

void Batcher::schedule_running() {
  for (std::size_t i = 0; i < running_.size() && budget_ > 0; ++i) {
    const Count n = wanted(running_[i]);
    while (!reserve(running_[i], n)) {
      preempt_newest();
      if (i == running_.size()) return;
    }
    running_[i].tokens = n;
    budget_ -= n;
  }
}

void Batcher::admit() {
  while (!waiting_.empty() && budget_ > 0 && static_cast<Count>(running_.size()) < settings_.sequences) {
    Sequence& s = waiting_.front();
    const Count n = wanted(s), prompt = (length(s) + settings_.block - 1) / settings_.block;
    if ((settings_.reserves_prompt && prompt > free_) || !reserve(s, n)) return;
    s.tokens = n;
    budget_ -= n;
    running_.push_back(s);
    waiting_.pop_front();
  }
}

Pass Batcher::pass() const {
  Pass all;
  for (const Sequence& s : running_)
    if (s.tokens > 0) all.push_back({s.computed, s.tokens, s.decodes, s.computed + s.tokens == length(s)});
  return all;
}

void Batcher::finish(Ticks now) {
  for (Sequence& s : running_) {
    s.computed += std::exchange(s.tokens, 0);
    if (s.computed < length(s)) continue;
    ++s.output;
    s.decodes = true;
    Outcome& o = outcomes_[s.job];
    if (s.output == 1) o.first = now;
    if (s.output < jobs_[s.job].output) continue;
    o.last = now;
    free_ += s.blocks;
  }
  std::erase_if(running_, [&](const Sequence& s) { return outcomes_[s.job].last != never; });
}

std::vector<Outcome> Batcher::run() {
  std::vector<std::size_t> order(jobs_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return jobs_[a].arrival < jobs_[b].arrival; });
  std::size_t come = 0;
  for (Ticks now = 0; come < order.size() || !waiting_.empty() || !running_.empty();) {
    if (waiting_.empty() && running_.empty()) now = std::max(now, jobs_[order[come]].arrival);
    while (come < order.size() && jobs_[order[come]].arrival <= now) waiting_.push_back({.job = order[come++]});
    budget_ = settings_.budget;
    preempted_ = false;
    schedule_running();
    if (!preempted_) admit();
    now += length_(pass());
    finish(now);
  }
  return outcomes_;
}

}  // namespace llmcalc::oracle
