#pragma once
/// A pipeline simulated from the dependencies of its slots, without any code of the engine.

#include <algorithm>
#include <compare>
#include <functional>
#include <limits>
#include <map>
#include <vector>

namespace llmcalc::oracle {

/// A forward, input gradients, weight gradients or a rank's update, for one chunk of one copy of the model.
struct Job {
  enum Kind { forward, inputs, weights, update } kind = forward;
  int copy = 0, chunk = 0, micro_batch = 0;
  auto operator<=>(const Job&) const = default;
};
/// Jobs that begin together as soon as all of them have their inputs, and take the sum of their times.
using Slot = std::vector<Job>;
using RankSlots = std::vector<Slot>;

struct Machine {
  int last_chunk = 0;
  double send = 0;  ///< between ranks; delays only its receiver
  std::function<double(const Job&)> seconds;
  std::function<int(const Job&)> rank;
};

struct Run {
  std::map<Job, double> ends;
  std::vector<double> first, last;  ///< by rank: start of its first slot, end of its last
};

/// Time at which all inputs of a job have arrived at its rank; infinity if some do not exist yet.
inline double inputs_of(const Job& j, const Slot& slot, const Machine& machine, const Run& run) {
  double all = 0;
  const auto from = [&](Job input) {
    const auto at = run.ends.find(input);
    if (at == run.ends.end())
      all = std::numeric_limits<double>::infinity();
    else
      all = std::max(all, at->second + (machine.rank(input) == machine.rank(j) ? 0 : machine.send));
  };
  const auto other = [&](Job::Kind kind, int chunk) { return Job{kind, j.copy, chunk, j.micro_batch}; };
  if (j.kind == Job::forward && j.chunk > 0) from(other(Job::forward, j.chunk - 1));
  if (j.kind == Job::inputs) from(other(Job::forward, j.chunk));
  if (j.kind == Job::inputs && j.chunk < machine.last_chunk) from(other(Job::inputs, j.chunk + 1));
  const Job before = other(Job::inputs, j.chunk);
  if (j.kind == Job::weights && std::count(slot.begin(), slot.end(), before) == 0) from(before);
  return all;
}

/// Runs every rank's slots in order, each as soon as possible.
inline Run simulate(const std::vector<RankSlots>& ranks, const Machine& machine) {
  Run run;
  std::vector<std::size_t> at(ranks.size());
  run.first.resize(ranks.size());
  run.last.resize(ranks.size());
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t r = 0; r < ranks.size(); ++r)
      for (; at[r] < ranks[r].size(); ++at[r], moved = true) {
        const Slot& slot = ranks[r][at[r]];
        double begin = run.last[r], taken = 0;
        for (const Job& j : slot) begin = std::max(begin, inputs_of(j, slot, machine, run));
        if (begin == std::numeric_limits<double>::infinity()) break;
        for (const Job& j : slot) taken += machine.seconds(j);
        for (const Job& j : slot) run.ends[j] = begin + taken;
        if (at[r] == 0) run.first[r] = begin;
        run.last[r] = begin + taken;
      }
  }
  return run;
}

}  // namespace llmcalc::oracle
