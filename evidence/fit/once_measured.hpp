#pragma once
/// How much narrower an interval is once the machine was measured: the estimate of a step where another step was timed,
/// and the times of a server whose engine's operators were timed. Both from published measurements alone.

#include "evidence/accuracy.hpp"

namespace llmcalc {

/// Intervals by class of a step (EstimateInterval). Every pair of a source's rows of one class on one device, under one
/// stack, in one precision: the second is predicted with its source left out and re-scaled by what the first is off
/// (presets/training_estimator.hpp, rescale). 90 % of the errors of pairs lie within, each source counting the same. A
/// source without such a pair is passed over, as are rows that do not count.
IntervalsByClass intervals_after_a_step(const Accuracy& left_out);

/// Intervals by class of a server's times under tables of operators. The squares of widths, ln(factor), are averaged:
/// one of the class without tables (`without`), and one of each source in `replays`, recorded runs that were predicted
/// from tables: 90 % of its errors lie within. Times per token are of the class "decode under load", times to the first
/// token of "first token"; of other classes no run tells. With few such sources the class without tables weighs most.
IntervalsByClass intervals_with_tables(const Accuracy& replays, const IntervalsByClass& without);

}  // namespace llmcalc
