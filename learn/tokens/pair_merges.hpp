#pragma once
/// Byte-pair encoding (Sennrich et al. 2016) with merges that are known.

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace llmcalc::model {

class PairMerges {
 public:
  /// `left` and `right`, side by side, become `merged`. A merge that is added earlier goes before later ones.
  void add(std::int32_t left, std::int32_t right, std::int32_t merged);

  /// The tokens of a word after all merges: again and again the earliest merge, of equal ones the leftmost.
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
