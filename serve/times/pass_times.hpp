#pragma once
/// Times of a serving engine's passes as functions of their work.
///
/// A pass runs every operator except attention cores and the head over the rows of all tokens together, so the time of
/// these operators depends only on the number of tokens. The head runs over the sequences that get a token. Attention
/// cores run over prompt chunks and over decoding sequences in separate kernels, whose time depends on the keys read
/// and on the query-key pairs.

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "calc/infer.hpp"
#include "calc/inplace_vector.hpp"
#include "serve/adapters.hpp"
#include "serve/times/clock.hpp"

namespace llmcalc {

/// Number of layer kinds by reach, the range of tokens that a token attends to. Kind 0: all earlier tokens. Kind 1:
/// tokens within the model's limited reach (a window or a chunk).
inline constexpr std::size_t reach_kinds = 2;

/// Work of attention cores in the layers of one kind of reach.
struct CoreWork {
  Count queries = 0;  ///< number of new tokens
  Count keys = 0;     ///< number of cached tokens read, including the new ones, summed over sequences
  Count pairs = 0;    ///< number of query-key pairs: equal to `keys` for decoding sequences; for prompt chunks, see
                      ///< chunk_work()
  constexpr CoreWork& operator+=(const CoreWork& o) {
    queries += o.queries;
    keys += o.keys;
    pairs += o.pairs;
    return *this;
  }
  constexpr bool operator==(const CoreWork&) const = default;
};
constexpr CoreWork operator*(Count n, const CoreWork& w) { return {n * w.queries, n * w.keys, n * w.pairs}; }

/// Core work of n prompt tokens after `past` earlier tokens: n past + n (n + 1) / 2 pairs if every token attends to
/// all earlier tokens and itself.
CoreWork chunk_work(Count past, Count n, const Reach& reach);

/// Work of one pass.
struct PassWork {
  Count prompt_tokens = 0;  ///< number of tokens of prompt chunks
  Count chunks = 0;         ///< number of sequences with a prompt chunk
  Count decoding = 0;       ///< number of sequences that decode
  Count decoded = 0;        ///< number of tokens of the decoding sequences: one each, and drafts to verify
  Count sampled = 0;        ///< number of rows of the head: one per sequence whose prompt ends, one per decoded token
  Count drafting = 0;       ///< number of sequences for which drafts are proposed
  Count moved_blocks = 0;   ///< number of cache blocks moved to or from the host
  std::optional<Count> expert_rows{};  ///< number of rows for which the rank runs experts; absent: the rank's own rows
  std::array<CoreWork, reach_kinds> prompts{}, decodes{};
  constexpr Count rows() const { return prompt_tokens + decoded; }
  constexpr bool operator==(const PassWork&) const = default;
};

/// Growth of the core work of decoding sequences from one pass to the next.
using CoreGrowth = std::array<CoreWork, reach_kinds>;
/// The work after `n` passes.
PassWork grown(PassWork work, const CoreGrowth& growth, Count n);

/// Duration as a function of the number of rows: linear between knots and after the last knot, constant before the
/// first.
class PassRowTimes {
 public:
  using Knots = std::vector<std::pair<Count, Ticks>>;
  /// `knots`: numbers of rows, ascending, and durations of at least 0. Without knots, the duration is 0.
  PassRowTimes() = default;
  explicit PassRowTimes(const Knots& knots);
  Ticks at(Count rows) const;

