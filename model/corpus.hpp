#pragma once
/// A text to learn from, as tokens: its last tenth is held out, and shows what was learnt.

#include <span>
#include <string_view>
#include <vector>

#include "model/tokenizer.hpp"
#include "model/transformer.hpp"

namespace llmcalc::model {

/// Where the held-out tenth begins: at a line's beginning, or, where the last fifth has no line end, between two
/// characters.
std::size_t held_out_begin(std::string_view text);

class Corpus {
 public:
  Corpus(std::string_view text, const Tokenizer& tokenizer);

  std::span<const std::int32_t> learnt() const { return learnt_; }
  std::span<const std::int32_t> held_out() const { return held_out_; }
  /// Bytes of every held-out token but the first: of those that are predicted.
  Count predicted_bytes() const { return predicted_bytes_; }
  /// -ln p per token, as bits per byte of held-out text: comparable whatever the tokens are.
  double bits_per_byte(double loss) const;

  /// Batch `index` of the run with this seed: `sequences` stretches of `seq` tokens that begin anywhere in what is
  /// learnt. InputError where it is shorter than one.
  Batch batch(std::uint64_t seed, std::uint64_t index, Count sequences, Count seq) const;

  /// Mean -ln p of held-out tokens, each with up to seq - 1 before it: stretches side by side, without dropout. Of at
  /// most `tokens` of them, from stretches evenly spread; 0: of all. The model's plan says seq and micro_batch.
  double held_out_loss(Transformer& t, Count tokens = 0) const;

 private:
  std::vector<std::int32_t> learnt_, held_out_;
  Count predicted_bytes_ = 0;
};

}  // namespace llmcalc::model
