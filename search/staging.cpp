#include "search/staging.hpp"

#include <algorithm>

#include "calc/train.hpp"

namespace llmcalc {
namespace {

/// Whether `a` holds at least as many chunks of every class as `b`.
bool covers(const SavedMoment& a, const SavedMoment& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].activations < b[i].activations || a[i].for_weights < b[i].for_weights) return false;
  return true;
}

/// Collects the moments of a rank that are not covered by another moment.
class Moments {
 public:
  /// `class_of`: classes of the rank's local chunks.
  explicit Moments(std::span<const Count> class_of) {
    for (const Count c : class_of) {
      std::size_t at = 0;
      while (at < now_.size() && now_[at].chunk_class != c) ++at;
      if (at == now_.size()) now_.push_back({.chunk_class = c});
      place_.push_back(at);
    }
  }
  void slot(SlotKind kind, Count chunk, Count gradients) {
    if (runs_forward(kind)) {
      ++at(chunk).activations;
      note();
    }
    if (runs_backward(kind)) {
      --at(gradients).activations;
      if (!runs_weights(kind)) {
        ++at(gradients).for_weights;
        note();
      }
    }
    if (kind == SlotKind::backward_weight) --at(gradients).for_weights;
  }
  /// Visits the moments of an order for which alternates() is true. Peaks occur right after a forward, once the rank is
  /// as far ahead as its order permits, and recur after P micro-batches of every chunk (P: number of ranks). If all
  /// chunks are of one class, their total is constant.
  void alternate(const Pipeline& p, Count rank) {
    const Count slots = mul(p.micro_batches, p.chunks), ahead = forwards_ahead(p, rank);
    const Count period = now_.size() == 1 ? 1 : mul(p.ranks, p.chunks);
    ChunkTurns forward(p, true), backward(p, false);
    for (Count left = ahead; left > 0;) {
      Count& held = at(forward.chunk()).activations;
      const Count n = forward.pass(left);
      held += n;
      left -= n;
    }
    if (ahead == slots) note();
    for (Count left = std::min(slots - ahead, period), n = 0; left > 0; left -= n) {
      n = std::min({left, forward.left(), backward.left()});
      replace(at(backward.chunk()), at(forward.chunk()), n);
      forward.pass(n);
      backward.pass(n);
    }
  }
  std::vector<SavedMoment> take() { return std::move(all_); }

 private:
  /// Visits `n` forwards of one class, each followed by a backward of another. Saved bytes change linearly, and the
  /// classes in progress change only at the ends, so the peak is among the first two and last two moments.
  void replace(SavedOfClass& freed, SavedOfClass& added, Count n) {
    constexpr Count ends = 4;
    for (Count i = 0; i < n; ++i) {
      if (const Count skipped = n - ends; i == ends / 2 && skipped > 0) {
        added.activations += skipped;
        freed.activations -= skipped;
        i += skipped;
      }
      ++added.activations;
      note();
      --freed.activations;
    }
  }
  SavedOfClass& at(Count chunk) { return now_[place_[static_cast<std::size_t>(chunk)]]; }
  void note() {
    for (const SavedMoment& m : all_)
      if (covers(m, now_)) return;
    std::size_t left = 0;
    for (SavedMoment& m : all_)
      if (!covers(now_, m)) std::swap(all_[left++], m);
    all_.resize(std::min(left + 1, all_.size()));
    if (left < all_.size())
      all_[left] = now_;  // reuses the memory of a covered moment
    else
      all_.push_back(now_);
  }
  SavedMoment now_;
  std::vector<std::size_t> place_;
  std::vector<SavedMoment> all_;
};

/// Whether, for equal chunks, `a` peaks at least as high as `b`: each moment of `b` is covered by a moment of `a`.
bool always_fuller(const RankSaved& a, const RankSaved& b) {
  return std::all_of(b.moments.begin(), b.moments.end(), [&](const SavedMoment& m) {
    return std::any_of(a.moments.begin(), a.moments.end(), [&](const SavedMoment& n) { return covers(n, m); });
  });
}

