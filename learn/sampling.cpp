#include "learn/sampling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "text/error.hpp"

namespace llmcalc::model {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

void refuse_bad(std::span<const float> logits) {
  if (logits.empty()) throw InputError("there are no logits to sample from; the vocabulary is empty");
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (std::isnan(logits[i]) || logits[i] == infinity)
      throw InputError(
          fmt::format("the logit of token {} is {}; the weights have diverged or are damaged", i, logits[i]));
  if (std::all_of(logits.begin(), logits.end(), [](float l) { return l == -infinity; }))
    throw InputError("every logit is -inf; the text cannot be continued");
}

void refuse_bad(const SamplingOptions& o) {
  if (!(o.temperature >= 0) || std::isinf(o.temperature))
    throw InputError(
        fmt::format("temperature {} is out of range; set it to 0 (greedy) or a positive number", o.temperature));
  if (o.top_k < 0) throw InputError(fmt::format("top-k {} is out of range; set it to 0 (all tokens) or more", o.top_k));
  if (!(o.top_p > 0 && o.top_p <= 1))
    throw InputError(fmt::format("top-p {} is out of range; set it to a number above 0 and at most 1", o.top_p));
}

/// Whether `a` precedes `b` among the candidates: by probability, then by lower token.
bool likelier(const TokenCandidate& a, const TokenCandidate& b) {
  return a.probability != b.probability ? a.probability > b.probability : a.token < b.token;
}

void divide_by_sum(std::vector<TokenCandidate>& set) {
  double sum = 0;
  for (const TokenCandidate& c : set) sum += c.probability;
  for (TokenCandidate& c : set) c.probability /= sum;
}

/// Unnormalized weights exp((l - max)/temperature), without the tokens whose logit is -infinity.
std::vector<TokenCandidate> weighed(std::span<const float> logits, double temperature) {
  const double most = *std::max_element(logits.begin(), logits.end());
  std::vector<TokenCandidate> set;
  set.reserve(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (logits[i] != -infinity)
      set.push_back({static_cast<std::int32_t>(i), std::exp((static_cast<double>(logits[i]) - most) / temperature)});
  return set;
}

void cut_to_top(std::vector<TokenCandidate>& set, Count k) {
  if (k == 0 || static_cast<std::size_t>(k) >= set.size()) return;
  std::nth_element(set.begin(), set.begin() + k, set.end(), likelier);
  set.resize(static_cast<std::size_t>(k));
}

/// Reduces the set to its nucleus, using a heap so that only a few tokens of a large vocabulary are sorted.
void cut_to_nucleus(std::vector<TokenCandidate>& set, double top_p) {
  if (top_p == 1) return;
  const auto less_likely = [](const TokenCandidate& a, const TokenCandidate& b) { return likelier(b, a); };
  std::make_heap(set.begin(), set.end(), less_likely);
  auto end = set.end();
  for (double sum = 0; end != set.begin() && sum < top_p; --end) {
    std::pop_heap(set.begin(), end, less_likely);
    sum += (end - 1)->probability;
  }
  set.erase(set.begin(), end);
}

}  // namespace

std::int32_t greedy(std::span<const float> logits) {
  refuse_bad(logits);
  return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

std::vector<TokenCandidate> candidates(std::span<const float> logits, const SamplingOptions& options) {
  refuse_bad(options);
  if (options.temperature == 0) return {{greedy(logits), 1.0}};
  refuse_bad(logits);
  std::vector<TokenCandidate> set = weighed(logits, options.temperature);
  cut_to_top(set, options.top_k);
  divide_by_sum(set);
  cut_to_nucleus(set, options.top_p);
  std::sort(set.begin(), set.end(), [](const TokenCandidate& a, const TokenCandidate& b) { return a.token < b.token; });
  divide_by_sum(set);
  return set;
}

std::int32_t sample(std::span<const float> logits, const SamplingOptions& options, double uniform) {
  const std::vector<TokenCandidate> set = candidates(logits, options);
  double sum = 0;
  std::int32_t last = set.front().token;
  for (const TokenCandidate& c : set) {
    if (c.probability == 0) continue;  // underflowed: never chosen
    last = c.token;
    sum += c.probability;
    if (uniform < sum) break;
  }
  return last;  // also reached if rounding leaves the sum slightly below 1
}

std::vector<double> log_softmax(std::span<const float> logits) {
  refuse_bad(logits);
  const double most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float l : logits) sum += std::exp(static_cast<double>(l) - most);
  std::vector<double> logs;
  logs.reserve(logits.size());
  for (const float l : logits) logs.push_back(static_cast<double>(l) - most - std::log(sum));
  return logs;
}

}  // namespace llmcalc::model
