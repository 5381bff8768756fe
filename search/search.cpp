#include "search/search.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "search/key_search.hpp"

namespace llmcalc {
namespace {

/// Searches the keys of a part in turn.
class Search {
 public:
  Search(const Space& space, const SearchPart& part, const Watch& watch)
      : space_(space), watch_(watch), finder_(space) {
    const std::vector<Candidate> all = keys(space);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (static_cast<Count>(i) % part.of == part.index) keys_.push_back(all[i]);
  }
  SearchResult run() {
    SearchResult r;
    r.stopped = !find_one() || !order();
    for (; done_ < keys_.size() && !r.stopped; r.stopped = stops()) take_next();
    const auto best = finder_.best().list(), front = finder_.front().list();
    r.best.assign(best.begin(), best.end());
    r.front.assign(front.begin(), front.end());
    r.counts = finder_.counts();
    return r;
  }

 private:
  /// Searches keys that need little memory until some plan fits, so that a search that is stopped early has a result.
  bool find_one() {
    constexpr std::size_t most = 64;
    std::stable_sort(keys_.begin(), keys_.end(), [](const Candidate& a, const Candidate& b) {
      const auto rank = [](const Candidate& c) {
        return std::tuple(-static_cast<int>(c.recompute), c.block, c.micro_batch, c.cp, -c.ep, std::abs(c.tp - 8));
      };
      return rank(a) < rank(b);
    });
    while (done_ < std::min(most, keys_.size()) && finder_.best().list().empty()) {
      take_next();
      if (stops()) return false;
    }
    return true;
  }
  /// Sorts the keys, the most promising first, so that bounds soon exclude later plans from the lists.
  bool order() {
    std::vector<std::pair<double, std::size_t>> promises;
    for (std::size_t i = done_; i < keys_.size(); ++i) {
      promises.push_back({finder_.promise(keys_[i]), i});
      if (stops()) return false;
    }
    std::sort(promises.begin(), promises.end());
    std::vector<Candidate> ordered(keys_.begin(), keys_.begin() + static_cast<std::ptrdiff_t>(done_));
    for (const auto& [promise, i] : promises) ordered.push_back(keys_[i]);
    keys_ = std::move(ordered);
    return true;
  }
  void take_next() {
    finder_.search(keys_[done_]);
    report(++done_);
  }
  bool stops() const { return watch_.stop && watch_.stop(); }
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
  std::size_t done_ = 0;  // number of keys_ searched, from the front
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
