#pragma once
/// Searches all plans of a key: all stage counts, schedules and ZeRO stages. The plans of a key share a price list.

#include <array>
#include <map>
#include <optional>

#include "search/ranking.hpp"
#include "search/search.hpp"
#include "search/staging.hpp"

namespace llmcalc {

/// Compares the plans of several keys, one key at a time, and keeps the best.
class KeySearch {
 public:
  /// `until`: Until::fit if any plan that fits suffices.
  explicit KeySearch(const Space& space, Until until = Until::all);
  void search(const Candidate& key);
  /// Approximate objective value of the key's best plan, computed without pipeline stalls. Used to order the keys.
  double promise(const Candidate& key);
  const Best& best() const { return best_; }
  const Front& front() const { return front_; }
  const SearchCounts& counts() const { return counts_; }
  /// Whether the search can end: any plan that fits suffices, and one was found.
  bool ends() const { return until_ == Until::fit && !best_.list().empty(); }

 private:
  /// A class of model chunks with its prices.
  struct PricedClass {
    ChunkAlive alive{};
    std::array<ChunkSeconds, 4> seconds{};  ///< seconds under each ZeRO stage
  };
  /// States and live tensors of a rank that may be the fullest.
  struct PricedRank {
    HeldSums sums{};
    StageAlive alive{};
  };

  const Prices& prices(bool accumulate);
  const Prices& sizes(bool accumulate);
  const RowTimes& rows(bool sharded, Efficiency e);
  void begin(const Candidate& key);
  void forget_rows();
  double promised();
  bool take_stages(Count stages);
  void shard_by(Zero zero);
  void search_stages(Count stages);
  bool exceeds_alone();
  bool exceeds_memory();
  Candidate any_micro_batch(Count stages) const;
  bool is_known_too_large(Count stages) const;
  void count_too_large(const std::vector<Run>& all);
  void search_run(const Run& run);
  bool is_promising(const Pipeline& p, Seconds least, Bytes bytes);
  bool fits(Bytes bytes, Bytes host) const;
  void change_splitting(bool splits);
  void price_staging(const Pipeline& p);
  StageAlive alive_at(const SavedMoment& moment) const;
  void price_ranks(const Pipeline& p);
  void price_classes();
  void price_sharded(Zero zero);
  Seconds least_pipelined(const Pipeline& p, Zero zero, bool sums);
  Seconds least_update() const;
  Bytes peak(Bytes& host) const;
  bool can_enter(Seconds step, Bytes bytes) const;
  Seconds nearly();  ///< step time, equal to exact() up to rounding
  Seconds exact();   ///< step time, summed exactly as in train()

  const Space& space_;
  Until until_;
  Bytes usable_;
  Best best_;
  Front front_;
  SearchCounts counts_;
  Stagings stagings_;
  std::map<Count, std::vector<Run>> runs_;  // runs to try, by number of stages
  StepWorkspace room_;
  /// For each combination of the other choices, the smallest micro-batch size known to exceed the memory under every
  /// schedule.
  std::map<Candidate, Count, decltype(&simpler)> too_large_{simpler};

  // State of the current key:
  Candidate key_, now_;
  std::array<std::optional<Prices>, 2> priced_;                // prices without and with accumulated gradients
  std::array<std::array<std::optional<Prices>, 2>, 2> sized_;  // the same without a device, for Until::fit; second
                                                               // index: under selective recomputation
  // State of the current number of stages:
  Plan plan_;
  Layout layout_;
  const Prices* prices_ = nullptr;
  Efficiency efficiency_ = Efficiency::full;
  std::array<std::array<std::optional<RowTimes>, 2>, 4> rows_;  // by sharding of states (0: none) and efficiency
  std::array<std::optional<RowCosts>, 4> costs_;                // row costs by the ZeRO stage whose stalls they include
  std::array<std::optional<Links>, 2> links_;                   // links for each efficiency
  std::vector<Zero> zeros_;
  std::array<bool, 4> excluded_{};  // ZeRO stages that exceed the memory under every schedule
  // State of the current schedule and number of chunks:
  Staging* staging_ = nullptr;
  Count staging_chunks_ = 0;
  bool staging_is_v_ = false;
  bool splits_ = false;              // whether the schedule computes weight gradients separately
  Zero staging_waits_ = Zero::none;  // the ZeRO stage whose stalls the layer costs of the partition include
  std::vector<PricedClass> classes_;
  std::array<bool, 4> sharded_{};  // ZeRO stages for which the classes' seconds are computed
  std::vector<HeldSums> held_;     // sums over the rows that each kind of rank holds
  std::vector<PricedRank> ranks_;
};

}  // namespace llmcalc
