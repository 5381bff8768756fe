#include "search/search.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "search/key_search.hpp"

namespace llmcalc {
namespace {

/// A key, and the index of its family. A family is the keys with the same prices.
struct FamilyKey {
  Candidate key;
  Count family = 0;
};

/// The keys of one part of the search, which covers every `of`-th family. If any plan that fits suffices, only the
/// smallest micro-batches, because larger ones need at least as much memory.
std::vector<FamilyKey> keys_of(const Space& space, const SearchPart& part, Until until) {
  std::vector<FamilyKey> some;
  Count family = 0;
  const Candidate* before = nullptr;
  Space least = space;
  if (until == Until::fit && space.fixed.micro_batch == 0) least.fixed.micro_batch = 1;
  const std::vector<Candidate> all = keys(least);
  const auto alike = until == Until::fit ? sharded_alike : priced_alike;
  for (const Candidate& key : all) {
    if (before != nullptr && !alike(*before, key)) ++family;
    before = &key;
    if (family % part.of == part.index) some.push_back({key, family});
  }
  return some;
}

/// Searches the keys of a part one by one.
class Search {
 public:
  Search(const Space& space, const SearchPart& part, const Watch& watch)
      : space_(space), watch_(watch), finder_(space, watch.until), keys_(keys_of(space, part, watch.until)) {}
  SearchResult run() {
    SearchResult r;
    r.stopped = !find_one() || !order();
    for (; done_ < keys_.size() && !r.stopped && !finder_.ends(); r.stopped = stops()) take_next();
    const auto best = finder_.best().list(), front = finder_.front().list();
    r.best.assign(best.begin(), best.end());
    r.front.assign(front.begin(), front.end());
    r.counts = finder_.counts();
    return r;
  }

 private:
  /// Searches keys that need little memory until a plan fits, to have a result even if the search is stopped early.
  bool find_one() {
    constexpr std::size_t most = 64;
    std::stable_sort(keys_.begin(), keys_.end(), [](const FamilyKey& a, const FamilyKey& b) {
      const auto rank = [](const Candidate& c) {
        return std::tuple(-static_cast<int>(c.recompute), c.block, c.micro_batch, c.cp, -c.ep, std::abs(c.tp - 8));
      };
      return rank(a.key) < rank(b.key);
    });
    while (done_ < std::min(most, keys_.size()) && finder_.best().list().empty()) {
      take_next();
      if (stops()) return false;
    }
    return true;
  }
  /// Sorts the remaining keys by family, the most promising family first. Bounds then exclude most later plans from
  /// the lists.
  bool order() {
    const auto rest = keys_.begin() + static_cast<std::ptrdiff_t>(done_);
    std::stable_sort(rest, keys_.end(), [](const FamilyKey& a, const FamilyKey& b) { return a.family < b.family; });
    if (watch_.until == Until::fit) return true;
    // Per key: promise of its family, number of its family, its own promise, and its index.
    std::vector<std::tuple<double, Count, double, std::size_t>> promises;
    for (std::size_t i = done_, first = 0; i < keys_.size(); ++i) {
      const Count family = keys_[i].family;
      const double promise = finder_.promise(keys_[i].key);
      if (promises.empty() || std::get<1>(promises.back()) != family) first = promises.size();
      promises.emplace_back(promise, family, promise, i);
      const double least = std::min(promise, std::get<0>(promises[first]));
      for (std::size_t k = first; k < promises.size(); ++k) std::get<0>(promises[k]) = least;
      if (stops()) return false;
    }
    std::sort(promises.begin(), promises.end());
    std::vector<FamilyKey> ordered(keys_.begin(), rest);
    for (const auto& [of_family, family, promise, i] : promises) ordered.push_back(keys_[i]);
    keys_ = std::move(ordered);
    return true;
  }
  void take_next() {
    finder_.search(keys_[done_].key);
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
  std::vector<FamilyKey> keys_;
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
