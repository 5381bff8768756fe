#include "report/commands/plan_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "ask/answer/process_estimate.hpp"
#include "ask/request/capability.hpp"
#include "ask/request/options/options.hpp"
#include "calc/training/offload.hpp"
#include "text/counted.hpp"
#include "text/elapsed.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

/// The combined progress of all shares of a search.
class SearchProgress {
 public:
  SearchProgress(Runner& runner, std::size_t shares, const SearchTask& task)
      : runner_(runner), task_(task), done_(shares) {
    runner_.show(task_.what + "searching");
  }
  void show(std::size_t share, double done, const Found* best) {
    const std::lock_guard lock(mutex_);
    done_[share] = done;
    double all = 0;
    for (const double d : done_) all += d / static_cast<double>(done_.size());
    if (best != nullptr && (step_.value == 0 || best->step < step_)) step_ = best->step;
    const std::string found = step_.value == 0 ? "no plan fits yet" : "best " + seconds_text(step_);
    runner_.show(fmt::format("{}{:.0f} % searched, {}{}", task_.what, 100 * all, found, left(all)));
  }
  bool over() const { return task_.limit && elapsed_.seconds() > *task_.limit; }

 private:
  /// The remaining time. Empty at the start, because the first keys are tried before sorting and do not predict the
  /// total time; also empty if this is one of several searches.
  std::string left(double done) const {
    constexpr double least_share = 0.02;
    return task_.of_many || done < least_share ? "" : left_text(elapsed_.seconds(), done);
  }

  Runner& runner_;
  const SearchTask& task_;
  std::mutex mutex_;
  std::vector<double> done_;
  Seconds step_;
  Elapsed elapsed_;
};

/// Offloads in ascending order of bytes on the host.
constexpr std::array offloads{"optimizer", "activations", "optimizer,activations", "optimizer,weights,activations"};

}  // namespace

SearchResult spread_search(Runner& runner, const Space& space, const SearchTask& task) {
  const std::size_t shares = runner.width();
  std::atomic<bool> enough = false;
  std::vector<SearchResult> parts(shares);
  SearchProgress progress(runner, shares, task);
  runner.each(shares, [&](std::size_t i) {
    const Watch watch{.stop = [&] { return runner.stopped() || enough.load() || progress.over(); },
                      .progress =
                          [&, i](double done, const Found* best) {
                            if (task.until == Until::fit && best != nullptr) enough = true;
                            progress.show(i, done, best);
                          },
                      .until = task.until};
    parts[i] = search(space, {static_cast<Count>(i), static_cast<Count>(shares)}, watch);
  });
  SearchResult all = merge(space, parts);
  prefer_free_memory(all.best);
  return all;
}

void ask_with_offload(Request& r, Space& space,
                      const std::function<bool(const Space& space, const std::string& how)>& ask) {
  const bool has_host = space.cluster.device.host.link.value > 0;
  if (ask(space, "") || r.gave("--offload") || !has_host) return;
  for (const char* what : offloads) {
    Request with = r;
    Space other = space;
    give(with, *find_option("--offload"), what);
    if (with.software && !with.any_software && unmet(*with.software, training_demands(with))) continue;
    other.plan.offload = with.plan.offload;
    if (other.plan.offload.optimizer.numerator > 0 && !updates_on_host(space.plan)) continue;
    if (!ask(other, fmt::format("with --offload {}, ", what))) continue;
    r = with;
    space = other;
    return;
  }
  space.offload_tried = true;
}

SearchResult search_with_offload(Runner& runner, Request& r, Space& space, const SearchTask& task) {
  std::optional<SearchResult> first, answer;
  ask_with_offload(r, space, [&](const Space& one, const std::string& how) {
    SearchTask with = task;
    with.what += how;
    SearchResult found = spread_search(runner, one, with);
    const bool ends = found.stopped || !found.best.empty();
    if (ends)
      answer = std::move(found);
    else if (!first)
      first = std::move(found);
    return ends;
  });
  return answer ? *answer : *first;
}

std::optional<Count> gpus_that_fit(Runner& runner, const Request& r, const Space& space) {
  constexpr Count times = 1024;
  constexpr double enough_seconds = 5;
  const Elapsed since;
  const auto left = [&] { return enough_seconds - since.seconds(); };
  const Count asked = space.gpus.back();
  const Count most = times * std::min<Count>(asked, 1 << 20);
  for (Count n = 1; n <= most && left() > 0; n *= 2) {
    if (n <= asked) continue;
    Request one = r;
    Space more = space;
    more.gpus = {n};
    if (!r.gave("--global-batch")) more.plan.global_batch = n;
    bool fits = false;
    ask_with_offload(one, more, [&](const Space& s, const std::string&) {
      const SearchResult found =
          spread_search(runner, s, {.what = counted(n, "GPU") + ", ", .until = Until::fit, .limit = left()});
      fits = !found.best.empty();
      return fits || found.stopped;
    });
    if (fits) return n;
  }
  return std::nullopt;
}

}  // namespace llmcalc
