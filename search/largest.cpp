#include "search/largest.hpp"

#include <algorithm>

namespace llmcalc {
namespace {

/// Whether layers a and b are of the same kind.
bool same_kind(const Arch& arch, Count a, Count b) {
  const auto alike = [&](const LayerSet& set) { return set.contains(a) == set.contains(b); };
  return alike(arch.moe.layers) && alike(arch.local.layers) && alike(arch.linear_layers) &&
         std::all_of(arch.mixers.begin(), arch.mixers.end(), [&](const LayerMixer& m) { return alike(m.layers); }) &&
         std::all_of(arch.mlps.begin(), arch.mlps.end(), [&](const LayerMlp& m) { return alike(m.layers); });
}

/// The shortest period of layer kinds in the second half, or the length of that half if it has no period.
Count period(const Arch& arch) {
  const Count half = arch.layers / 2;
  for (Count p = 1; half + p < arch.layers; ++p) {
    Count i = half + p;
    while (i < arch.layers && same_kind(arch, i, i - p)) ++i;
    if (i == arch.layers) return p;
  }
  return arch.layers - half;
}

LayerSet of_layers(const LayerSet& set, Count own, Count every, Count layers) {
  LayerSet s;
  for (Count i = 0; i < layers; ++i)
    if (i < own ? set.contains(i) : s.contains(i - every)) s.insert(i);
  return s;
}

constexpr Count usual_sequence = 1024, longest_sequence = Count{1} << 28, largest_batch = Count{1} << 24;

/// The values of a quantity to try: the unit, and in this unit the first value and the maximum.
struct Ladder {
  Count unit = 1, first = 1, most = 1;
  bool fine = true;  ///< whether the resolution is one unit; otherwise a 64th of the value
};

Ladder sequence_ladder(const Space& s) {
  const Count ranks = std::max<Count>(s.fixed.cp, 1);
  const Count unit = ranks == 1 ? 1 : s.layout.context_method == ContextMethod::ulysses ? ranks : 2 * ranks;
  const Count most = (s.arch.learned_rows() > 0 ? s.arch.learned_rows() : longest_sequence) / unit;
  return {unit, std::clamp<Count>(usual_sequence / unit, 1, std::max<Count>(most, 1)), most, false};
}

Ladder ladder(const Space& s, Largest of) {
  const Count step = mul(s.gpus[0], std::max<Count>(s.fixed.micro_batch, 1));
  switch (of) {
    case Largest::batch:
      return {.unit = step, .first = 1, .most = std::max<Count>(largest_batch / step, 4)};
    case Largest::sequence:
      return sequence_ladder(s);
    case Largest::micro_batch:
      return {.most = largest_batch};
    case Largest::layers:
      return {.first = s.arch.layers, .most = max_layers};
  }
  return {};
}

/// Tries values, with one search per value.
class Probing {
 public:
  Probing(const Space& space, const LargestQuestion& q, const Searching& searching)
      : space_(space), q_(q), searching_(searching), ladder_(ladder(space, q.of)) {}

  LargestFound run() {
    if (q_.of == Largest::micro_batch && !q_.batch_follows)
      divide();
    else if (ladder_.most >= 1)
      climb();
    return std::move(r_);
  }

 private:
  std::optional<Found> plan(Count value) {
    try {
      const SearchResult r = searching_(with_value(space_, q_, value));
      if (!r.best.empty()) return r.best[0];
      r_.stopped = r_.stopped || r.stopped;
    } catch (const Overflow&) {  // values whose counts exceed 2^63 fit on no device
    }
    return std::nullopt;
  }
  bool fits(Count units) {
    const Count value = mul(units, ladder_.unit);
    const std::optional<Found> found = plan(value);
    if (r_.stopped) return false;
    r_.tried.push_back({value, found});
    if (found && (!r_.value || *r_.value < value)) r_.value = value;
    return found.has_value();
  }
  void divide() {
    const std::vector<Count> all = divisors(space_.plan.global_batch);
    for (auto n = all.rbegin(); n != all.rend() && !r_.stopped; ++n)
      if (fits(*n)) {
        r_.bounded = n == all.rbegin();
        return;
      }
  }
  /// Whether any larger batch also fits, because a step of at least four micro-batches per stage already has the
  /// maximum number in flight.
  bool is_any() const {
    if (q_.of != Largest::batch) return false;
    const Candidate& c = r_.tried.back().plan->candidate;
    return r_.tried.back().value / mul(c.micro_batch, c.dp) >= 4 * c.pp;
  }
  void climb() {
    Count low = ladder_.first;
    if (!fits(low)) return halve(low);
    while (!(r_.any = is_any()) && low < ladder_.most && !r_.stopped) {
      const Count high = std::min(2 * low, ladder_.most);
      if (!fits(high)) return narrow(low, high);
      low = high;
    }
    r_.bounded = !r_.any && low == ladder_.most;
  }
  /// Halves a value that does not fit until it fits.
  void halve(Count high) {
    for (Count low = high / 2; low > 0 && !r_.stopped; high = low, low /= 2)
      if (fits(low)) return narrow(low, high);
  }
  void narrow(Count low, Count high) {  // low fits, high does not
    const Count grain = ladder_.fine ? 1 : std::max<Count>(1, low / 64);
    while (high - low > grain && !r_.stopped) {
      const Count middle = low + std::max<Count>((high - low) / 2 / grain, 1) * grain;
      (fits(middle) ? low : high) = middle;
    }
  }

  const Space& space_;
  const LargestQuestion& q_;
  const Searching& searching_;
  Ladder ladder_;
  LargestFound r_;
};

}  // namespace

Arch of_layers(const Arch& arch, Count layers) {
  Arch other = arch;
  const Count every = period(arch);
  other.layers = layers;
  for (LayerSet* set : {&other.moe.layers, &other.local.layers, &other.linear_layers})
    *set = of_layers(*set, arch.layers, every, layers);
  for (LayerMixer& m : other.mixers) m.layers = of_layers(m.layers, arch.layers, every, layers);
  for (LayerMlp& m : other.mlps) m.layers = of_layers(m.layers, arch.layers, every, layers);
  return other;
}

Space with_value(const Space& space, const LargestQuestion& q, Count value) {
  Space s = space;
  switch (q.of) {
    case Largest::batch:
      s.plan.global_batch = value;
      break;
    case Largest::sequence:
      s.plan.seq = value;
      break;
    case Largest::micro_batch:
      s.fixed.micro_batch = s.plan.micro_batch = value;
      if (q.batch_follows) s.plan.global_batch = mul(value, s.gpus[0]);
      break;
    case Largest::layers:
      s.arch = of_layers(space.arch, value);
      if (!s.blocks.empty()) s.blocks = powers_up_to(value / 2);
      break;
  }
  return s;
}

Count value_of(const Space& s, const LargestQuestion& q) {
  switch (q.of) {
    case Largest::batch:
      return s.plan.global_batch;
    case Largest::sequence:
      return s.plan.seq;
    case Largest::micro_batch:
      return s.plan.micro_batch;
    case Largest::layers:
      return s.arch.layers;
  }
  return 0;
}

LargestFound largest(const Space& space, const LargestQuestion& q, const Searching& searching) {
  return Probing(space, q, searching).run();
}

}  // namespace llmcalc
