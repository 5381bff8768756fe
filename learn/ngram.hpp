#pragma once
/// Unigram and bigram models: baselines that a transformer has to beat.

#include <cstdint>
#include <span>
#include <vector>

#include "calc/units.hpp"

namespace llmcalc::model {

/// p(w): how often the token w came, whatever stood before it. Witten and Bell (1991), method C, with every token of
/// the vocabulary equally likely below it:
///
///   p(w) = (c(w) + T/V) / (N + T)
///
/// c(w) tokens w among N, T different ones among them, V tokens in the vocabulary. Sums to 1, and no token has 0.
class Unigram {
 public:
  /// InputError for a token outside [0, vocabulary).
  Unigram(std::span<const std::int32_t> tokens, Count vocabulary);

  double probability(std::int32_t token) const;

 private:
  std::vector<Count> counts_;
  double tokens_ = 0, types_ = 0;
};

/// p(w | v): how often w came after v. Interpolated Kneser-Ney, the strongest family of the smoothings that Chen and
/// Goodman compare ("An empirical study of smoothing techniques for language modeling", 1999, section 2.7), one
/// discount a level:
///
///   p(w | v) = max(c(vw) - D, 0) / c(v.) + D N(v.) / c(v.) q(w)
///   q(w)     = max(N(.w) - D', 0) / N(..) + D' T / N(..) / V
///
/// c(vw) pairs, c(v.) pairs that begin with v, N(v.) different tokens after v, N(.w) different tokens before w, N(..)
/// different pairs, T tokens w with N(.w) > 0. After a v that never came: q(w). D = n1/(n1 + 2 n2), with n1 and n2 the
/// pairs that came once and twice (Ney, Essen and Kneser 1994); D' the same of N(.w); 1/2 where n1 or n2 is 0. Sums to
/// 1 for every v, and no token has 0.
class Bigram {
 public:
  /// InputError for a token outside [0, vocabulary).
  Bigram(std::span<const std::int32_t> tokens, Count vocabulary);

  double probability(std::int32_t before, std::int32_t token) const;

 private:
  /// The pairs that begin with one token.
  struct Context {
    std::size_t begin = 0, end = 0;  ///< in pairs_: its different successors
    Count count = 0;
  };
  struct Pair {
    std::int32_t before, token;
    Count count;
  };
  void count_pairs(std::span<const std::int32_t> tokens);
  void find_contexts();
  void spread_below();
  double below(std::int32_t token) const { return below_[static_cast<std::size_t>(token)]; }

  Count vocabulary_;
  std::vector<Pair> pairs_;        ///< by `before`, then `token`
  std::vector<Context> contexts_;  ///< by token
  std::vector<double> below_;      ///< q(w)
  double discount_ = 0.5;
};

/// exp of the mean of -ln p over tokens[1], tokens[2], ...: the first has nothing before it, and both models leave it
/// out as the transformer does. InputError for fewer than two tokens, or one outside the vocabulary.
double perplexity(const Unigram& model, std::span<const std::int32_t> tokens);
double perplexity(const Bigram& model, std::span<const std::int32_t> tokens);

/// Perplexity over pairs: targets[i] after inputs[i], as in the batches of a transformer.
double perplexity(const Unigram& model, std::span<const std::int32_t> inputs, std::span<const std::int32_t> targets);
double perplexity(const Bigram& model, std::span<const std::int32_t> inputs, std::span<const std::int32_t> targets);

}  // namespace llmcalc::model
