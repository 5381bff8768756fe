#include "learn/ngram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "text/error.hpp"

namespace llmcalc::model {

namespace {

void refuse_outside(std::int32_t token, std::size_t vocabulary) {
  if (token < 0 || static_cast<std::size_t>(token) >= vocabulary)
    throw InputError(fmt::format(
        "token {} is not in the vocabulary of {}; the text was encoded with a different tokenizer", token, vocabulary));
}

/// Checks all tokens and returns the size of the vocabulary.
std::size_t places(std::span<const std::int32_t> tokens, Count vocabulary) {
  if (vocabulary < 1)
    throw InputError(fmt::format("a vocabulary of {} has no tokens; set it to 1 or more", vocabulary));
  for (const std::int32_t t : tokens) refuse_outside(t, static_cast<std::size_t>(vocabulary));
  return static_cast<std::size_t>(vocabulary);
}

/// The discount D = n1/(n1 + 2 n2), where n1 and n2 are the numbers of counts equal to 1 and to 2.
double discount(double ones, double twos) { return ones > 0 && twos > 0 ? ones / (ones + 2 * twos) : 0.5; }

template <typename Probability>
double perplexity_of(std::span<const std::int32_t> targets, const Probability& probability) {
  if (targets.empty())
    throw InputError("there is no token to predict; perplexity requires a text of at least two tokens");
  double sum = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) sum -= std::log(probability(i));
  return std::exp(sum / static_cast<double>(targets.size()));
}

void refuse_unpaired(std::span<const std::int32_t> inputs, std::span<const std::int32_t> targets) {
  if (inputs.size() != targets.size())
    throw InputError(fmt::format("{} inputs and {} targets differ in number", inputs.size(), targets.size()));
}

}  // namespace

Unigram::Unigram(std::span<const std::int32_t> tokens, Count vocabulary) : counts_(places(tokens, vocabulary)) {
  for (const std::int32_t t : tokens) types_ += counts_[static_cast<std::size_t>(t)]++ == 0 ? 1 : 0;
  tokens_ = static_cast<double>(tokens.size());
}

double Unigram::probability(std::int32_t token) const {
  refuse_outside(token, counts_.size());
  const auto vocabulary = static_cast<double>(counts_.size());
  if (tokens_ == 0) return 1 / vocabulary;
  return (static_cast<double>(counts_[static_cast<std::size_t>(token)]) + types_ / vocabulary) / (tokens_ + types_);
}

Bigram::Bigram(std::span<const std::int32_t> tokens, Count vocabulary)
    : vocabulary_(vocabulary), contexts_(places(tokens, vocabulary)) {
  count_pairs(tokens);
  find_contexts();
  spread_below();
}

/// Sorts one 64-bit key per pair, so that equal pairs are adjacent.
void Bigram::count_pairs(std::span<const std::int32_t> tokens) {
  std::vector<std::int64_t> keys;
  keys.reserve(tokens.size());
  for (std::size_t i = 1; i < tokens.size(); ++i) keys.push_back((std::int64_t{tokens[i - 1]} << 32) | tokens[i]);
  std::sort(keys.begin(), keys.end());
  for (auto k = keys.begin(); k != keys.end();) {
    const auto end = std::find_if(k, keys.end(), [&](std::int64_t other) { return other != *k; });
    pairs_.push_back({static_cast<std::int32_t>(*k >> 32), static_cast<std::int32_t>(*k & 0xffffffff), end - k});
    k = end;
  }
  const auto with_count = [&](Count n) {
    return static_cast<double>(
        std::count_if(pairs_.begin(), pairs_.end(), [n](const Pair& p) { return p.count == n; }));
  };
  discount_ = discount(with_count(1), with_count(2));
}

void Bigram::find_contexts() {
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    Context& c = contexts_[static_cast<std::size_t>(pairs_[i].before)];
    if (c.count == 0) c.begin = i;
    c.end = i + 1;
    c.count += pairs_[i].count;
  }
}

void Bigram::spread_below() {
  std::vector<Count> befores(contexts_.size());  // N(.w)
  for (const Pair& p : pairs_) ++befores[static_cast<std::size_t>(p.token)];
  const auto with_count = [&](Count n) { return static_cast<double>(std::count(befores.begin(), befores.end(), n)); };
  const double cut = discount(with_count(1), with_count(2));
  const auto all = static_cast<double>(pairs_.size()), vocabulary = static_cast<double>(vocabulary_);
  const double left = pairs_.empty() ? 1 : cut * (vocabulary - with_count(0)) / all;
  for (const Count n : befores)
    below_.push_back((n > 0 ? (static_cast<double>(n) - cut) / all : 0) + left / vocabulary);
}

double Bigram::probability(std::int32_t before, std::int32_t token) const {
  refuse_outside(before, contexts_.size());
  refuse_outside(token, contexts_.size());
  const Context& c = contexts_[static_cast<std::size_t>(before)];
  if (c.count == 0) return below(token);
  const auto begin = pairs_.begin() + static_cast<std::ptrdiff_t>(c.begin);
  const auto end = pairs_.begin() + static_cast<std::ptrdiff_t>(c.end);
  const auto at = std::lower_bound(begin, end, token, [](const Pair& p, std::int32_t t) { return p.token < t; });
  const double own = at != end && at->token == token ? static_cast<double>(at->count) - discount_ : 0;
  return (own + discount_ * static_cast<double>(end - begin) * below(token)) / static_cast<double>(c.count);
}

double perplexity(const Unigram& model, std::span<const std::int32_t> inputs, std::span<const std::int32_t> targets) {
  refuse_unpaired(inputs, targets);
  return perplexity_of(targets, [&](std::size_t i) { return model.probability(targets[i]); });
}

double perplexity(const Bigram& model, std::span<const std::int32_t> inputs, std::span<const std::int32_t> targets) {
  refuse_unpaired(inputs, targets);
  return perplexity_of(targets, [&](std::size_t i) { return model.probability(inputs[i], targets[i]); });
}

double perplexity(const Unigram& model, std::span<const std::int32_t> tokens) {
  if (tokens.empty()) return perplexity(model, tokens, tokens);
  return perplexity(model, tokens.first(tokens.size() - 1), tokens.subspan(1));
}

double perplexity(const Bigram& model, std::span<const std::int32_t> tokens) {
  if (tokens.empty()) return perplexity(model, tokens, tokens);
  return perplexity(model, tokens.first(tokens.size() - 1), tokens.subspan(1));
}

}  // namespace llmcalc::model
