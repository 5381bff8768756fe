#pragma once
/// Reduction of intervals after measurements on the machine: for a step if another step was timed, and for the times of
/// a server if its engine's operators were timed. Both come only from published measurements.

#include "evidence/accuracy.hpp"

namespace llmcalc {

/// Intervals by class of a step (EstimateInterval), from all pairs of a source's rows with the same class, device,
/// stack and precision. The second row of a pair is predicted with its source left out and re-scaled by the error of
/// the first (presets/training_estimator.hpp, rescale). The interval covers 90 % of the pairs' errors, with equal
/// weights for sources. Skips sources without a pair and rows that do not count.
IntervalsByClass intervals_after_a_step(const Accuracy& left_out);

/// Intervals by class of a server's times with operator tables. The squares of the widths, ln(factor), are averaged
/// over the class without tables (`without`) and each source in `replays`, recorded runs predicted from tables, whose
/// width covers 90 % of its errors. Times per token are of the class "decode under load", times to the first token of
/// "first token"; recorded runs do not cover other classes. With few sources, the class without tables dominates.
IntervalsByClass intervals_with_tables(const Accuracy& replays, const IntervalsByClass& without);

}  // namespace llmcalc