/// Number of micro-batches above which the peak is constant, because a fixed order repeats the same steady round.
Count enough_micro_batches(const Pipeline& p) {
  return automatic(p.schedule) ? p.micro_batches : std::min(p.micro_batches, 4 * p.ranks);
}

}  // namespace

Staging::Staging(const LayerKinds& kinds, const Pipeline& p, const Partition& partition) : partition_(partition) {
  for (Count q = 0; q < partition.size(); ++q) {
    const ModelChunk c = partition[q];
    std::size_t i = 0;
    while (i < classes_.size() && !same_rows(kinds, classes_[i], c)) ++i;
    if (i == classes_.size()) classes_.push_back(c);
    class_of_.push_back(static_cast<Count>(i));
  }
  for (Count r = 0; r < p.ranks; ++r) {
    HeldRows rows;
    for (Count i = 0; i < p.chunks; ++i) add(rows, kinds, partition[model_chunk(p, r, i)]);
    held_.push_back(rows);
    const auto like = std::find_if(distinct_.begin(), distinct_.end(), [&](Count d) { return held(d) == rows; });
    kind_of_.push_back(static_cast<std::size_t>(like - distinct_.begin()));
    if (like == distinct_.end()) distinct_.push_back(r);
  }
}

const std::vector<RankSaved>& Staging::saved(const Pipeline& p) {
  Pipeline short_one = p;
  short_one.micro_batches = enough_micro_batches(p);
  const auto [at, is_new] = saved_.try_emplace({p.schedule, short_one.micro_batches});
  if (is_new) at->second = find_saved(short_one);
  return at->second;
}

bool Staging::same_chunks(const Pipeline& p, Count a, Count b) const {
  for (Count i = 0; i < p.chunks; ++i)
    if (class_of(model_chunk(p, a, i)) != class_of(model_chunk(p, b, i))) return false;
  return true;
}

std::vector<RankSaved> Staging::find_saved(const Pipeline& p) const {
  MakespanWorkspace room;
  if (automatic(p.schedule)) run_automatic(p, partition_, room);
  std::vector<RankSaved> all;
  for (Count r = 0; r < p.ranks; ++r) {
    std::vector<Count> mine;
    for (Count i = 0; i < p.chunks; ++i) mine.push_back(class_of(model_chunk(p, r, i)));
    Moments moments(mine);
    const auto visit = [&](const Slot& s) { moments.slot(s.kind, s.chunk, gradient_chunk(s)); };
    if (alternates(p.schedule))
      moments.alternate(p, r);
    else if (automatic(p.schedule))
      for (const Slot& s : room.slots(r)) visit(s);
    else
      for_each_slot(p, r, visit);
    RankSaved saved{r, moments.take()};
    const bool covered = std::any_of(all.begin(), all.end(), [&](const RankSaved& other) {
      return same_chunks(p, other.rank, r) && always_fuller(other, saved);
    });
    if (!covered) all.push_back(std::move(saved));
  }
  return all;
}

Staging& Stagings::of(const LayerKinds& kinds, const Pipeline& p, const Partition& partition) {
  const bool v = model_chunk(p, 0, p.chunks - 1) != (p.chunks - 1) * p.ranks;
  key_.clear();
  key_.push_back(static_cast<std::uint16_t>(p.ranks));
  key_.push_back(static_cast<std::uint16_t>(v ? 1 : 0));
  for (Count q = 0; q < partition.size(); ++q) key_.push_back(static_cast<std::uint16_t>(partition[q].end));
  std::unique_ptr<Staging>& s = stagings_[key_];
  if (s == nullptr) s = std::make_unique<Staging>(kinds, p, partition);
  return *s;
}

}  // namespace llmcalc
