#include "serve/decoding_set.hpp"

#include <algorithm>

namespace llmcalc {

Count saturating_tokens(const SchedulerRules& rules, const Reach& reach) {
  const Count block = limited_block(rules);
  return (ceil_div(reach.tokens, block) + 1) * block;
}

SchedulerRules of_states_alone(SchedulerRules rules, Count states, Bytes each) {
  rules.blocks = states;
  rules.block = each;
  rules.whole_groups = rules.limited_groups = 0;
  rules.state_blocks = 1;
  rules.prefix_cache = false;
  return rules;
}

Count blocks_of(const SchedulerRules& rules, const Reach& reach, Count tokens) {
  if (tokens <= 0) return 0;
  const Count all = rules.state_blocks + rules.whole_groups * ceil_div(tokens, rules.block_tokens);
  if (rules.limited_groups == 0 || !reach.limited()) return all;
  return all + rules.limited_groups * ceil_div(std::min(tokens, saturating_tokens(rules, reach)), limited_block(rules));
}

Count most_blocks_of(const SchedulerRules& rules, const Reach& reach, Count tokens) {
  const Count full = blocks_of(rules, reach, tokens);
  if (tokens <= 0 || rules.limited_groups == 0 || !reach.limited()) return full;
  const Count held = std::min(tokens, add(reach.tokens - 1, rules.pass_tokens)), block = limited_block(rules);
  const Count whole = rules.state_blocks + rules.whole_groups * ceil_div(tokens, rules.block_tokens);
  const Count filling = std::min(ceil_div(held, block) + 1, ceil_div(tokens, block));
  return std::max(full, add(whole, mul(rules.limited_groups, filling)));
}

DecodingSet::DecodingSet(const SchedulerRules& rules, const Reach& reach)
    : rules_(rules),
      reach_(reach),
      saturating_(rules.limited_groups > 0 && reach.limited() ? saturating_tokens(rules, reach) : 0),
      whole_(rules.block_tokens),
      limited_(limited_block(rules)) {}

void DecodingSet::expect(SequenceSlot slot, Count context, Border border) {
  const Member& m = members_[slot];
  events_.push_back({context - m.start, m.order, slot, m.stamp, border});
  std::push_heap(events_.begin(), events_.end(), std::greater<>());
}

void DecodingSet::join(SequenceSlot slot, Count order, Count context, Count left) {
  if (slot >= members_.size()) members_.resize(slot + 1);
  Member& m = members_[slot];
  m.start = context - step_;
  m.end = step_ + left;
  m.order = order;
  ++m.stamp;
  m.present = true;
  ++size_;
  keys_[0] += context;
  ++growing_[0];
  expect(slot, context + left, Border::end);
  expect_borders(slot, context);
  whole_.add(m.start, rules_.whole_groups);
  if (m.fills_limited) limited_.add(m.start, rules_.limited_groups);
}

/// Schedules the events of a sequence in layers of limited reach: its window is full, its chunk ends, it needs no
/// more blocks.
void DecodingSet::expect_borders(SequenceSlot slot, Count context) {
  Member& m = members_[slot];
  m.grows = m.fills_limited = false;
  if (!reach_.limited()) return;
  m.grows = reach_.chunked || context < reach_.tokens;
  m.fills_limited = context <= saturating_;
  keys_[1] += reach_.seen(context - 1);
  growing_[1] += m.grows ? 1 : 0;
  if (reach_.chunked)
    expect(slot, ((context - 1) / reach_.tokens + 1) * reach_.tokens + 1, Border::chunk);
  else if (m.grows)
    expect(slot, reach_.tokens, Border::window);
  if (m.fills_limited) expect(slot, saturating_ + 1, Border::blocks);
}

void DecodingSet::leave(SequenceSlot slot) {
  Member& m = members_[slot];
  const Count now = context(slot);
  --size_;
  keys_[0] -= now;
  --growing_[0];
  if (reach_.limited()) keys_[1] -= reach_.seen(now - 1);
  growing_[1] -= m.grows ? 1 : 0;
  whole_.add(m.start, -rules_.whole_groups);
  if (m.fills_limited) limited_.add(m.start, -rules_.limited_groups);
  m.present = false;
  ++m.stamp;
}

Count BlockCycle::later(Count step, Count passes) const {
  const Count cycles = passes / period();
  Count sum = cycles * per_period_;
  for (Count i = cycles * period(); i < passes; ++i) sum += at(step + 1 + i);
  return sum;
}

Count DecodingSet::passes_alike() const {
  return events_.empty() ? 1 : std::max<Count>(1, events_.front().pass - step_);
}

/// Removes the next valid event that is due. Returns false if no event is due.
bool DecodingSet::pop(Event& event) {
  while (!events_.empty()) {
    event = events_.front();
    const Member& m = members_[event.slot];
    const bool counts = m.present && m.stamp == event.stamp;
    if (counts && event.pass > step_) return false;
    std::pop_heap(events_.begin(), events_.end(), std::greater<>());
    events_.pop_back();
    if (counts) return true;
  }
  return false;
}

void DecodingSet::cross(SequenceSlot slot, Border border) {
  Member& m = members_[slot];
  switch (border) {
    case Border::window:
      m.grows = false;
      --growing_[1];
      return;
    case Border::chunk:
      keys_[1] -= reach_.tokens;
      return expect(slot, context(slot) + reach_.tokens, Border::chunk);
    case Border::blocks:
      m.fills_limited = false;
      limited_.add(m.start, -rules_.limited_groups);
      return;
    case Border::end:
      return;
  }
}

void DecodingSet::advance(Count passes, std::vector<SequenceSlot>& done) {
  step_ += passes;
  for (std::size_t i = 0; i < reach_kinds; ++i) keys_[i] += passes * growing_[i];
  Event event{};
  while (pop(event)) {
    cross(event.slot, event.border);
    if (event.border != Border::end) continue;
    leave(event.slot);
    done.push_back(event.slot);
  }
}

}  // namespace llmcalc
