#pragma once
/// Predictions for families of measurements with parameters that were fitted without them, as an estimate of errors
/// on unseen runs.

#include <map>
#include <string>
#include <vector>

#include "evidence/accuracy.hpp"
#include "evidence/fit/estimator_terms.hpp"
#include "evidence/fit/parameter_fit.hpp"

namespace llmcalc {

/// Strength of the ridge penalty that pulls values toward their defaults, chosen by leave-one-family-out errors among
/// 0.3, 0.5, 1, 2 and 3. In training, the mean of the family medians hardly changes from 0.3 to 2 (8.9 to 9.3 %), nor
/// do the largest errors; 0.5 is a compromise between rows and defaults. In inference, whose sources are smaller, 3 and
/// 10 predict held-out figures equally well (time per token 6 to 8 %, whole batches 11 to 13 %) and better than weaker
/// penalties do (8 to 9 %, 13 %). Of these two, 3 follows the rows more closely.
double chosen_ridge(AccuracyKind kind);

/// Rows of a file to which an estimator is fitted. Precondition: `kind` is training or inference.
FitSet fit_set(const MeasurementFile& file, AccuracyKind kind);

/// Parameter values fitted to all rows, starting from `begin`.
std::vector<double> fitted(const FitSet& set, double ridge, std::span<const double> begin,
                           const AccuracyWatch& watch = {});
/// Parameter values fitted without a term of the estimator.
std::vector<double> fitted_without(const FitSet& set, double ridge, const EstimatorTerm& term,
                                   const AccuracyWatch& watch = {});

/// Recomputes the predictions for rows of a set with these parameter values.
void predict_from(Accuracy& a, const FitSet& set, std::span<const double> values);

/// Recomputes the predictions for rows of a set. Each family is predicted with values fitted to all other families,
/// starting from `all`. Families that share machines, code or authors are held out together.
void leave_out(Accuracy& a, const FitSet& set, double ridge, std::span<const double> all,
               const AccuracyWatch& watch = {});

/// Common name of the families that share machines, code or authors with this one; the family's name if there are no
/// others.
std::string kin(const std::string& family);

/// Interval that covers the absolute log errors, grouped by family, with coverage as close to 90 % as possible.
/// The weight of a family of n errors is n^power.
EstimateInterval interval_of(const std::map<std::string, std::vector<double>>& errors, double power = 0);

/// Intervals by class (RowSubject::kind), from leave-one-family-out predictions. Excludes rows that do not count in
/// summaries. In inference, excludes rows of intervals_of_new(), except in classes that would keep fewer than three
/// families, and weights a family by the square root of its rows.
IntervalsByClass intervals(const Accuracy& left_out);
/// The same, but in inference no narrower than an interval that covers the errors of the fit itself. A source whose
/// device no other source has is new when left out, but known to the fit.
IntervalsByClass intervals(const Accuracy& left_out, const Accuracy& in_fit);

/// Intervals of inference rows on a device, or with software, that no other source has.
IntervalsByClass intervals_of_new(const Accuracy& left_out);

}  // namespace llmcalc
