#include "search/key_search.hpp"

#include <algorithm>
#include <limits>

#include "calc/training/offload.hpp"
#include "search/least_memory.hpp"

namespace llmcalc {
namespace {

/// Tolerance for rounding in a sum of times.
constexpr double slack = 1 - 1e-9;
/// Tolerance for sums of memory shares, each of which is rounded to bytes.
constexpr double memory_slack = 1 - 1e-6;

}  // namespace

KeySearch::KeySearch(const Space& space, Until until)
    : space_(space), until_(until), usable_(usable(space)), best_(space.best) {}

const Prices& KeySearch::prices(bool accumulate) {
  std::optional<Prices>& p = priced_[accumulate ? 1 : 0];
  if (!p) p = price(space_.arch, plan_, layout_, space_.cluster.device);
  return *p;
}

/// Prices for lower bounds on memory. If any plan that fits suffices, they have no times, and no recomputation and full
/// recomputation share them.
const Prices& KeySearch::sizes(bool accumulate) {
  if (until_ == Until::all) return prices(accumulate);
  std::optional<Prices>& p = sized_[accumulate ? 1 : 0][key_.recompute == Recompute::selective ? 1 : 0];
  if (!p) p = price(space_.arch, plan_, layout_, {});
  return *p;
}

const RowTimes& KeySearch::rows(bool sharded, Efficiency e) {
  // Host traffic, and whether frozen weights are gathered, depend on the ZeRO stage.
  const bool by_stage = sharded && (space_.plan.offload.any() || trains_part(space_.plan));
  const std::size_t kind = by_stage ? static_cast<std::size_t>(layout_.zero) : sharded ? 1 : 0;
  std::optional<RowTimes>& r = rows_[kind][static_cast<std::size_t>(e)];
  if (!r) r = row_times(*prices_, plan_, layout_, space_.cluster, *links_[static_cast<std::size_t>(e)], e);
  return *r;
}

/// Makes a key the current one. Keys with equal prices share one price list.
void KeySearch::begin(const Candidate& key) {
  if (!priced_alike(key_, key))
    for (std::optional<Prices>& p : priced_) p.reset();
  if (!sharded_alike(key_, key))
    for (auto& of_kind : sized_)
      for (std::optional<Prices>& p : of_kind) p.reset();
  now_ = key_ = key;
}

/// Resets the entries one by one, because assigning empty arrays would write all of their memory.
void KeySearch::forget_rows() {
  for (auto& of_kind : rows_)
    for (std::optional<RowTimes>& r : of_kind) r.reset();
  for (std::optional<RowCosts>& c : costs_) c.reset();
}

double KeySearch::promise(const Candidate& key) {
  begin(key);
  const std::vector<Count> stages = stage_counts(space_, key);
  for (auto most = stages.rbegin(); most != stages.rend(); ++most)
    if (take_stages(*most) && !exceeds_memory()) return promised();
  return std::numeric_limits<double>::infinity();
}

/// Objective value for the current number of stages, without pipeline stalls and without stalls for collectives of
/// sharded states.
double KeySearch::promised() {
  layout_.zero = now_.zero = Zero::none;
  layout_.hsdp = 0;
  prices_ = &prices(micro_batches(plan_, layout_) > 1);
  const RowTimes times = row_times(*prices_, plan_, layout_, space_.cluster, leading(*prices_));
  const RowCosts costs = row_costs(times, prices_->kinds);
  double all = costs.embedding + costs.head;
  for (std::size_t k = 0; k < prices_->kinds.size(); ++k)
    all += static_cast<double>(prices_->kinds[k].count) * costs.layer[k];
  const Seconds step(all * static_cast<double>(space_.plan.global_batch) /
                     static_cast<double>(mul(now_.micro_batch, now_.gpus / mul(now_.tp, now_.cp))));
  return value_of(space_, now_.gpus, step, {});
}

void KeySearch::search(const Candidate& key) {
  begin(key);
  for (const Count stages : stage_counts(space_, key)) {
    if (ends()) return;
    search_stages(stages);
  }
}

/// Sets the plan and layout for a number of stages, with the highest possible ZeRO stage. Returns whether the layout is
/// possible.
bool KeySearch::take_stages(Count stages) {
  now_ = key_;
  now_.pp = stages;
  now_.dp = now_.gpus / mul(now_.tp, now_.cp, stages);
  zeros_ = zeros(space_, now_);
  if (zeros_.empty()) return false;
  now_.zero = zeros_.back();
  if (layout_objection(space_, now_).obstacle != Obstacle::none) return false;
  plan_ = plan_of(space_, now_);
  layout_ = layout_of(space_, now_);
  return true;
}

void KeySearch::shard_by(Zero zero) {
  layout_.zero = now_.zero = zero;
  layout_.hsdp = zero == Zero::none ? 0 : space_.layout.hsdp;
}

void KeySearch::search_stages(Count stages) {
  if (until_ == Until::fit && is_known_too_large(stages)) return;
  const bool possible = take_stages(stages);
  if (zeros_.empty()) return;
  const auto [at, is_new] = runs_.try_emplace(stages);
  if (is_new) at->second = runs(space_, stages);
  const std::vector<Run>& all = at->second;
  const Count plans = static_cast<Count>(all.size() * zeros_.size());
  counts_.candidates += plans;
  if (!possible) {
    counts_.impossible += plans;
    return;
  }
  if (exceeds_memory()) return count_too_large(all);
  prices_ = &prices(micro_batches(plan_, layout_) > 1);
  for (const Zero zero : zeros_) {
    shard_by(zero);
    excluded_[static_cast<std::size_t>(zero)] = exceeds_alone();
  }
  efficiency_ = leading(*prices_);
  forget_rows();
  for (const Efficiency e : {Efficiency::full, Efficiency::estimated})
    links_[static_cast<std::size_t>(e)].emplace(layout_, space_.cluster, rates_of(*prices_, e).links);
  staging_ = nullptr;
  for (const Run& run : all) search_run(run);
}

/// Whether a lower bound on the memory, which holds for every partition and schedule, exceeds the device's memory.
bool KeySearch::exceeds_alone() {
  try {
    const double least =
        least_peak(sizes(micro_batches(plan_, layout_) > 1), plan_, layout_, space_.cluster.device.achieved.overhead);
    return memory_slack * least > static_cast<double>(usable_.value);
  } catch (const Overflow&) {
    return false;
  }
}

/// Whether a lower bound shows that all plans with this number of stages exceed the memory. If so, stores the
/// micro-batch size, because larger micro-batches exceed the memory, too.
bool KeySearch::exceeds_memory() {
  if (is_known_too_large(now_.pp)) return true;
  if (!exceeds_alone()) return false;
  too_large_[any_micro_batch(now_.pp)] = now_.micro_batch;
  return true;
}

/// The current key, with the given number of stages and the smallest micro-batch. Lower bounds on memory do not depend
/// on the number of recomputed layers.
Candidate KeySearch::any_micro_batch(Count stages) const {
  Candidate any = key_;
  any.pp = stages;
  any.micro_batch = 1;
  any.block = 0;
  return any;
}

bool KeySearch::is_known_too_large(Count stages) const {
  const auto known = too_large_.find(any_micro_batch(stages));
  return known != too_large_.end() && known->second <= key_.micro_batch;
}

/// Counts all plans with this number of stages as too large, or as impossible if their schedule is invalid.
void KeySearch::count_too_large(const std::vector<Run>& all) {
  for (const Run& run : all) {
    layout_.schedule = run.schedule;
    layout_.chunks = run.chunks;
    const bool possible = now_.pp == 1 || flaw(pipeline_of(plan_, layout_)) == PipelineFlaw::none;
    (possible ? counts_.too_large : counts_.impossible) += static_cast<Count>(zeros_.size());
  }
}

bool KeySearch::fits(Bytes bytes, Bytes host) const {
  return bytes <= usable_ && space_.cluster.device.host.holds(host);
}

/// Whether a plan may enter the lists, according to lower bounds on its time. Always true if the search ends at the
/// first plan that fits.
bool KeySearch::is_promising(const Pipeline& p, Seconds least, Bytes bytes) {
  if (until_ == Until::fit) return true;
  const Zero zero = layout_.zero;
  const Seconds update = least_update();
  const Seconds work = space_.plan.offload.any() ? least_pipelined(p, zero, false) : least;
  if (!can_enter(slack * (work + update), bytes)) return false;
  if (now_.pp > 1 && !can_enter(slack * (least_pipelined(p, zero, true) + update), bytes)) return false;
  return can_enter(slack * nearly(), bytes);
}

void KeySearch::search_run(const Run& run) {
  layout_.schedule = now_.schedule = run.schedule;
  layout_.chunks = now_.chunks = run.chunks;
  const Pipeline p = pipeline_of(plan_, layout_);
  if (now_.pp > 1 && flaw(p) != PipelineFlaw::none) {
    counts_.impossible += static_cast<Count>(zeros_.size());
    return;
  }
  const Staging* of_ranks = nullptr;
  Seconds least;
  for (const Zero zero : zeros_) {
    shard_by(zero);
    if (excluded_[static_cast<std::size_t>(zero)]) {
      ++counts_.too_large;
      continue;
    }
    price_staging(p);
    if (of_ranks != staging_) {
      price_ranks(p);
      least = least_pipelined(p, Zero::none, false);
      of_ranks = staging_;
    }
    Bytes host;
    const Bytes bytes = peak(host);
    ++(fits(bytes, host) ? counts_.fit : counts_.too_large);
    if (!fits(bytes, host) || !is_promising(p, least, bytes)) continue;
    if (space_.process_fits && !space_.process_fits(space_, now_, bytes)) continue;
    const Seconds step = exact();
    const Found found{now_, step, bytes, value_of(space_, now_.gpus, step, bytes)};
    best_.add(found);
    front_.add(found);
  }
}

/// Discards results that depend on whether schedules compute weight gradients separately: stalls in slots under ZeRO,
/// and communication that is hidden inside layers or overlapped with transfers.
void KeySearch::change_splitting(bool splits) {
  if (splits == splits_) return;
  splits_ = splits;
  sharded_.fill(false);
  const auto hides = [](const Rates& r) { return r.hidden_by_weights > r.hidden_tensor; };
  if (!plan_.offload.any() && !hides(prices_->bound_rates) && !hides(prices_->estimated_rates)) return;
  forget_rows();
  staging_ = nullptr;
}

/// Computes the partition for a schedule, with the bytes and seconds of its chunks. Schedules and ZeRO stages with
/// equal chunks share a partition.
void KeySearch::price_staging(const Pipeline& p) {
  const bool is_v = p.schedule == Schedule::zb_v;
  change_splitting(splits_backward(p.schedule));
  const Zero waits = space_.plan.offload.any() || waits_for_weights(layout_) ? layout_.zero : Zero::none;
  if (staging_ != nullptr && staging_chunks_ == p.chunks && staging_is_v_ == is_v && staging_waits_ == waits) return;
  if (staging_is_v_ != is_v) forget_rows();  // in a V schedule, the token embedding is not copied to the last stage
  const Staging* before = staging_chunks_ == p.chunks && staging_is_v_ == is_v ? staging_ : nullptr;
  staging_chunks_ = p.chunks;
  staging_is_v_ = is_v;
  staging_waits_ = waits;
  std::optional<RowCosts>& costs = costs_[static_cast<std::size_t>(waits)];
  if (!costs) costs = row_costs(*prices_, plan_, layout_, rows(waits != Zero::none, efficiency_));
  const Partition spread = llmcalc::partition(*prices_, plan_, layout_, *costs);
  if (before != nullptr && before->partition() == spread) return;
  staging_ = &stagings_.of(prices_->kinds, p, spread);
  price_classes();
}

/// Prices the chunk classes without sharded states, and sums the rows that each kind of rank holds.
void KeySearch::price_classes() {
  const Zero zero = layout_.zero;
  layout_.zero = Zero::none;
  const RowTimes& used = rows(false, efficiency_);
  classes_.clear();
  for (const ModelChunk& c : staging_->classes())
    classes_.push_back(
        {.alive = chunk_alive(*prices_, plan_, c), .seconds = {chunk_seconds(*prices_, used, layout_, c)}});
  layout_.zero = zero;
  sharded_.fill(false);
  held_.clear();
  for (const Count r : staging_->kinds_of_ranks()) held_.push_back(held_sums(*prices_, staging_->held(r)));
}

/// Live activations of a rank at one point in time, including activations in host memory.
StageAlive KeySearch::alive_at(const SavedMoment& moment) const {
  StageAlive alive;
  for (const SavedOfClass& k : moment)
    add(alive, classes_[static_cast<std::size_t>(k.chunk_class)].alive, k.activations, k.for_weights, k.activations);
  return alive;
}

/// Computes the live tensors of the ranks that may be the fullest.
void KeySearch::price_ranks(const Pipeline& p) {
  ranks_.clear();
  for (const RankSaved& r : staging_->saved(p)) {
    PricedRank rank{.sums = held_[staging_->kind_of_rank(r.rank)]};
    Bytes host;
    for (const SavedMoment& m : r.moments) {
      const StageAlive a = alive_at(m);
      host = std::max(host, a.host);
      if (&m == r.moments.data() || a.saved + a.rest > rank.alive.saved + rank.alive.rest) rank.alive = a;
    }
    rank.alive.host = host;
    ranks_.push_back(rank);
  }
}

/// Peak memory of the fullest rank; sets `host` to the largest host memory of any rank.
Bytes KeySearch::peak(Bytes& host) const {
  Bytes most;
  for (const PricedRank& r : ranks_) {
    const Memory m = stage_memory(*prices_, r.sums, r.alive, plan_, layout_, space_.cluster.device.achieved.overhead);
    most = std::max(most, m.peak);
    host = std::max(host, m.host);
  }
  return most;
}

/// Computes the seconds of the chunk classes under a ZeRO stage.
void KeySearch::price_sharded(Zero zero) {
  const auto stage = static_cast<std::size_t>(zero);
  if (zero == Zero::none || sharded_[stage]) return;
  sharded_[stage] = true;
  const RowTimes& used = rows(true, efficiency_);
  const std::span<const ModelChunk> chunks = staging_->classes();
  for (std::size_t i = 0; i < chunks.size(); ++i)
    classes_[i].seconds[stage] = chunk_seconds(*prices_, used, layout_, chunks[i], micro_batches(plan_, layout_));
}

/// Lower bound on the seconds until all gradients are reduced: the bound of calc/pipeline/bound.hpp, plus the
/// reduction after a rank's last backward. If ranks update without waiting for each other, the slowest rank
/// determines the bound. `sums`: whether the bound includes gathering weights and reducing gradients. With Zero::none
/// and without `sums`, the result bounds all ZeRO stages, because sharding only adds stalls. Under offload, each ZeRO
/// stage needs its own bound, because higher stages have smaller shards.
Seconds KeySearch::least_pipelined(const Pipeline& p, Zero zero, bool sums) {
  price_sharded(zero);
  const auto seconds = [&](Count q) -> const ChunkSeconds& {
    return classes_[static_cast<std::size_t>(staging_->class_of(q))].seconds[static_cast<std::size_t>(zero)];
  };
  const bool split = splits_backward(p.schedule), alone = validates_after(p.schedule);
  const Seconds send = p.ranks > 1 ? send_seconds(*prices_, layout_, space_.cluster, efficiency_) : Seconds();
  const double m = static_cast<double>(p.micro_batches);
  const Seconds last = sums && !split ? seconds(0).reducing : Seconds();
  Seconds in, out, longest;
  for (Count r = 0; r < p.ranks; ++r) {
    const ChunkSeconds& first = seconds(r);
    if (r > 0) {
      in += send;
      out += send;
    }
    if (sums) in = std::max(in, first.gathering);
    Seconds work, weights, summed = first.reducing;
    for (Count i = 0; i < p.chunks; ++i) {
      const ChunkSeconds& s = seconds(model_chunk(p, r, i));
      work += s.forward + s.backward_input + s.backward_weight;
      weights += s.backward_weight;
      summed = std::min(summed, s.reducing);
    }
    if (!sums) summed = Seconds();
    if (alone) {  // the rank's step starts with its own first forward
      longest = std::max(longest, (sums ? first.gathering : Seconds()) + m * work + summed);
      continue;
    }
    const Seconds back = split ? m * (work - weights) + out : m * work + out + last;
    longest = std::max(longest, in + std::max(m * work + summed, back));
    in += first.forward;
    out += first.backward_input + (split ? Seconds() : first.backward_weight);
  }
  return longest;
}

/// Lower bound on the seconds of the optimizer pass, on the device and the host: the time of the rank with the most
/// work. If ranks update without waiting for each other, any rank may determine the step, so the bound is the time of
/// the rank with the least work.
Seconds KeySearch::least_update() const {
  const Rates& rates = rates_of(*prices_, efficiency_);
  InplaceVector<Seconds, max_layers> all;
  for (const HeldSums& s : held_)
    all.push(update_seconds(updated_states(s, plan_, layout_), plan_, rates).total({}, 1));
  return validates_after(layout_.schedule) && now_.pp > 1 ? *std::min_element(all.begin(), all.end())
                                                          : *std::max_element(all.begin(), all.end());
}

bool KeySearch::can_enter(Seconds step, Bytes bytes) const {
  return best_.can_enter(value_of(space_, now_.gpus, step, bytes)) || front_.can_enter(step, bytes);
}

Seconds KeySearch::nearly() {
  const RowTimes& r = rows(now_.zero != Zero::none, efficiency_);
  return step_seconds(*prices_, plan_, layout_, space_.cluster, staging_->partition(), r, efficiency_, room_);
}

Seconds KeySearch::exact() {
  const bool sharded = now_.zero != Zero::none;
  const RowTimes &bound = rows(sharded, Efficiency::full), &used = rows(sharded, efficiency_);
  return both_steps(*prices_, plan_, layout_, space_.cluster, staging_->partition(), bound, used, room_)
      .estimate.total();
}

}  // namespace llmcalc