 private:
  /// The line from one knot to the next: over `width` rows, the duration rises by width * slope + rest.
  struct Line {
    Count first;
    Ticks time, slope;
    Count rest, width;
  };
  std::vector<Line> lines_;
  std::array<std::uint32_t, 64> near_{};  ///< by number of bits of the rows: the last line that begins at or below
                                          ///< every such number
};

/// A duration linear in core work: attoseconds, and attoseconds per query, key and pair.
struct CoreRate {
  Ticks constant = 0, query = 0, key = 0, pair = 0;
  constexpr Ticks at(const CoreWork& w) const { return constant + w.queries * query + w.keys * key + w.pairs * pair; }
  /// The part of the duration that is proportional to the work, without the constant.
  constexpr Ticks slope(const CoreWork& w) const { return at(w) - constant; }
};
/// Time as the maximum of at most four linear functions of the work: compute, memory, a floor. Zero without work.
using CoreTimes = InplaceVector<CoreRate, 4>;
Ticks longest(const CoreTimes& lines, const CoreWork& work);

/// Durations of attention cores that linear functions (CoreTimes) do not describe, such as measured durations.
class MeasuredCores {
 public:
  MeasuredCores() = default;
  MeasuredCores(const MeasuredCores&) = delete;
  MeasuredCores& operator=(const MeasuredCores&) = delete;
  virtual ~MeasuredCores() = default;
  /// Duration of the cores in `n` consecutive passes, with the arguments of PassTimes::passes().
  virtual Ticks passes(const PassWork& work, const CoreGrowth& growth, Count n) const = 0;
};

/// Durations of the parts of a pass.
struct PassTimes {
  PassRowTimes rows;     ///< times of all other parts and of the engine's overhead per pass, by number of rows
  PassRowTimes experts;  ///< times of experts sharded across ranks, by mean number of rows per rank
  PassRowTimes head;     ///< times of the head, by number of sampled rows
  PassRowTimes drafts;   ///< times of drafting, by number of sequences
  std::array<CoreTimes, reach_kinds> prompts{}, decodes{};
  std::shared_ptr<const MeasuredCores> measured{};  ///< replaces `prompts` and `decodes`; null: not measured
  Ticks sequence = 0;     ///< time per sequence in a pass, independent of its length: the state of linear attention
                          ///< and the engine's overhead
  Ticks moved_block = 0;  ///< time per cache block moved to or from the host
  Reach reach{};          ///< reach of the layers of kind 1; unlimited: no such layers
  Ticks request = 0;      ///< time per request outside passes; delays no other request

  Ticks pass(const PassWork& work) const;
  /// Duration of a pass without attention cores, and without the cores of decoding sequences.
  Ticks without_cores(const PassWork& work) const;
  Ticks without_decodes(const PassWork& work) const;
  /// Duration of `n` >= 1 consecutive passes: the first with `work`, each later pass with `growth` more decoding core
  /// work.
  Ticks passes(const PassWork& work, const CoreGrowth& growth, Count n) const;
};

/// Properties of an engine's passes that affect their times.
struct PassSizes {
  Count most_rows = 8192;     ///< maximum number of rows per pass; times for more rows are extrapolated
  Count recorded_rows = 512;  ///< maximum number of rows of passes that run as CUDA graphs
  Count drafts = 0;           ///< number of drafts per sequence and pass, proposed by the plan's MTP modules; at least
                              ///< one per module
  ServedAdapters adapters{};
};

/// Pass times of one replica, at the estimated rates of the cluster's device (Device::achieved), or at datasheet rates
/// without an estimate. A pass of T rows is priced as a decode step of T sequences if it is recorded in a CUDA graph,
/// otherwise as a prompt of T tokens. Except for interpolation between knots, a decode pass of n sequences takes the
/// time of decode(), and a prompt pass the time of prefill().
///
/// Experts on separate ranks process the rows of all data-parallel ranks, spread evenly, so their time is computed for
/// the mean number of rows. Collectives take the time of the rank with the most rows.
///
/// A pipeline of p stages, whose largest stage has M of L layers and whose last stage has M', runs at the pace of its
/// slowest stage, with one micro-batch in each stage: a pass takes p M / L times the time of the layers, p max(0,
/// head - (M - M') / L x layers) for the head, and sends its hidden states and the residual stream between stages. A
/// single micro-batch in a pipeline of unequal stages would be faster, because it does not wait for the slowest
/// stage.
///
/// The plan's MTP modules (Plan::mtp) propose drafts: after the model, each module runs over all rows of a pass, so its
/// cache has every token; the last module is repeated for each additional draft, over one row per sequence; each draft
/// runs the head. The modules' attention cores read a sequence's cache once per draft.
///
/// Not modeled: Roofline::step, and the repeated up-projection of earlier chunks' latent rows in later chunks of a
/// prompt.
PassTimes pass_times(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster,
                     const PassSizes& sizes = {});

}  // namespace llmcalc
