#pragma once
/// Duration of the first n of consecutive passes with the same sequences, for many n: the parts of the duration that
/// do not depend on n are computed once.

#include "serve/times/pass_times.hpp"

namespace llmcalc {

class PassSeries {
 public:
  static constexpr Count most = Count{1} << 40;  ///< maximum number of passes

  PassSeries() = default;
  /// The first pass has `work`; each later pass has `growth` more decoding core work. Precondition: the times have no
  /// measured cores.
  PassSeries(const PassTimes& times, const PassWork& work, const CoreGrowth& growth);
  /// Duration of the first `n` passes, 1 to `most`.
  Ticks passes(Count n) const;

 private:
  /// Passes in which the same line determines the time of the decoding cores of one reach.
  struct Piece {
    Count begin, end;   ///< the passes, `end` excluded
    Ticks time, slope;  ///< duration of the cores in the first of these passes, and its growth per pass
  };
  void add(const CoreTimes& cores, const CoreWork& work, const CoreWork& growth);

  Ticks each_ = 0;   ///< time of a pass except its decoding cores
  Ticks first_ = 0;  ///< duration of the first pass
  InplaceVector<Piece, reach_kinds * CoreTimes::capacity> pieces_;
};

}  // namespace llmcalc
