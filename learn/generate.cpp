#include "learn/generate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "calc/price.hpp"
#include "learn/beam.hpp"
#include "model/random.hpp"
#include "text/error.hpp"

namespace llmcalc::model {
namespace {

/// Random stream for generation, separate from that of a training run with the same seed.
constexpr std::uint64_t sampling_stream = 0x73616d706c65ULL;  // "sample" in ASCII

class Clock {
 public:
  Seconds taken() const {
    return Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count());
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// The maximum length of a sequence in tokens; absent if unlimited.
std::optional<Count> longest(const Arch& a, const GenerateOptions& o) {
  if (a.learned_rows() > 0) return a.learned_rows();
  return o.longest > 0 ? std::optional(o.longest) : std::nullopt;
}

bool is_end(std::int32_t token, const GenerateOptions& o) {
  return std::find(o.ends.begin(), o.ends.end(), token) != o.ends.end();
}

/// Runs the model on a token sequence. The KV cache keeps the previous sequence, so that a shared prefix is not
/// recomputed.
class Reader {
 public:
  /// rewinds: whether a sequence may diverge from the previous one instead of extending it. A recurrent state, or the
  /// cache of a window or chunk, cannot rewind. Counts tokens and FLOPs in `g`.
  Reader(Transformer& t, Count tokens, bool cached, bool rewinds, Generated& g) : t_(t), g_(g) {
    if (cached && !(rewinds && Cache::forgets(t.arch(), tokens))) cache_.emplace(t.make_cache(1, tokens));
  }

  std::vector<float> logits(std::span<const std::int32_t> text) {
    const std::size_t known = cache_ ? common(text) : 0;
    std::vector<double> y;
    if (!cache_ || known == 0)
      y = run(text, 0);
    else
      for (std::size_t i = known; i < text.size(); ++i) y = run(text.subspan(i, 1), static_cast<Count>(i));
    if (cache_) in_cache_.assign(text.begin(), text.end());
    if (!std::all_of(y.begin(), y.end(), [](double x) { return std::isfinite(x); }))
      throw InputError("the model's logits are not finite; the weights are damaged or overflow in their format");
    return {y.begin(), y.end()};
  }

 private:
  /// Number of leading tokens of `text` whose keys and values are cached, excluding the last token, which always runs.
  std::size_t common(std::span<const std::int32_t> text) const {
    const auto [a, b] = std::mismatch(text.begin(), text.end() - 1, in_cache_.begin(), in_cache_.end());
    return static_cast<std::size_t>(a - text.begin());
  }
  std::vector<double> run(std::span<const std::int32_t> tokens, Count past) {
    const std::vector<std::int64_t> ids(tokens.begin(), tokens.end());
    count(static_cast<Count>(tokens.size()), past);
    return t_.logits(ids, 1, past, cache_ ? &*cache_ : nullptr);
  }

  void count(Count queries, Count past) {
    const Plan& plan = t_.settings().plan;
    Step step = past == 0 ? prefill_step(plan, queries) : decode_step(plan, past + 1);
    step.sequences = 1;
    const Prices prices = price_pass(t_.arch(), plan, {}, {}, step, past == 0 ? Phase::prefill : Phase::decode);
    for (const LayerPrice& row : prices.rows) g_.flops += row.layers * row.whole.executed;
    g_.tokens_run += queries;
  }

