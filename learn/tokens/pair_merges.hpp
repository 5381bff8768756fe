#pragma once
/// Byte-pair encoding (Sennrich et al. 2016) with a given list of merges.

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace llmcalc::model {

class PairMerges {
 public:
  /// Adds a rule: adjacent `left` and `right` become `merged`. Rules added earlier take precedence.
  void add(std::int32_t left, std::int32_t right, std::int32_t merged);

  /// The tokens of a word after all merges, applied one at a time: each time the earliest rule that matches, at its
  /// leftmost match.
  std::vector<std::int32_t> merged(const std::vector<std::int32_t>& word) const;

 private:
  struct Merge {
    std::size_t rank = 0;
    std::int32_t merged = 0;
  };
  const Merge* find(std::int32_t left, std::int32_t right) const;
  std::unordered_map<std::uint64_t, Merge> merges_;
};

}  // namespace llmcalc::model
