#pragma once
/// Unigram and bigram models, as baselines for a transformer.

#include <cstdint>
#include <span>
#include <vector>

#include "calc/units.hpp"

namespace llmcalc::model {

/// p(w): the frequency of token w regardless of context. Witten and Bell (1991), method C, with a uniform distribution
/// over the vocabulary as the lower order:
///
///   p(w) = (c(w) + T/V) / (N + T)
///
/// for a text of N tokens, T of them distinct, in which w occurs c(w) times, and a vocabulary of V tokens. Sums to 1,
/// and every token has positive probability.
class Unigram {
 public:
  /// Throws InputError for a token outside [0, vocabulary).
  Unigram(std::span<const std::int32_t> tokens, Count vocabulary);

  double probability(std::int32_t token) const;

 private:
  std::vector<Count> counts_;
  double tokens_ = 0, types_ = 0;
};

/// p(w | v): the frequency of w after v. Interpolated Kneser-Ney, the strongest family of smoothing methods in Chen and
/// Goodman's comparison ("An empirical study of smoothing techniques for language modeling", 1999, section 2.7), with
/// one discount per level:
///
///   p(w | v) = max(c(vw) - D, 0) / c(v.) + D N(v.) / c(v.) q(w)
///   q(w)     = max(N(.w) - D', 0) / N(..) + D' T / N(..) / V
///
/// for a text with c(vw) pairs vw, c(v.) pairs that begin with v, N(v.) distinct tokens after v, N(.w) distinct tokens
/// before w, N(..) distinct pairs, and T tokens w with N(.w) > 0. After an unseen v: q(w). D = n1/(n1 + 2 n2), with n1
/// and n2 the pairs seen once and twice (Ney, Essen and Kneser 1994); D' is the same for N(.w); 1/2 if n1 or n2 is 0.
/// Sums to 1 for every v, and every token has positive probability.
class Bigram {
 public:
  /// Throws InputError for a token outside [0, vocabulary).
  Bigram(std::span<const std::int32_t> tokens, Count vocabulary);

  double probability(std::int32_t before, std::int32_t token) const;

 private:
  /// The pairs that begin with a given token.
  struct Context {
    std::size_t begin = 0, end = 0;  ///< range of its distinct successors in pairs_
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
  std::vector<Pair> pairs_;        ///< pairs, sorted by `before`, then by `token`
  std::vector<Context> contexts_;  ///< contexts, indexed by the token
  std::vector<double> below_;      ///< q(w) for every token w
  double discount_ = 0.5;
};

/// Perplexity: exp of the mean -ln p over tokens[1], tokens[2], ... The first token has no predecessor and is excluded
/// for both models, as it is for the transformer. Throws InputError for fewer than two tokens, or for a token outside
/// the vocabulary.
double perplexity(const Unigram& model, std::span<const std::int32_t> tokens);
double perplexity(const Bigram& model, std::span<const std::int32_t> tokens);

/// Perplexity over pairs: targets[i] follows inputs[i], as in a transformer's batches.
double perplexity(const Unigram& model, std::span<const std::int32_t> inputs, std::span<const std::int32_t> targets);
double perplexity(const Bigram& model, std::span<const std::int32_t> inputs, std::span<const std::int32_t> targets);

}  // namespace llmcalc::model
