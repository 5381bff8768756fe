// The most that a server answers per second.

#include <algorithm>

#include "report/sections.hpp"
#include "report/serving.hpp"

namespace llmcalc {
namespace {

/// Requests that are in progress at most, on all engines.
Count most_in_progress(const Request& r, const ServingEngine& e) {
  const Count by_cache = std::max<Count>(1, e.memory.kv_tokens / usual_tokens(r));
  return mul(std::min(e.limits.sequences, by_cache), e.rules.ranks, serving_engines(r));
}

/// The same lengths, all of them waiting from the start: for rounds of those in progress.
ServingTraffic endless_queue(const Request& r, const ServingEngine& e, const ServingTraffic& traffic) {
  constexpr Count rounds = 8, fewest = 1000, most = 100'000;
  const std::vector<ServerRequest>& given = traffic.requests.requests;
  const Count n = std::clamp(mul(rounds, most_in_progress(r, e)), fewest, most);
  ServingTraffic all;
  for (Count i = 0; i < n; ++i) {
    ServerRequest q = given[static_cast<std::size_t>(i) % given.size()];
    q.at = Seconds();
    q.after = no_request;
    q.session = no_chain;
    all.requests.requests.push_back(q);
  }
  return all;
}

}  // namespace

double serving_capacity(const Request& r, const ServingEngine& e, const ServingTraffic& traffic) {
  const ServingTraffic queue = endless_queue(r, e, traffic);
  const ServingRun run = serving_run(r, e, queue, false, [](Count, Count) { return true; });
  std::vector<Ticks> ends;
  for (const Answer& a : run.run.answers) ends.push_back(a.last);
  std::sort(ends.begin(), ends.end());
  const std::size_t first = ends.size() / 4, last = ends.size() * 3 / 4;
  return static_cast<double>(last - first) / seconds(ends[last] - ends[first]).value;
}

}  // namespace llmcalc
