#include "search/reverse.hpp"

#include <algorithm>

#include "calc/training/offload.hpp"

namespace llmcalc {

Offer offer(const Space& space, double tokens, std::optional<Seconds> deadline, const Searching& searching) {
  Space joined = space;
  joined.gpus = joined_numbers(space);
  Offer o;
  for (const OfNumber& n : search_numbers(joined, searching)) {
    o.stopped = o.stopped || n.found.stopped;
    if (n.found.best.empty()) continue;
    const Found& f = n.found.best[0];
    if (!o.fastest || f.step < o.fastest->step) o.fastest = f;
    const bool in_time = !deadline || run_time(space, f, tokens) <= *deadline;
    if (in_time && (!o.best || f.value < o.best->value)) o.best = f;
  }
  return o;
}

namespace {

Bytes usable_of(const Setup& s) {
  return Bytes(static_cast<Count>(s.plan.memory_utilization * static_cast<double>(s.cluster.device.memory.value)));
}

/// Bytes by which `needed` exceeds the capacity `there`.
Bytes beyond(Bytes needed, Bytes there) { return needed > there ? needed - there : Bytes(); }

bool is_possible(const Setup& s) { return objection(s.arch, s.plan, s.layout, s.cluster).obstacle == Obstacle::none; }

/// Whether a setup fits; a setup whose counts exceed 2^63 fits on no device.
bool does_fit(const Setup& s) {
  try {
    return is_possible(s) && lacking(s) == Bytes();
  } catch (const Overflow&) {
    return false;
  }
}

}  // namespace

Bytes lacking(const Setup& s) {
  const Prices prices = price(s.arch, s.plan, s.layout, s.cluster.device);
  const Partition p = partition(prices, s.plan, s.layout, s.cluster);
  const Bytes peak = fullest_stage(prices, s.plan, s.layout, p, s.cluster.device.achieved.overhead).memory.peak;
  const HostSide& host = s.cluster.device.host;
  const Bytes there = host.capacity == Bytes() ? Bytes() : most_on_host(prices, s.plan, s.layout, p);
  return beyond(peak, usable_of(s)) + beyond(there, host.capacity);
}

std::optional<Count> largest_micro_batch(const Setup& s) {
  const std::vector<Count> all = divisors(s.plan.global_batch / replicas(s.layout));
  for (auto n = all.rbegin(); n != all.rend(); ++n) {
    Setup other = s;
    other.plan.micro_batch = *n;
    if (does_fit(other)) return *n;
  }
  return std::nullopt;
}

std::optional<Count> largest_sequence(const Setup& s) {
  if (!s.plan.documents.empty()) return std::nullopt;  // the documents fill a sequence exactly
  const Count context = ranks(s.layout, Group::context), unit = context > 1 ? 2 * context : 1;
  constexpr Count longest = Count{1} << 28;
  const Count most = (s.arch.learned_rows() > 0 ? s.arch.learned_rows() : longest) / unit;
  const auto fits = [&](Count units) {
    Setup other = s;
    other.plan.seq = mul(units, unit);
    return does_fit(other);
  };
  if (most < 1 || !fits(1)) return std::nullopt;
  Count low = 1, high = most + 1;  // fits(low) and not fits(high)
  while (high - low > 1) {
    const Count middle = high > 2 * low ? 2 * low : low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return mul(low, unit);
}

namespace {

/// Largest global batch under GPipe, which holds the activations of all micro-batches of a step. Found by doubling,
/// then bisection.
std::optional<Count> largest_gpipe_batch(const Setup& s) {
  const auto batch = [&](Count m) { return mul(m, s.plan.micro_batch, replicas(s.layout)); };
  const auto fits = [&](Count m) {
    Setup other = s;
    other.plan.global_batch = batch(m);
    return does_fit(other);
  };
  if (!fits(1)) return std::nullopt;
  Count low = 1, high = 2;
  while (fits(high)) high = 2 * (low = high);
  while (high - low > 1) {
    const Count middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return batch(low);
}

}  // namespace

std::optional<Count> largest_global_batch(const Setup& s) {
  const Count stages = ranks(s.layout, Group::pipeline);
  if (stages > 1 && s.layout.schedule == Schedule::gpipe) return largest_gpipe_batch(s);
  std::optional<Count> most;
  for (Count m = 1; m <= 4 * stages; ++m) {
    Setup other = s;
    other.plan.global_batch = mul(m, s.plan.micro_batch, replicas(s.layout));
    if (!is_possible(other)) continue;
    if (!does_fit(other)) return most;
    most = other.plan.global_batch;
  }
  return most ? std::optional<Count>(0) : most;
}

namespace {

/// For each kind of change, tries increasing amounts.
class Mender {
 public:
  explicit Mender(const Setup& s) : s_(s) {}

  std::vector<Remedied> run() {
    if (lacking(s_) == Bytes()) return {};
    recomputation();
    batches();
    degrees();
    states();
    if (s_.cluster.device.host.link.value > 0) offload();
    std::stable_sort(all_.begin(), all_.end(), [](const Remedied& a, const Remedied& b) {
      return spent(a) != spent(b) ? spent(a) < spent(b) : a.peak < b.peak;
    });
    return std::move(all_);
  }

 private:
  static double spent(const Remedied& r) { return static_cast<double>(devices(r.layout)) * r.step.value; }

  /// Records the setup if it fits.
  bool keep(Remedy remedy, const Setup& other) {
    if (!does_fit(other)) return false;
    const TrainEstimate e = train(other.arch, other.plan, other.layout, other.cluster);
    all_.push_back({remedy, other.plan, other.layout, e.estimate.total(), e.memory.peak});
    return true;
  }
  template <typename Alter>
  bool with(Remedy remedy, const Alter& alter) {
    Setup other = s_;
    alter(other);
    return keep(remedy, other);
  }

  void recomputation() {
    if (s_.plan.recompute == Recompute::none)
      with(Remedy::selective_recompute, [](Setup& o) { o.plan.recompute = Recompute::selective; });
    if (s_.plan.recompute != Recompute::full)
      with(Remedy::full_recompute, [](Setup& o) { o.plan.recompute = Recompute::full; });
  }
  void batches() {
    const std::vector<Count> smaller = divisors(s_.plan.micro_batch);
    for (auto n = smaller.rbegin(); n != smaller.rend(); ++n)
      if (*n < s_.plan.micro_batch && with(Remedy::smaller_micro_batch, [&](Setup& o) { o.plan.micro_batch = *n; }))
        return;
  }
  void degrees() {
    degree(Remedy::more_tensor_ranks, &Layout::tp, s_.arch.heads);
    degree(Remedy::more_stages, &Layout::pp, s_.arch.layers);
    degree(Remedy::more_context_ranks, &Layout::cp, s_.plan.seq);
    if (s_.arch.has_experts()) degree(Remedy::more_expert_ranks, &Layout::ep, s_.arch.moe.experts);
  }
  /// Tries 2, 4, 8, ... times a degree. The devices are taken from data-parallel replicas if possible.
  void degree(Remedy remedy, Count Layout::*of, Count most) {
    const Count now = s_.layout.*of;
    const bool takes_devices = remedy != Remedy::more_expert_ranks;
    for (Count factor = 2; now * factor <= most; factor *= 2) {
      Setup o = s_;
      o.layout.*of = now * factor;
      if (remedy == Remedy::more_stages) o.layout.stage_layers = {};
      if (takes_devices && o.layout.dp % factor == 0) o.layout.dp /= factor;
      if (keep(remedy, o)) return;
    }
  }
  void states() {
    for (int z = static_cast<int>(s_.layout.zero) + 1; z <= static_cast<int>(Zero::weights); ++z)
      if (with(Remedy::more_sharding, [&](Setup& o) { o.layout.zero = static_cast<Zero>(z); })) break;
    if (s_.plan.optimizer == Optimizer::adam)
      with(Remedy::adam8bit, [](Setup& o) { o.plan.optimizer = Optimizer::adam8bit; });
    if (s_.plan.gradient_bytes > 2) with(Remedy::bf16_gradients, [](Setup& o) { o.plan.gradient_bytes = 2; });
  }

  void offload() {
    const bool can_move =
        !traits(s_.plan.optimizer).orthogonalizes && optimizer_bytes(s_.plan, {.total = 1, .factored = 1}) > Bytes();
    for (const auto& [remedy, what] : {std::pair{Remedy::offloaded_activations, &Offload::activations},
                                       {Remedy::offloaded_optimizer, &Offload::optimizer},
                                       {Remedy::offloaded_weights, &Offload::weights}})
      if (s_.plan.offload.*what != Ratio{1, 1} && (can_move || what != &Offload::optimizer))
        with(remedy, [part = what](Setup& o) { o.plan.offload.*part = {1, 1}; });
  }

  const Setup& s_;
  std::vector<Remedied> all_;
};

}  // namespace

std::vector<Remedied> remedies(const Setup& s) { return Mender(s).run(); }

}  // namespace llmcalc
