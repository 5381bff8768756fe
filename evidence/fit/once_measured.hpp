#pragma once
/// Narrower intervals after a measurement on the user's machine: for a step after another step has been timed, for
/// inference after another run has been timed, and for a server's times after its engine's operators have been timed.
/// All are computed only from published measurements.

#include "evidence/accuracy.hpp"

namespace llmcalc {

/// Intervals by class of a step (EstimateInterval), from all pairs of a source's rows with the same class, device,
/// stack and precision. The second row of a pair is predicted with parameters fitted without its source, and rescaled
/// by the error of the first (presets/estimators/training_estimator.hpp, rescale). The interval covers 90 % of the
/// pairs' errors, with equal weights for sources. Skips sources without a pair and rows that do not count.
IntervalsByClass intervals_after_a_step(const Accuracy& left_out);

/// Intervals by class of inference figures, from all pairs of runs of one source on the same device with the same
/// engine. The second run is predicted with parameters fitted without its source; its times per token and whole times
/// are scaled by the first run's time per token (its whole time if it has none), its prompt times by the first run's
/// prompt time (presets/estimators/inference_estimator.hpp, paced_by). The width, ln(factor), of a class in `usual`
/// shrinks as much as scaling shrinks the width that covers 90 % of the pairs' errors. Omits classes whose width would
/// not shrink.
IntervalsByClass intervals_after_a_run(const Accuracy& left_out, const IntervalsByClass& usual);

/// Intervals, by class, of a server's times predicted with operator tables. The squared width, ln(factor)^2, of a class
/// is the mean of the squared widths of its interval without tables (`without`) and of one interval per source in
/// `replays` (recorded runs predicted from tables), which covers 90 % of that source's errors. Times per token belong
/// to the class "decode under load", and times to first token to "first token"; recorded runs do not cover other
/// classes. With few sources, the interval without tables dominates.
IntervalsByClass intervals_with_tables(const Accuracy& replays, const IntervalsByClass& without);

}  // namespace llmcalc
