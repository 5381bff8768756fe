#pragma once
/// Times of a serving engine's passes by the work that they hold.
///
/// A pass runs every operator but attention's cores and the head over the rows of all tokens together, so that its time
/// depends on their number alone; the head over the sequences that get a token; attention's cores over chunks of
/// prompts and over decoding sequences, in kernels of their own, whose time depends on the keys that they read and on
/// query-key pairs.

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "calc/in_place.hpp"
#include "calc/infer.hpp"
#include "serve/adapters.hpp"
#include "serve/times/clock.hpp"

namespace llmcalc {

/// Kinds of layers by the tokens that a token attends to: 0, all before it; 1, those within the model's limited reach
/// (a window or a chunk).
inline constexpr std::size_t reach_kinds = 2;

/// Work of attention's cores in the layers of one reach.
struct CoreWork {
  Count queries = 0;  ///< new tokens
  Count keys = 0;     ///< tokens of the cache that are read, the new ones included: sum over sequences
  Count pairs = 0;    ///< of a query and a key: of a decoding sequence as many as keys, of a chunk see chunk_work()
  constexpr CoreWork& operator+=(const CoreWork& o) {
    queries += o.queries;
    keys += o.keys;
    pairs += o.pairs;
    return *this;
  }
  constexpr bool operator==(const CoreWork&) const = default;
};
constexpr CoreWork operator*(Count n, const CoreWork& w) { return {n * w.queries, n * w.keys, n * w.pairs}; }

/// Cores of n tokens of a prompt after `past` others: n past + n (n + 1) / 2 pairs where every token sees all before
/// it.
CoreWork chunk_work(Count past, Count n, const Reach& reach);

/// Work of one pass.
struct PassWork {
  Count prompt_tokens = 0;             ///< of the chunks of prompts
  Count chunks = 0;                    ///< sequences with a chunk
  Count decoding = 0;                  ///< sequences that decode
  Count decoded = 0;                   ///< tokens of these: one each, and drafts that are verified
  Count sampled = 0;                   ///< rows of the head: sequences whose prompt ends, and decoded tokens
  Count drafting = 0;                  ///< sequences for which drafts are proposed
  Count moved_blocks = 0;              ///< blocks of the cache that go to the host or come from there
  std::optional<Count> expert_rows{};  ///< rows whose experts the rank computes; absent: its own
  std::array<CoreWork, reach_kinds> prompts{}, decodes{};
  constexpr Count rows() const { return prompt_tokens + decoded; }
  constexpr bool operator==(const PassWork&) const = default;
};

/// What each of several passes adds to the work of decoding cores.
using CoreGrowth = std::array<CoreWork, reach_kinds>;
/// The work after `n` passes.
PassWork grown(PassWork work, const CoreGrowth& growth, Count n);

/// A duration by the number of rows: linear between knots and beyond the last one, and before the first as at it.
class PassRowTimes {
 public:
  using Knots = std::vector<std::pair<Count, Ticks>>;
  /// `knots`: rows, ascending, and durations, none negative. None: no time.
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

/// A duration linear in the work of cores: attoseconds, and attoseconds for each query, key and pair.
struct CoreRate {
  Ticks constant = 0, query = 0, key = 0, pair = 0;
  constexpr Ticks at(const CoreWork& w) const { return constant + w.queries * query + w.keys * key + w.pairs * pair; }
  /// Of what is added to the work.
  constexpr Ticks slope(const CoreWork& w) const { return at(w) - constant; }
};
/// The longest of up to four lines: compute, memory, a floor. No work takes no time.
using CoreTimes = InPlace<CoreRate, 4>;

/// Durations of attention's cores that lines do not describe, such as measured ones.
class MeasuredCores {
 public:
  MeasuredCores() = default;
  MeasuredCores(const MeasuredCores&) = delete;
  MeasuredCores& operator=(const MeasuredCores&) = delete;
  virtual ~MeasuredCores() = default;
  /// Of `n` passes in a row, as PassTimes::passes().
  virtual Ticks passes(const PassWork& work, const CoreGrowth& growth, Count n) const = 0;
};

/// Durations of the parts of a pass.
struct PassTimes {
  PassRowTimes rows;     ///< all but what follows, of the rows of a pass; the engine's loop around a pass included
  PassRowTimes experts;  ///< experts that are spread over ranks, of the mean number of rows of a rank
  PassRowTimes head;     ///< the head, of sampled rows
  PassRowTimes drafts;   ///< proposing the drafts of a number of sequences
  std::array<CoreTimes, reach_kinds> prompts{}, decodes{};
  std::shared_ptr<const MeasuredCores> measured{};  ///< in place of the two; null: there are none
  Ticks sequence = 0;     ///< of a sequence in a pass, whatever its length: the state of linear attention
  Ticks moved_block = 0;  ///< of a block of the cache on its way to or from the host
  Reach reach{};          ///< of the layers of kind 1; not limited: there are none
  Ticks request = 0;      ///< of a request besides passes, which keeps no other waiting

  Ticks pass(const PassWork& work) const;
  /// `n` passes in a row, n >= 1: the first of `work`, each further one of `growth` more work of decoding cores.
  Ticks passes(const PassWork& work, const CoreGrowth& growth, Count n) const;
};

/// Sizes of an engine's passes, as far as their times depend on them.
struct PassSizes {
  Count most_rows = 8192;     ///< in a pass; times of more are extrapolated
  Count recorded_rows = 512;  ///< passes of up to as many rows are launched from recordings (CUDA graphs)
  Count drafts = 0;           ///< of a sequence in a pass, by the plan's modules, of which there are no more
  ServedAdapters adapters{};
};

/// Times of the passes of one replica, at the estimated rates of the cluster's device (Device::achieved), or at the
/// datasheet's where it has none. A pass of T rows is priced as a decode step of T sequences as long as it is
/// recorded, and as a prompt of T tokens above; a decode pass of n sequences takes what decode() says, a prompt's
/// what prefill() says, between knots within what lines leave.
///
/// Experts on ranks of their own take the rows of all data-parallel ranks, evenly spread: their time is that of the
/// mean number of rows, while exchanges, over the links of the rank with most rows, are of that one's.
///
/// A pipeline of p stages, of which the largest has M of L layers and the last one M', runs at the pace of its slowest
/// stage, with a micro-batch in each: a pass takes p M / L times what the layers take, p max(0, head - (M - M') / L x
/// layers) for the head, and between two stages it sends its hidden states and the residual stream. A micro-batch that
/// is alone in a pipeline whose stages are unlike is that much faster than counted.
///
/// The plan's modules (Plan::mtp) draft: behind the model each runs over all rows of a pass, so that its cache has
/// every token; the last of them runs again for each draft more, over a row of each sequence; each draft takes a head.
/// Their cores read the cache of a sequence once per draft.
///
/// Left out: latent rows of earlier chunks that are expanded once more for each later chunk of a prompt;
/// Roofline::step.
PassTimes pass_times(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster,
                     const PassSizes& sizes = {});

}  // namespace llmcalc
