#include "learn/beam.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "text/error.hpp"

namespace llmcalc::model {

namespace {

/// A kept sequence and the token that extends it. Complete sequences have no such token.
struct Lengthening {
  std::size_t parent;
  std::optional<std::int32_t> token;
  double log_probability;
};

void refuse_bad(const BeamOptions& o) {
  if (o.width < 1) throw InputError(fmt::format("beam width {} is out of range; set it to 1 or more", o.width));
  if (o.length < 0) throw InputError(fmt::format("length {} is out of range; set it to 0 or more", o.length));
}

bool is_complete(const Sequence& s, const BeamOptions& o) {
  return !s.tokens.empty() && std::find(o.ends.begin(), o.ends.end(), s.tokens.back()) != o.ends.end();
}

/// Keeps the best `width` steps and sorts them, best first.
void keep_best(std::vector<Lengthening>& steps, Count width, const std::vector<Sequence>& sequences) {
  const auto better = [&](const Lengthening& a, const Lengthening& b) {
    if (a.log_probability != b.log_probability) return a.log_probability > b.log_probability;
    if (a.parent != b.parent) return sequences[a.parent].tokens < sequences[b.parent].tokens;
    return a.token < b.token;
  };
  const auto kept = std::min(steps.size(), static_cast<std::size_t>(width));
  std::partial_sort(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(kept), steps.end(), better);
  steps.resize(kept);
}

/// All extensions of one sequence by a token of the vocabulary.
std::vector<Lengthening> steps_from(std::size_t parent, double so_far, const std::vector<float>& logs) {
  std::vector<Lengthening> steps;
  steps.reserve(logs.size());
  for (std::size_t i = 0; i < logs.size(); ++i) {
    if (std::isnan(logs[i]) || logs[i] == std::numeric_limits<float>::infinity())
      throw InputError(
          fmt::format("the log-probability of token {} is {}; the weights have diverged or are damaged", i, logs[i]));
    if (logs[i] != -std::numeric_limits<float>::infinity())
      steps.push_back({parent, static_cast<std::int32_t>(i), so_far + static_cast<double>(logs[i])});
  }
  return steps;
}

std::vector<std::int32_t> prefix(std::span<const std::int32_t> prompt, const Sequence& s) {
  std::vector<std::int32_t> all(prompt.begin(), prompt.end());
  all.insert(all.end(), s.tokens.begin(), s.tokens.end());
  return all;
}

std::vector<Sequence> lengthened(const std::vector<Sequence>& sequences, const std::vector<Lengthening>& steps) {
  std::vector<Sequence> next;
  for (const Lengthening& s : steps) {
    next.push_back({sequences[s.parent].tokens, s.log_probability});
    if (s.token) next.back().tokens.push_back(*s.token);
  }
  return next;
}

}  // namespace

std::vector<Sequence> beam_search(const LogProbabilities& model, std::span<const std::int32_t> prompt,
                                  const BeamOptions& options) {
  refuse_bad(options);
  std::vector<Sequence> beam{Sequence{}};
  for (Count i = 0; i < options.length; ++i) {
    std::vector<Lengthening> steps;
    for (std::size_t b = 0; b < beam.size(); ++b) {
      std::vector<Lengthening> own;
      if (is_complete(beam[b], options))
        own = {{b, std::nullopt, beam[b].log_probability}};
      else
        own = steps_from(b, beam[b].log_probability, model(prefix(prompt, beam[b])));
      keep_best(own, options.width, beam);  // one sequence can at most fill the whole beam
      steps.insert(steps.end(), own.begin(), own.end());
      if (static_cast<Count>(steps.size()) > 2 * options.width) keep_best(steps, options.width, beam);
    }
    if (steps.empty()) throw InputError("every log-probability is -inf; the text cannot be continued");
    keep_best(steps, options.width, beam);
    beam = lengthened(beam, steps);
    if (options.kept) options.kept(beam);
    if (std::all_of(beam.begin(), beam.end(), [&](const Sequence& s) { return is_complete(s, options); })) break;
  }
  return beam;
}

Bytes beam_memory(Count vocabulary, const BeamOptions& o) {
  // Counts old and new sequences, including the spare capacity of their token vectors; three times `width` steps; and
  // logits, log-probabilities and steps for one vocabulary row.
  const Count sequence = add(mul(2 * sizeof(std::int32_t), o.length), sizeof(Sequence));
  return Bytes(add(mul(o.width, add(mul(2, sequence), 3 * sizeof(Lengthening))), mul(vocabulary, 64)));
}

}  // namespace llmcalc::model
