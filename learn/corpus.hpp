#pragma once
/// A text to learn from, as tokens, in three pieces: the first is learnt from, the last tenth is held out and shows
/// what was learnt, and the twentieth before it, the validation piece, says which weights are the best. What is
/// reported was so neither learnt from nor chosen on.

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "learn/tokens/tokenizer.hpp"
#include "model/transformer.hpp"

namespace llmcalc::model {

/// Offsets at which the validation and held-out splits begin: at the start of a line, or, if a stretch of twice the
/// split has no line end, between two characters.
struct CorpusSplit {
  std::size_t validation, held_out;
};
CorpusSplit split(std::string_view text);

/// -ln p per token, the mean of `tokens`, as -log2 p per byte of their text: comparable whatever the tokens are.
double bits_per_byte(double loss, Count tokens, Count bytes);

class Corpus {
 public:
  Corpus(std::string_view text, const Tokenizer& tokenizer);

  std::span<const std::int32_t> learnt() const { return learnt_; }
  std::span<const std::int32_t> validation() const { return validation_; }
  std::span<const std::int32_t> held_out() const { return held_out_; }
  /// Bytes of every held-out token but the first: of those that are predicted.
  Count predicted_bytes() const { return predicted_bytes_; }
  /// Of held-out text.
  double bits_per_byte(double loss) const {
    return model::bits_per_byte(loss, static_cast<Count>(held_out_.size()) - 1, predicted_bytes_);
  }

  /// Batch `index` of the run with this seed: `sequences` stretches of `seq` tokens that begin anywhere in what is
  /// learnt. InputError where it is shorter than one.
  Batch batch(std::uint64_t seed, std::uint64_t index, Count sequences, Count seq) const;

  /// Mean -ln p of a piece's tokens, each with up to seq - 1 before it: stretches side by side, without dropout. Of at
  /// most `tokens` of them, from stretches evenly spread; 0: of all. The model's plan says seq and micro_batch.
  /// on_token: called with how many tokens are done, and all.
  static double loss(Transformer& t, std::span<const std::int32_t> piece, Count tokens = 0,
                     const std::function<void(Count done, Count all)>& on_token = {});

 private:
  std::vector<std::int32_t> learnt_, validation_, held_out_;
  Count predicted_bytes_ = 0;
};

}  // namespace llmcalc::model
