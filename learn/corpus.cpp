#include "learn/corpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "model/random.hpp"
#include "text/error.hpp"
#include "text/utf8.hpp"

namespace llmcalc::model {
namespace {

/// Random stream for choosing batches, separate from weights and dropout.
constexpr std::uint64_t batch_stream = 0x6261746368ULL;  // "batch" in ASCII

/// Disables dropout during its lifetime and restores the model's plan at the end.
class PlanHeld {
 public:
  explicit PlanHeld(Settings& s) : settings_(s), plan_(s.plan) { s.plan.dropout = false; }
  ~PlanHeld() { settings_.plan = plan_; }
  PlanHeld(const PlanHeld&) = delete;
  PlanHeld& operator=(const PlanHeld&) = delete;

 private:
  Settings& settings_;
  Plan plan_;
};

void append(Batch& b, std::span<const std::int32_t> tokens) {
  b.ids.insert(b.ids.end(), tokens.begin(), tokens.end() - 1);
  b.targets.insert(b.targets.end(), tokens.begin() + 1, tokens.end());
}

/// Offset at which the last 1/`parts` of a text begins, approximately.
std::size_t last_part(std::string_view text, std::size_t parts) {
  const std::size_t part = text.size() / parts + (text.size() % parts > 0), wanted = text.size() - part;
  const std::size_t end = text.rfind('\n', wanted == 0 ? 0 : wanted - 1);
  if (end != std::string_view::npos && end + 1 + part >= wanted) return end + 1;
  return whole_length(text.substr(0, wanted));
}

/// Sum of -ln p over a batch of `sequences` sequences.
double loss_sum(Transformer& t, const Batch& b, Count sequences) {
  t.settings().plan.micro_batch = sequences;
  t.settings().plan.seq = static_cast<Count>(b.ids.size()) / sequences;
  return t.loss(b) * static_cast<double>(b.ids.size());
}

}  // namespace

CorpusSplit split(std::string_view text) {
  const std::size_t held_out = last_part(text, 10);
  return {.validation = last_part(text.substr(0, held_out), 18), .held_out = held_out};
}

Corpus::Corpus(std::string_view text, const Tokenizer& tokenizer) {
  const auto [validation, held_out] = split(text);
  learned_ = tokenizer.encode(text.substr(0, validation));
  validation_ = tokenizer.encode(text.substr(validation, held_out - validation));
  held_out_ = tokenizer.encode(text.substr(held_out));
  if (held_out_.size() < 2 || validation_.size() < 2 || learned_.size() < 2)
    throw InputError(
        fmt::format("a text of {} bytes is too short for training: the held-out last tenth, the validation twentieth "
                    "before it and the rest each need at least two tokens; pass a longer text",
                    text.size()));
  predicted_bytes_ = static_cast<Count>(text.size() - held_out) -
                     static_cast<Count>(tokenizer.decode(std::span(held_out_).first(1)).size());
}

double bits_per_byte(double loss, Count tokens, Count bytes) {
  return loss * static_cast<double>(tokens) / std::numbers::ln2 / static_cast<double>(bytes);
}

Batch Corpus::batch(std::uint64_t seed, std::uint64_t index, Count sequences, Count seq) const {
  const auto length = static_cast<std::size_t>(seq) + 1;
  if (learned_.size() < length)
    throw InputError(
        fmt::format("the training text has {} tokens, fewer than one sequence of {} plus the next token; pass a longer "
                    "text or a smaller --seq",
                    learned_.size(), seq));
  Batch b;
  for (Count i = 0; i < sequences; ++i) {
    const std::uint64_t which = index * static_cast<std::uint64_t>(sequences) + static_cast<std::uint64_t>(i);
    const double u = uniform<double>(random_key(seed), random_counter(which, batch_stream));
    const auto begin = static_cast<std::size_t>(u * static_cast<double>(learned_.size() - length + 1));
    append(b, learned().subspan(begin, length));
  }
  return b;
}

double Corpus::loss(Transformer& t, std::span<const std::int32_t> piece, Count tokens,
                    const std::function<void(Count done, Count all)>& on_token) {
  const PlanHeld held(t.settings());
  const Count seq = t.settings().plan.seq, width = t.settings().plan.micro_batch;
  const Count all = static_cast<Count>(piece.size()) - 1, whole = all / seq;
  const Count stretches = tokens > 0 ? std::clamp<Count>(tokens / seq, std::min<Count>(whole, 1), whole) : whole;
  double sum = 0;
  Count counted = 0;
  for (Count i = 0; i < stretches; i += width) {
    const Count n = std::min(width, stretches - i);
    Batch b;
    for (Count j = i; j < i + n; ++j)
      append(b,
             piece.subspan(static_cast<std::size_t>(j * whole / stretches * seq), static_cast<std::size_t>(seq) + 1));
    sum += loss_sum(t, b, n);
    counted += n * seq;
    if (on_token) on_token(counted, all);
  }
  if (const Count rest = all - whole * seq; rest > 0 && stretches == whole) {
    Batch b;
    append(b, piece.last(static_cast<std::size_t>(rest) + 1));
    sum += loss_sum(t, b, 1);
    counted += rest;
  }
  return sum / static_cast<double>(counted);
}

}  // namespace llmcalc::model
