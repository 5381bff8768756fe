#include "search/neighbours.hpp"

#include <algorithm>

namespace llmcalc {
namespace {

/// The values before and after n in a sorted list.
std::vector<Count> beside(const std::vector<Count>& all, Count n) {
  std::vector<Count> two;
  const auto at = std::lower_bound(all.begin(), all.end(), n);
  if (at != all.begin()) two.push_back(*std::prev(at));
  const auto after = std::upper_bound(all.begin(), all.end(), n);
  if (after != all.end()) two.push_back(*after);
  return two;
}

/// Resets choices that the other choices make meaningless.
Candidate settled(const Space& space, Candidate c) {
  if (c.tp == 1) {
    c.sp = false;
    c.etp = std::min<Count>(c.etp, 0);
  }
  if (c.pp == 1) {
    c.schedule = Schedule::one_f_one_b;
    c.chunks = 1;
  }
  if (c.dp > 0 && !can_shard(space, c)) c.zero = Zero::none;
  return c;
}

/// Sets dp to use all devices. Returns false if the devices do not divide evenly.
bool fill(Candidate& c) {
  const Count replica = mul(c.tp, c.cp, c.pp);
  if (c.gpus % replica != 0) return false;
  c.dp = c.gpus / replica;
  return true;
}

class Neighborhood {
 public:
  Neighborhood(const Space& space, const Candidate& plan) : space_(space), plan_(plan), here_(evaluate(space, plan)) {}

  std::vector<Neighbor> run() {
    degrees();
    for (const Count n : beside(divisors(std::max<Count>(space_.arch.moe.experts, 1)), plan_.ep))
      try_with(PlanChange::ep, [&](Candidate& c) { c.ep = n; });
    if (plan_.tp > 1) try_with(PlanChange::sp, [&](Candidate& c) { c.sp = !c.sp; });
    if (plan_.schedule == Schedule::interleaved)
      for (const Count n : {plan_.chunks - 1, plan_.chunks + 1})
        if (n > 1) try_with(PlanChange::chunks, [&](Candidate& c) { c.chunks = n; });
    for (const Count n : beside(powers_of_two(space_.plan.global_batch), plan_.micro_batch))
      try_with(PlanChange::micro_batch, [&](Candidate& c) { c.micro_batch = n; });
    kinds();
    std::stable_sort(all_.begin(), all_.end(),
                     [](const Neighbor& a, const Neighbor& b) { return a.change < b.change; });
    return std::move(all_);
  }

 private:
  void degrees() {
    const std::vector<Count> numbers = divisors(plan_.gpus);
    for (const auto& [change, degree] :
         {std::pair{PlanChange::tp, &Candidate::tp}, std::pair{PlanChange::cp, &Candidate::cp},
          std::pair{PlanChange::pp, &Candidate::pp}})
      for (const Count n : beside(numbers, plan_.*degree))
        if (n == 1 || launches(degree)) degree_step(change, degree, n);
  }
  /// Sets a degree to n. To keep the number of devices, changes the number of replicas or, if they do not divide
  /// evenly, of stages or context ranks.
  void degree_step(PlanChange change, Count Candidate::*degree, Count n) {
    Candidate c = plan_;
    c.*degree = n;
    for (Count Candidate::*from : {&Candidate::dp, &Candidate::pp, &Candidate::cp}) {
      Candidate given = c;
      if (from == degree) continue;
      if (from != &Candidate::dp) {
        const Count left = plan_.*from * plan_.*degree;
        if (left % n != 0) continue;
        given.*from = left / n;
      }
      if (fill(given)) return judge(change, settled(space_, given));
    }
  }
  void kinds() {
    for (const Recompute r : {Recompute::none, Recompute::selective, Recompute::full})
      if (r != plan_.recompute || plan_.block > 0)
        try_with(PlanChange::recompute, [&](Candidate& c) {
          c.recompute = r;
          c.block = 0;
        });
    for (const Count n : beside(space_.blocks, plan_.block))
      if (plan_.recompute == Recompute::full) try_with(PlanChange::recompute, [&](Candidate& c) { c.block = n; });
    if (can_shard(space_, plan_))
      for (const int step : {-1, 1})
        if (const int z = static_cast<int>(plan_.zero) + step;
            z >= 0 && z <= static_cast<int>(Zero::weights) && launches(static_cast<Zero>(z)))
          try_with(PlanChange::zero, [&](Candidate& c) { c.zero = static_cast<Zero>(z); });
    if (plan_.pp == 1) return;
    for (const Schedule s : space_.launchable.schedules)
      if (s != plan_.schedule)
        try_with(PlanChange::schedule, [&](Candidate& c) {
          c.schedule = s;
          c.chunks = std::max<Count>(fixed_chunks(s), s == Schedule::interleaved ? 2 : 1);
        });
  }

  bool launches(Count Candidate::*degree) const {
    const Launchable& all = space_.launchable;
    return degree == &Candidate::tp ? all.tp : degree == &Candidate::cp ? all.cp : all.pp;
  }
  bool launches(Zero z) const {
    const Launchable& all = space_.launchable;
    return (plan_.pp > 1 ? all.zero_in_pipeline : all.zero)[static_cast<std::size_t>(z)];
  }

  template <typename F>
  void try_with(PlanChange change, const F& alter) {
    Candidate c = plan_;
    alter(c);
    judge(change, settled(space_, c));
  }
  void judge(PlanChange change, const Candidate& c) {
    Neighbor n{.change = change, .plan = evaluate(space_, c)};
    if (n.plan.possible()) {
      n.term = most_grown(space_, here_, n.plan);
      n.part = most_grown(here_.time, n.plan.time);
      n.slower = n.plan.found.step - here_.found.step;
      n.verdict = verdict(n.plan);
      if (!n.plan.fits) lack(n);
      if (n.verdict == Verdict::larger) n.over = n.plan.found.peak - here_.found.peak;
    }
    all_.push_back(n);
  }
  /// Sets the bytes by which the plan exceeds the capacity of the device or, if its capacity is known, of the host.
  void lack(Neighbor& n) const {
    const HostSide& host = space_.cluster.device.host;
    n.over = n.plan.found.peak - usable(space_);
    n.on_host = !host.holds(n.plan.host) && n.plan.host - host.capacity > n.over;
    if (n.on_host) n.over = n.plan.host - host.capacity;
  }
  Verdict verdict(const Evaluated& e) const {
    if (!e.fits) return Verdict::too_large;
    const bool larger = e.found.peak > here_.found.peak, slower = e.found.step > here_.found.step;
    if (space_.objective == Objective::memory && larger) return Verdict::larger;
    if (slower)
      return space_.objective != Objective::memory || e.found.peak == here_.found.peak ? Verdict::slower
                                                                                       : Verdict::no_worse;
    return larger && e.found.step == here_.found.step ? Verdict::larger : Verdict::no_worse;
  }

  const Space& space_;
  const Candidate& plan_;
  Evaluated here_;
  std::vector<Neighbor> all_;
};

}  // namespace

std::vector<Neighbor> neighbors(const Space& space, const Candidate& plan) { return Neighborhood(space, plan).run(); }

}  // namespace llmcalc
