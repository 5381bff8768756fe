#pragma once
/// The plans of a key: one price list, and all numbers of stages, schedules and ways to shard.

#include <array>
#include <optional>

#include "search/ranking.hpp"
#include "search/search.hpp"
#include "search/staging.hpp"

namespace llmcalc {

/// Compares the plans of one key after another, and keeps the best of all.
class KeySearch {
 public:
  explicit KeySearch(const Space& space);
  void search(const Candidate& key);
  /// About what the key's plans are worth, to begin with the best: the seconds of their work, without any waiting.
  double promise(const Candidate& key);
  const Best& best() const { return best_; }
  const Front& front() const { return front_; }
  const SearchCounts& counts() const { return counts_; }

 private:
  /// A class of chunks, priced.
  struct PricedClass {
    ChunkAlive alive{};
    std::array<ChunkSeconds, 4> seconds{};  ///< by ZeRO stage
  };
  /// A rank that can be the fullest: its states, and what it keeps.
  struct PricedRank {
    HeldSums sums{};
    StageAlive alive{};
  };

  const Prices& prices(bool accumulate);
  const RowTimes& rows(bool sharded, Efficiency e);
  void forget_rows();
  void search_stages();
  void search_run(const Run& run);
  void change_splitting(bool splits);
  void price_staging(const Pipeline& p);
  StageAlive alive_at(const KeptMoment& moment) const;
  void price_ranks(const Pipeline& p);
  void price_classes();
  void price_sharded(Zero zero);
  Seconds least_pipelined(const Pipeline& p, Zero zero, bool sums);
  Seconds least_update() const;
  Bytes peak(Bytes& host) const;
  bool can_enter(Seconds step, Bytes bytes) const;
  Seconds nearly();  ///< but for rounding
  Seconds exact();   ///< as train() adds it up

  const Space& space_;
  Bytes usable_;
  Best best_;
  Front front_;
  SearchCounts counts_;
  Stagings stagings_;
  std::map<Count, std::vector<Run>> runs_;  // by number of stages
  StepRoom room_;

  // of the key
  Candidate now_;
  std::array<std::optional<Prices>, 2> priced_;  // whether gradients are accumulated
  // of its number of stages
  Plan plan_;
  Layout layout_;
  const Prices* prices_ = nullptr;
  Efficiency efficiency_ = Efficiency::full;
  std::array<std::array<std::optional<RowTimes>, 2>, 4> rows_;  // whether states are sharded, or how; efficiency
  std::array<std::optional<RowCosts>, 4> costs_;                // by the ZeRO stage whose waits count
  std::array<std::optional<Links>, 2> links_;                   // by efficiency
  std::vector<Zero> zeros_;
  // of its schedule and chunks
  Staging* staging_ = nullptr;
  Count staging_chunks_ = 0;
  bool staging_is_v_ = false;
  bool splits_ = false;              // schedules run gradients of weights apart
  Zero staging_waits_ = Zero::none;  // the stage whose waits its layers are spread by
  std::vector<PricedClass> classes_;
  std::array<bool, 4> sharded_{};  // whether classes have seconds of a ZeRO stage
  std::vector<HeldSums> held_;     // of the kinds of ranks
  std::vector<PricedRank> ranks_;
};

}  // namespace llmcalc