  Transformer& t_;
  Generated& g_;
  std::optional<Cache> cache_;
  std::vector<std::int32_t> in_cache_;
};

std::int32_t next_token(std::span<const float> logits, const GenerateOptions& o, Count i) {
  const double u = uniform<double>(random_key(o.seed), random_counter(static_cast<std::uint64_t>(i), sampling_stream));
  return sample(logits, o.sampling, u);
}

/// Samples tokens into `g` one at a time, so that an interrupted run keeps those it has.
void sample_on(Reader& reader, std::vector<std::int32_t> text, Count tokens, const GenerateOptions& o,
               const OnToken& on_token, Generated& g) {
  const Clock clock;
  for (Count i = 0; i < tokens; ++i) {
    const std::int32_t token = next_token(reader.logits(text), o, i);
    i == 0 ? g.prefill = clock.taken() : g.decode = clock.taken() - g.prefill;
    if (is_end(token, o)) {
      g.ended = Ended::end_of_text;
      return;
    }
    text.push_back(token);
    g.tokens.push_back(token);
    if (on_token) on_token(token);
  }
}

/// Runs a beam search and stores the best sequence so far in `g`.
void search_on(Reader& reader, std::span<const std::int32_t> prompt, Count tokens, const GenerateOptions& o,
               Generated& g) {
  const Clock clock;
  Count asked = 0;
  const LogProbabilities model = [&](std::span<const std::int32_t> text) {
    if (o.searching) o.searching(asked++, add(1, mul(tokens - 1, o.beams)));
    const std::vector<double> logs = log_softmax(reader.logits(text));
    if (text.size() == prompt.size()) g.prefill = clock.taken();
    return std::vector<float>(logs.begin(), logs.end());
  };
  const auto keep = [&](const std::vector<Sequence>& beam) {
    g.decode = clock.taken() - g.prefill;
    g.log_probability = beam.front().log_probability;
    g.tokens = beam.front().tokens;
  };
  beam_search(model, prompt, {.width = o.beams, .length = tokens, .ends = o.ends, .kept = keep});
}

/// Emits the best sequence of a search, finished or stopped.
void show_found(const GenerateOptions& o, const OnToken& on_token, Generated& g) {
  if (!g.tokens.empty() && is_end(g.tokens.back(), o)) {
    g.tokens.pop_back();
    if (g.ended != Ended::stopped) g.ended = Ended::end_of_text;
  }
  if (on_token) std::for_each(g.tokens.begin(), g.tokens.end(), on_token);
}

/// Makes the model watch the stop flag for the lifetime of this object.
class StopWatcher {
 public:
  StopWatcher(Transformer& t, const std::atomic<bool>* stop) : t_(t) { t.watch(stop); }
  ~StopWatcher() { t_.watch(nullptr); }
  StopWatcher(const StopWatcher&) = delete;
  StopWatcher& operator=(const StopWatcher&) = delete;

 private:
  Transformer& t_;
};

}  // namespace

void refuse_bad_generation(const Arch& a, std::span<const std::int32_t> prompt, const GenerateOptions& o) {
  if (a.is_encoder_decoder())
    throw InputError("the model is an encoder-decoder and cannot continue a text; pass a decoder-only model");
  if (a.bidirectional) throw InputError("the model attends to later tokens and cannot continue a text; pass a decoder");
  if (!a.head.has_logits())
    throw InputError("the model has no head and cannot continue a text; pass a model with a head");
  if (prompt.empty()) throw InputError("the prompt has no tokens; pass a text of at least one character");
  if (o.tokens < 0) throw InputError(fmt::format("{} tokens is out of range; pass 0 or more", o.tokens));
  if (o.beams < 1) throw InputError(fmt::format("{} beams is out of range; pass 1 or more", o.beams));
  for (const std::int32_t t : prompt)
    if (t < 0 || t >= a.vocabulary)
      throw InputError(fmt::format("token {} of the prompt is not in the model's vocabulary of {}", t, a.vocabulary));
  if (const auto most = longest(a, o); most && static_cast<Count>(prompt.size()) > *most)
    throw InputError(fmt::format("the prompt has {} tokens but the model has {} {}; pass a shorter prompt",
                                 prompt.size(), *most,
                                 a.learned_rows() > 0 ? "learned positions" : "tokens of context"));
  candidates(std::vector<float>{0}, o.sampling);  // throws for options out of range
}

Generated generate(Transformer& t, std::span<const std::int32_t> prompt, const GenerateOptions& o,
                   const OnToken& on_token) {
  refuse_bad_generation(t.arch(), prompt, o);
  const auto given = static_cast<Count>(prompt.size());
  // The last token of a sequence is never run through the model, so it needs no position.
  const auto most = longest(t.arch(), o);
  const Count room = most ? *most - given + 1 : o.tokens;
  const Count tokens = std::min(o.tokens, room);
  Generated g;
  g.ended = tokens < o.tokens ? Ended::positions : Ended::length;
  const StopWatcher watch(t, o.stop);
  try {
    Reader reader(t, add(given, tokens), o.cache, o.beams > 1, g);
    if (o.beams > 1)
      search_on(reader, prompt, tokens, o, g);
    else
      sample_on(reader, {prompt.begin(), prompt.end()}, tokens, o, on_token, g);
  } catch (const Stopped&) {
    g.ended = Ended::stopped;
  }
  if (o.beams > 1) show_found(o, on_token, g);
  return g;
}

}  // namespace llmcalc::model
