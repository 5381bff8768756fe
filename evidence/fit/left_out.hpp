#pragma once
/// Predictions of families of measurements by parameters that were fitted without them: how far an estimate is from
/// runs that it has not seen.

#include <map>
#include <string>
#include <vector>

#include "evidence/accuracy.hpp"
#include "evidence/fit/estimator_terms.hpp"
#include "evidence/fit/parameter_fit.hpp"

namespace llmcalc {

/// The pull towards the defaults, chosen by left-out families among 0.3, 0.5, 1, 2 and 3. In training the mean of their
/// medians is alike from 0.3 to 2 (8.9 to 9.3 %), as is what is furthest off; of these, 0.5 is between what follows the
/// rows and what follows the defaults. In inference, whose sources are smaller, 3 and 10 predict left-out figures alike
/// (time per token 6 to 8 %, whole batches 11 to 13 %) and better than weaker pulls (8 to 9 %, 13 %); of the two, 3
/// follows the rows more closely.
double chosen_ridge(AccuracyKind kind);

/// What an estimator is fitted to: the rows of a file. Precondition: training or inference.
FitSet fit_set(const MeasurementFile& file, AccuracyKind kind);

/// Values of the parameters that are fitted to all rows, from the defaults.
std::vector<double> fitted(const FitSet& set, double ridge, const AccuracyWatch& watch = {});
/// The same without a term of the estimator.
std::vector<double> fitted_without(const FitSet& set, double ridge, const EstimatorTerm& term,
                                   const AccuracyWatch& watch = {});

/// Replaces the predictions of the rows of a set by those of other values.
void predict_again(Accuracy& a, const FitSet& set, std::span<const double> values);

/// Replaces the predictions of the rows of a set: each family's by those of values that were fitted to all others,
/// beginning with `all`. Families that share machines, code and authors are left out together.
void leave_out(Accuracy& a, const FitSet& set, double ridge, std::span<const double> all,
               const AccuracyWatch& watch = {});

/// The families that share machines, code or authors with a family, by one name; the family's own where there are none.
std::string kin(const std::string& family);

/// The interval of errors in logarithms without sign, by family: as near to 90 of 100 as they allow lie within, each
/// family counting the same.
EstimateInterval interval_of(const std::map<std::string, std::vector<double>>& errors);

/// The intervals of the classes of rows (RowSubject::kind), from left-out predictions. Rows that do not count are
/// passed over.
IntervalsByClass intervals(const Accuracy& left_out);

}  // namespace llmcalc
