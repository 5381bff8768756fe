#include "cli/commands/plan_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "ask/answer/process_estimate.hpp"
#include "ask/request/options.hpp"
#include "calc/offload.hpp"
#include "cli/progress_line.hpp"
#include "cli/stop.hpp"
#include "report/question.hpp"
#include "report/report.hpp"
#include "text/counted.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

/// The progress of all threads together.
class SearchProgress {
 public:
  /// `line`: of a question that several searches answer; null: a line of its own.
  SearchProgress(std::size_t threads, std::string what, ProgressLine* line)
      : what_(std::move(what)), done_(threads), of_many_(line != nullptr) {
    line_ = of_many_ ? line : &own_.emplace("searching");
    line_->show(what_ + "searching");
  }
  void show(std::size_t thread, double done, const Found* best) {
    const std::lock_guard lock(mutex_);
    done_[thread] = done;
    double all = 0;
    for (const double d : done_) all += d / static_cast<double>(done_.size());
    if (best != nullptr && (step_.value == 0 || best->step < step_)) step_ = best->step;
    const std::string found = step_.value == 0 ? "nothing fits yet" : "best " + seconds_text(step_);
    line_->show(fmt::format("{}{:.0f} % searched, {}{}", what_, 100 * all, found, left(all)));
  }
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  /// The first keys are tried before they are ordered, and tell nothing of the time that all take; neither does one of
  /// several searches.
  std::string left(double done) const {
    constexpr double least_share = 0.02;
    return of_many_ || done < least_share ? "" : left_text(seconds(), done);
  }

  std::mutex mutex_;
  std::string what_;
  std::vector<double> done_;
  Seconds step_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::optional<ProgressLine> own_;
  ProgressLine* line_ = nullptr;
  bool of_many_;
};

/// Plans by the bytes that they put on the host, the fewest first.
constexpr std::array offloads{"optimizer", "activations", "optimizer,activations", "optimizer,weights,activations"};

}  // namespace

SearchResult search_on_all_cores(const Space& space, const std::string& what, Until until, std::optional<double> limit,
                                 ProgressLine* line) {
  const std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
  const std::atomic<bool>& stop = stop_flag();
  std::atomic<bool> enough = false;
  std::vector<SearchResult> parts(threads);
  SearchProgress progress(threads, what, line);
  std::vector<std::future<void>> running;
  for (std::size_t i = 0; i < threads; ++i)  // a part for which the system starts no thread waits for the others
    running.push_back(std::async(std::launch::async | std::launch::deferred, [&, i] {
      const Watch watch{.stop = [&] { return stop.load() || enough.load() || (limit && progress.seconds() > *limit); },
                        .progress =
                            [&, i](double done, const Found* best) {
                              if (until == Until::fit && best != nullptr) enough = true;
                              progress.show(i, done, best);
                            }};
      parts[i] = search(space, {static_cast<Count>(i), static_cast<Count>(threads)}, watch);
    }));
  for (std::future<void>& part : running) part.get();
  return merge(space, parts);
}

void ask_with_offload(Request& r, Space& space,
                      const std::function<bool(const Space& space, const std::string& how)>& ask) {
  const bool has_host = space.cluster.device.host.link.value > 0;
  if (ask(space, "") || r.gave("--offload") || !has_host) return;
  for (const char* what : offloads) {
    Request with = r;
    Space other = space;
    give(with, *find_option("--offload"), what);
    other.plan.offload = with.plan.offload;
    if (other.plan.offload.optimizer.numerator > 0 && !updates_on_host(space.plan)) continue;
    if (!ask(other, fmt::format("with --offload {}, ", what))) continue;
    r = with;
    space = other;
    return;
  }
  space.offload_tried = true;
}

SearchResult search_with_offload(Request& r, Space& space, const std::string& what, Until until, ProgressLine* line) {
  std::optional<SearchResult> first, answer;
  ask_with_offload(r, space, [&](const Space& one, const std::string& how) {
    SearchResult found = search_on_all_cores(one, what + how, until, std::nullopt, line);
    const bool ends = found.stopped || !found.best.empty();
    if (ends)
      answer = std::move(found);
    else if (!first)
      first = std::move(found);
    return ends;
  });
  return answer ? *answer : *first;
}

std::optional<Count> gpus_that_fit(const Request& r, const Space& space) {
  constexpr Count times = 1024;
  constexpr double enough_seconds = 5;
  const auto start = std::chrono::steady_clock::now();
  const auto left = [&] {
    return enough_seconds - std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
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
      const SearchResult found = search_on_all_cores(s, counted(n, "GPU") + ", ", Until::fit, left());
      fits = !found.best.empty();
      return fits || found.stopped;
    });
    if (fits) return n;
  }
  return std::nullopt;
}

}  // namespace llmcalc
