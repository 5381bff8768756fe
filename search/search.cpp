#include "search/search.hpp"

#include <algorithm>

#include "search/key_search.hpp"

namespace llmcalc {
namespace {

/// The keys of a part, one after another.
class Search {
 public:
  Search(const Space& space, const SearchPart& part, const Watch& watch)
      : space_(space), watch_(watch), finder_(space) {
    const std::vector<Candidate> all = keys(space);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (static_cast<Count>(i) % part.of == part.index) keys_.push_back(all[i]);
    order();
  }
  SearchResult run() {
    SearchResult r;
    for (std::size_t i = 0; i < keys_.size() && !r.stopped; ++i) {
      finder_.search(keys_[i]);
      report(i + 1);
      r.stopped = watch_.stop && watch_.stop();
    }
    const auto best = finder_.best().list(), front = finder_.front().list();
    r.best.assign(best.begin(), best.end());
    r.front.assign(front.begin(), front.end());
    r.counts = finder_.counts();
    return r;
  }

 private:
  /// The most promising keys first, so that others are soon seen not to come into the lists.
  void order() {
    std::vector<std::pair<double, std::size_t>> promises;
    for (std::size_t i = 0; i < keys_.size(); ++i) promises.push_back({finder_.promise(keys_[i]), i});
    std::sort(promises.begin(), promises.end());
    std::vector<Candidate> ordered;
    for (const auto& [promise, i] : promises) ordered.push_back(keys_[i]);
    keys_ = std::move(ordered);
  }
  void report(std::size_t done) const {
    if (!watch_.progress) return;
    const auto best = finder_.best().list();
    watch_.progress(static_cast<double>(done) / static_cast<double>(keys_.size()),
                    best.empty() ? nullptr : &best.front());
  }
  const Space& space_;
  const Watch& watch_;
  KeySearch finder_;
  std::vector<Candidate> keys_;
};

}  // namespace

SearchResult search(const Space& space, const SearchPart& part, const Watch& watch) {
  return Search(space, part, watch).run();
}

SearchResult merge(const Space& space, std::span<const SearchResult> parts) {
  Best best(space.best);
  Front front;
  SearchResult all;
  for (const SearchResult& part : parts) {
    for (const Found& f : part.best) best.add(f);
    for (const Found& f : part.front) front.add(f);
    all.counts.candidates += part.counts.candidates;
    all.counts.fit += part.counts.fit;
    all.counts.too_large += part.counts.too_large;
    all.counts.impossible += part.counts.impossible;
    all.stopped = all.stopped || part.stopped;
  }
  all.best.assign(best.list().begin(), best.list().end());
  all.front.assign(front.list().begin(), front.list().end());
  return all;
}

}  // namespace llmcalc
