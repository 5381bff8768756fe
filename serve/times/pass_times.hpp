#pragma once
/// Times of a serving engine's passes as functions of their work.
///
/// A pass runs every operator except attention cores and the head over the rows of all tokens together, so its time
/// depends only on their number. The head runs over the sequences that get a token. Attention cores run over prompt
/// chunks and over decoding sequences, in separate kernels, whose time depends on the keys that they read and on
/// query-key pairs.

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

/// Kinds of layers by the tokens that a token attends to: 0, all before it; 1, tokens within the model's limited reach
/// (a window or a chunk).
inline constexpr std::size_t reach_kinds = 2;

/// Work of attention cores in the layers of one reach.
struct CoreWork {
  Count queries = 0;  ///< new tokens
  Count keys = 0;     ///< cached tokens that are read, including the new ones: sum over sequences
  Count pairs = 0;    ///< query-key pairs: as many as keys for a decoding sequence; for a chunk see chunk_work()
  constexpr CoreWork& operator+=(const CoreWork& o) {
    queries += o.queries;
    keys += o.keys;
    pairs += o.pairs;
    return *this;
  }
  constexpr bool operator==(const CoreWork&) const = default;
};
constexpr CoreWork operator*(Count n, const CoreWork& w) { return {n * w.queries, n * w.keys, n * w.pairs}; }

/// Core work of n prompt tokens after `past` others: n past + n (n + 1) / 2 pairs if every token sees all before it.
CoreWork chunk_work(Count past, Count n, const Reach& reach);

/// Work of one pass.
struct PassWork {
  Count prompt_tokens = 0;             ///< of prompt chunks
  Count chunks = 0;                    ///< sequences with a chunk
  Count decoding = 0;                  ///< sequences that decode
  Count decoded = 0;                   ///< tokens of these: one each, and drafts to verify
  Count sampled = 0;                   ///< rows of the head: sequences whose prompt ends, and decoded tokens
  Count drafting = 0;                  ///< sequences for which drafts are proposed
  Count moved_blocks = 0;              ///< cache blocks moved to or from the host
  std::optional<Count> expert_rows{};  ///< rows whose experts the rank computes; absent: its own rows
  std::array<CoreWork, reach_kinds> prompts{}, decodes{};
  constexpr Count rows() const { return prompt_tokens + decoded; }
  constexpr bool operator==(const PassWork&) const = default;
};

/// Growth of the decoding core work per pass.
using CoreGrowth = std::array<CoreWork, reach_kinds>;
/// The work after `n` passes.
PassWork grown(PassWork work, const CoreGrowth& growth, Count n);

/// A duration by the number of rows: linear between knots and after the last one, constant before the first.
class PassRowTimes {
 public:
  using Knots = std::vector<std::pair<Count, Ticks>>;
  /// `knots`: rows, ascending, and durations of at least 0. Without knots: no time.
  PassRowTimes() = default;
  explicit PassRowTimes(const Knots& knots);
  Ticks at(Count rows) const;

 private:
  /// From one knot to the next: the rise over `width` rows is width * slope + rest.
  struct Line {
    Count first;
    Ticks time, slope;
    Count rest, width;
  };
  std::vector<Line> lines_;
};

/// A duration linear in core work: attoseconds, and attoseconds per query, key and pair.
struct CoreRate {
  Ticks constant = 0, query = 0, key = 0, pair = 0;
  constexpr Ticks at(const CoreWork& w) const { return constant + w.queries * query + w.keys * key + w.pairs * pair; }
  /// The part of the duration that is proportional to the work.
  constexpr Ticks slope(const CoreWork& w) const { return at(w) - constant; }
};
/// The maximum of up to four lines: compute, memory, a floor. Zero without work.
using CoreTimes = InplaceVector<CoreRate, 4>;

/// Durations of attention cores that lines do not describe, such as measured ones.
class MeasuredCores {
 public:
  MeasuredCores() = default;
  MeasuredCores(const MeasuredCores&) = delete;
  MeasuredCores& operator=(const MeasuredCores&) = delete;
  virtual ~MeasuredCores() = default;
  /// Duration of `n` passes in a row, as PassTimes::passes().
  virtual Ticks passes(const PassWork& work, const CoreGrowth& growth, Count n) const = 0;
};

/// Durations of the parts of a pass.
struct PassTimes {
  PassRowTimes rows;     ///< everything not listed below, by rows of a pass; includes the engine's loop around a pass
  PassRowTimes experts;  ///< experts sharded across ranks, by mean rows of a rank
  PassRowTimes head;     ///< the head, by sampled rows
  PassRowTimes drafts;   ///< proposing drafts, by number of sequences
  std::array<CoreTimes, reach_kinds> prompts{}, decodes{};
  std::shared_ptr<const MeasuredCores> measured{};  ///< replaces `prompts` and `decodes`; null: not measured
  Ticks sequence = 0;     ///< per sequence in a pass, at any length: the state of linear attention
  Ticks moved_block = 0;  ///< per cache block moved to or from the host
  Reach reach{};          ///< of the layers of kind 1; not limited: no such layers
  Ticks request = 0;      ///< per request outside passes; delays no other request

  Ticks pass(const PassWork& work) const;
  /// `n` passes in a row, n >= 1: the first with `work`, each further one with `growth` more decoding core work.
  Ticks passes(const PassWork& work, const CoreGrowth& growth, Count n) const;
};

/// Sizes of an engine's passes that their times depend on.
struct PassSizes {
  Count most_rows = 8192;     ///< per pass; times of more rows are extrapolated
  Count recorded_rows = 512;  ///< passes of up to this many rows are launched from recordings (CUDA graphs)
  Count drafts = 0;           ///< per sequence and pass, proposed by the plan's MTP modules, which are at most as many
  ServedAdapters adapters{};
};

/// Pass times of one replica, at the estimated rates of the cluster's device (Device::achieved), or at datasheet rates
/// without an estimate. A pass of T rows is priced as a decode step of T sequences if it is recorded, otherwise as a
/// prompt of T tokens. A decode pass of n sequences takes the time of decode() and a prompt pass the time of prefill(),
/// up to interpolation between knots.
///
/// Experts on separate ranks process the rows of all data-parallel ranks, spread evenly: their time is for the mean
/// number of rows. Collectives over the links of the rank with most rows are for the rows of that rank.
///
/// A pipeline of p stages, of which the largest has M of L layers and the last one M', runs at the pace of its slowest
/// stage, with a micro-batch in each: a pass takes p M / L times the time of the layers, p max(0, head - (M - M') / L x
/// layers) for the head, and sends its hidden states and the residual stream between stages. A single micro-batch in a
/// pipeline of unequal stages is faster than this by the difference.
///
/// The plan's MTP modules (Plan::mtp) draft: after the model, each runs over all rows of a pass, so its cache has every
/// token; the last one is repeated for each further draft, over a row of each sequence; each draft takes a head. Their
/// cores read the cache of a sequence once per draft.
///
/// Excludes the repeated expansion of earlier chunks' latent rows for later chunks of a prompt, and Roofline::step.
PassTimes pass_times(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster,
                     const PassSizes& sizes = {});

}  // namespace llmcalc
