#pragma once
/// Predictions of families of measurements by parameters that were fitted without them: how far an estimate is from
/// runs that it has not seen.

#include "evidence/accuracy.hpp"
#include "evidence/training_fit.hpp"

namespace llmcalc {

/// The pull towards the defaults, chosen by left-out families among 0.1, 0.3, 1, 3 and 10. Their medians are alike up
/// to 1 (7.8 to 8.4 %) and worse above; of those up to 1, the strongest pull predicts what is furthest off best.
inline constexpr double chosen_ridge = 1;

/// Fits to all rows of a file of training.
TrainingParameters fitted(const MeasurementFile& file, const AccuracyWatch& watch = {});

/// The same without a term of the estimator.
TrainingParameters fitted_without(const MeasurementFile& file, const EstimatorTerm& term,
                                  const AccuracyWatch& watch = {});

/// Replaces the predictions of an Accuracy of training by those of other parameters.
void predict_again(Accuracy& a, const MeasurementFile& file, const TrainingParameters& p);

/// Replaces the predictions of an Accuracy of training: each family's by those of parameters that were fitted to all
/// others, beginning with `all`. Families that share machines, model code and authors are left out together.
void leave_out(Accuracy& a, const MeasurementFile& file, const TrainingParameters& all,
               const AccuracyWatch& watch = {});

/// The intervals of the classes, from left-out predictions: within `factor` are 90 of 100 measurements, each family of
/// a class counting the same.
std::array<EstimateInterval, 3> intervals(const Accuracy& left_out);

}  // namespace llmcalc
