#pragma once
/// A tokenized text in three splits: training; validation (the 5 % before the last tenth), which selects the best
/// weights; and held-out (the last tenth), which measures the result. Reported results therefore come from text used
/// neither for training nor for selection.

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "learn/tokens/tokenizer.hpp"
#include "model/transformer.hpp"

namespace llmcalc::model {

/// Offsets of the validation and held-out splits. Each begins at a line start, or between two characters if an interval
/// of twice the split's size has no line end.
struct CorpusSplit {
  std::size_t validation, held_out;
};
CorpusSplit split(std::string_view text);

/// Converts the mean -ln p of `tokens` tokens to -log2 p per byte of text, which is comparable across tokenizers.
double bits_per_byte(double loss, Count tokens, Count bytes);

class Corpus {
 public:
  Corpus(std::string_view text, const Tokenizer& tokenizer);

  std::span<const std::int32_t> learned() const { return learned_; }
  std::span<const std::int32_t> validation() const { return validation_; }
  std::span<const std::int32_t> held_out() const { return held_out_; }
  /// Number of bytes in all predicted held-out tokens, which are all except the first.
  Count predicted_bytes() const { return predicted_bytes_; }
  /// Bits per byte of the held-out text.
  double bits_per_byte(double loss) const {
    return model::bits_per_byte(loss, static_cast<Count>(held_out_.size()) - 1, predicted_bytes_);
  }

  /// Returns batch `index` of the run with this seed: `sequences` intervals of `seq` tokens, at random offsets of the
  /// training split. Throws InputError if the split is shorter than one interval.
  Batch batch(std::uint64_t seed, std::uint64_t index, Count sequences, Count seq) const;

  /// Mean -ln p of a split's tokens, without dropout. The split is divided into adjacent intervals, which limits a
  /// token's context to seq tokens. `tokens`: maximum number of tokens, taken from evenly spaced intervals; 0: all. seq
  /// and micro_batch come from the model's plan. on_token: called with the number of tokens done and the total number.
  static double loss(Transformer& t, std::span<const std::int32_t> piece, Count tokens = 0,
                     const std::function<void(Count done, Count all)>& on_token = {});

 private:
  std::vector<std::int32_t> learned_, validation_, held_out_;
  Count predicted_bytes_ = 0;
};

}  // namespace llmcalc::model
