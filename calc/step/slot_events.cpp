#include "calc/step/slot_events.hpp"

#include <utility>

namespace llmcalc {

Seconds SlotEvents::Loads::seconds() const {
  Seconds all;
  for (const Load& l : chain) all += l.seconds;
  return all;
}

/// Seconds of the tasks that `run` would add to the timeline, without adding them.
template <typename F>
Seconds SlotEvents::measure(const F& run) {
  const Seconds before = std::exchange(elapsed_, Seconds());
  const bool dry = std::exchange(dry_, true), backward = backward_;
  run();
  dry_ = dry;
  backward_ = backward;
  return std::exchange(elapsed_, before);
}

std::size_t SlotEvents::put_task(const Load& load) {
  const bool backward = load.backward.value_or(backward_);
  Task t{.stream = timeline_.stream({rank_, load.lane, load.level}), .kind = load.kind};
  t.chunk = backward ? whole_.backward_chunk : whole_.chunk;
  t.micro_batch = (backward ? whole_.backward_micro_batch : whole_.micro_batch) - load.earlier;
  t.duration = load.seconds;
  t.unit = load.unit;
  t.within = load.within == TaskKind::mark ? within_ : load.within;
  t.group = load.group;
  return timeline_.add(t);
}

// ---- sequential and overlapped tasks

void SlotEvents::alone(const Load& load) {
  if (load.seconds <= Seconds()) return;
  elapsed_ += load.seconds;
  if (dry_) return;
  const std::size_t task = put_task(load);
  timeline_.wait_for(task, now_);
  now_ = task;
}

void SlotEvents::work(TaskKind kind, Count unit, Seconds seconds) {
  within_ = kind;
  alone({.lane = Lane::compute, .kind = kind, .unit = unit, .seconds = seconds});
}

/// Adds a chain of loads to the timeline. `first`: the task that the first load waits for. Returns the last task of
/// the chain.
std::size_t SlotEvents::put_others(const Loads& others, Ahead first) {
  const auto put = [&](const Load& load, const Ahead& after) {
    const std::size_t task = put_task(load);
    timeline_.wait_for(task, after.task, after.before);
    return task;
  };
  if (others.along.seconds > Seconds()) put(others.along, first);
  for (const Load& load : others.chain)
    if (load.seconds > Seconds()) first = {put(load, first), {}};
  return first.task;
}

/// Adds loads to the timeline. The next work begins `overlap` seconds before they end.
void SlotEvents::hold_back(const Loads& others, Seconds overlap) {
  elapsed_ += others.seconds() - overlap;
  if (dry_) return;
  const std::size_t last = put_others(others, {now_, {}}), gate = put_task({.lane = Lane::compute});
  timeline_.wait_for(gate, now_);
  timeline_.wait_for(gate, last, overlap);
  now_ = gate;
}

/// Runs work of `own` seconds concurrently with `others`, which overlap for `overlap` seconds.
template <typename F>
void SlotEvents::beside(const Loads& others, Seconds overlap, Seconds own, const F& run) {
  const Seconds all = others.seconds();
  if (all > Seconds() && own >= all) hold_back(others, overlap);
  run();
  if (own >= all) return;
  elapsed_ += all - overlap;
  if (!dry_) now_ = put_others(others, {now_, overlap});
}

template <typename F>
void SlotEvents::beside(const Loads& others, const F& run) {
  const Seconds own = measure(run);
  beside(others, sharing_.overlap(own, others.seconds()), own, run);
}

// ---- a unit

void SlotEvents::leg(const ChunkUnit& u, const Leg& l) {
  for (const LegWork& w : l.works) work(w.kind, u.number, w.seconds);
  within_ = l.works.front().kind;
  Seconds lead = l.hidden + (apart_ ? Seconds() : l.hidden_experts);
  elapsed_ = elapsed_ - lead;
  for (const GroupCollective& e : l.collectives) {
    if (e.seconds <= Seconds() || (apart_ && e.group == Group::expert)) continue;
    elapsed_ += e.seconds;
    if (dry_) continue;
    const std::size_t task = put_task(collective_call(u, e));
    timeline_.wait_for(task, now_, lead);
    lead = {};
    now_ = task;
  }
}

/// Adds one direction of a row to the timeline, overlapped with its host transfers. Expert collectives that can
/// overlap with other slots do not overlap with these transfers.
void SlotEvents::pass(const ChunkUnit& u, const RowPass& row) {
  const auto legs = [&] {
    for (const Leg& l : row.legs) leg(u, l);
  };
  Load up{Lane::from_host, 0, TaskKind::fetch_from_host, u.number, row.up};
  Load down{Lane::to_host, 0, TaskKind::move_to_host, u.number, row.down};
  up.within = down.within = row.legs.back().works.front().kind;
  const Loads loads = row.up < row.down ? Loads{{down}, up} : Loads{{up}, down};
  if (loads.seconds() <= Seconds()) return legs();
  const bool apart = std::exchange(apart_, sharing_.pairs);
  const Seconds beside_which = measure(legs);
  apart_ = apart;
  beside(loads, sharing_.overlap(beside_which, loads.seconds()), measure(legs), legs);
}

void SlotEvents::pass(const ChunkUnit& u, const std::vector<RowPass>& rows) {
  for (const RowPass& row : rows) pass(u, row);
}

/// Makes a chunk's first forward wait for a unit's weights.
void SlotEvents::wait_for_weights(std::size_t unit) {
  const std::vector<std::optional<Ahead>>& all = gathered_[static_cast<std::size_t>(index_)];
  if (dry_ || !first_ || all.empty() || !all[unit]) return;
  const std::size_t gate = put_task({.lane = Lane::compute});
  timeline_.wait_for(gate, now_);
  timeline_.wait_for(gate, all[unit]->task, all[unit]->before);
  now_ = gate;
}

// ---- a direction of a chunk

void SlotEvents::forward(Count q) {
  const std::vector<ChunkUnit>& units = chunk(q).units;
  backward_ = false;
  const bool gathers = sharing_.gathers_in_slots();
  for (const ChunkUnit& u : units)
    if (gathers && (u.outside || &u == units.data())) alone(gather(u));
  for (std::size_t k = 0; k < units.size(); ++k) {
    Loads next;
    if (gathers && k + 1 < units.size() && !units[k + 1].outside) next.chain.push_back(gather(units[k + 1]));
    beside(next, [&] {
      wait_for_weights(k);
      pass(units[k], units[k].forward);
    });
  }
}

void SlotEvents::gradients(Count q, Gradients part) {
  const std::vector<ChunkUnit>& units = chunk(q).units;
  const bool in_slots = sharing_.gathers_in_slots(), reduces = in_slots && part != Gradients::inputs;
  const bool gathers = in_slots && sharing_.reshard && part != Gradients::weights;
  backward_ = true;
  if (!dry_) unit_ends_[static_cast<std::size_t>(backward_index_)].resize(units.size());
  if (gathers && !units.back().outside) alone(gather(units.back()));
  for (std::size_t k = units.size(); k-- > 0;) {
    const ChunkUnit& u = units[k];
    Loads others;
    if (gathers && k > 0 && !units[k - 1].outside) others.chain.push_back(gather(units[k - 1]));
    if (reduces && k + 1 < units.size() && !units[k + 1].outside) others.chain.push_back(reduce(units[k + 1]));
    beside(others, [&] { pass(u, part == Gradients::weights ? u.weights : u.backward); });
    if (!dry_ && part != Gradients::inputs) unit_ends_[static_cast<std::size_t>(backward_index_)][k] = now_;
  }
  for (const ChunkUnit& u : units)
    if (reduces && (u.outside || &u == units.data())) alone(reduce(u));
}

/// Reductions of the previous micro-batch's gradients, in the order in which the gradients become ready.
SlotEvents::Loads SlotEvents::earlier(Count q) const {
  Loads all;
  const std::vector<ChunkUnit>& units = chunk(q).units;
  for (std::size_t k = units.size(); k-- > 0;) {
    Load& load = all.chain.emplace_back(reduce(units[k]));
    load.lane = Lane::earlier;
    load.earlier = 1;
  }
  return all;
}

// ---- a slot

void SlotEvents::send(Count q) {
  within_ = TaskKind::mark;
  work(TaskKind::wait_to_send, -1, chunk(q).sending);
}

/// Adds a forward to the timeline. Without a pipeline, the gradients of the previous micro-batch are reduced during
/// this forward and its backward.
void SlotEvents::run_forward(Count q) {
  backward_ = false;
  if (sharing_.reduces_earlier() && number_ > 0) {
    const Loads others = earlier(q);
    const Seconds own = measure([&] {
      forward(q);
      gradients(q, Gradients::all);
    });
    hold_back(others, sharing_.overlap(own, others.seconds()));
  }
  forward(q);
  send(q);
}

void SlotEvents::run_backward(Count q) {
  backward_ = true;
  send(q);
  if (!sharing_.apart) return gradients(q, Gradients::all);
  gradients(q, Gradients::inputs);
  gradients(q, Gradients::weights);
}

/// Expert collectives of a forward, and of the backward of another chunk.
SlotEvents::Loads SlotEvents::experts(Count q, Count backward_q) const {
  Loads all;
  const auto add = [&](const ChunkUnit& u, const std::vector<RowPass>& rows, bool backward) {
    for (const RowPass& row : rows)
      for (const Leg& l : row.legs)
        for (const GroupCollective& e : l.collectives)
          if (e.group == Group::expert) {
            Load& load = all.chain.emplace_back(collective_call(u, e));
            load.lane = Lane::experts;
            load.within = l.works.front().kind;
            load.backward = backward;
          }
  };
  for (const ChunkUnit& u : chunk(q).units) add(u, u.forward, false);
  const std::vector<ChunkUnit>& units = chunk(backward_q).units;
  for (std::size_t k = units.size(); k-- > 0;) add(units[k], units[k].backward, true);
  return all;
}

void SlotEvents::work_of_pair(Count q, Count backward_q) {
  forward(q);
  gradients(backward_q, Gradients::inputs);
  gradients(backward_q, Gradients::weights);
}

void SlotEvents::run_pair(Count q, Count backward_q) {
  const auto one_by_one = [&] {
    run_forward(q);
    run_backward(backward_q);
  };
  const auto both = [&] { work_of_pair(q, backward_q); };
  const Loads others = experts(q, backward_q);
  const Seconds longest = measure(one_by_one), all = others.seconds();
  apart_ = true;
  const Seconds own = measure(both), overlap = sharing_.overlap(own, all);
  const bool gains = all > Seconds() && own + all - overlap < longest;
  if (gains) beside(others, overlap, own, both);
  apart_ = false;
  if (!gains) one_by_one();
}

void SlotEvents::run(SlotKind kind, Count q, Count backward_q) {
  switch (kind) {
    case SlotKind::forward:
      return run_forward(q);
    case SlotKind::backward:
      return run_backward(backward_q);
    case SlotKind::backward_input:
      backward_ = true;
      send(backward_q);
      return gradients(backward_q, Gradients::inputs);
    case SlotKind::backward_weight:
      return gradients(backward_q, Gradients::weights);
    case SlotKind::forward_and_backward:
      return run_pair(q, backward_q);
  }
}

ChunkTime SlotEvents::times(Count q) {
  number_ = 0;
  const auto of = [&](SlotKind kind, Count other) { return measure([&] { run(kind, q, other); }); };
  const bool pairs = p_.ranks > 1 && has_pairs(p_.schedule);
  return {.forward = of(SlotKind::forward, q),
          .backward_input = of(sharing_.apart ? SlotKind::backward_input : SlotKind::backward, q),
          .backward_weight = sharing_.apart ? of(SlotKind::backward_weight, q) : Seconds(),
          .paired = pairs ? of(SlotKind::forward_and_backward, model_chunks(p_) - 1 - q) : Seconds()};
}

Seconds SlotEvents::forward_of(const ChunkUnit& u) {
  return measure([&] { pass(u, u.forward); });
}

SlotTasks SlotEvents::put(Count rank, const Slot& slot, const Task& whole) {
  whole_ = whole;
  rank_ = rank;
  index_ = chunk_index(p_, {rank, slot.chunk});
  backward_index_ = chunk_index(p_, {rank, gradient_chunk(slot)});
  number_ = slot.micro_batch % micro_batches_per_direction(p_);
  first_ = runs_forward(slot.kind) && number_ == 0;
  backward_ = false;
  elapsed_ = {};
  const std::size_t begin = now_ = put_task({.lane = Lane::compute});
  run(slot.kind, whole.chunk, whole.backward_chunk);
  const std::size_t end = put_task({.lane = Lane::compute});
  timeline_.wait_for(end, now_);
  return {begin, end};
}

}  // namespace llmcalc
