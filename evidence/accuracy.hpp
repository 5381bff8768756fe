#pragma once
/// Predictions for all rows of a measurement file, paired with the measured values.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calc/choice.hpp"
#include "evidence/errors.hpp"
#include "evidence/prediction.hpp"
#include "evidence/replay.hpp"
#include "evidence/row_subject.hpp"
#include "evidence/rows/measurement_file.hpp"

namespace llmcalc {

/// Kinds of prediction.
enum class AccuracyKind : std::uint8_t { training, memory, inference, serving };
template <>
inline constexpr auto choices<AccuracyKind> =
    std::array{Choice{AccuracyKind::training, "training"}, Choice{AccuracyKind::memory, "memory"},
               Choice{AccuracyKind::inference, "inference"}, Choice{AccuracyKind::serving, "serving"}};

/// Kind of measurement that a kind of prediction needs.
constexpr MeasurementKind rows_for(AccuracyKind k) {
  if (k == AccuracyKind::serving) return MeasurementKind::serving;
  return k == AccuracyKind::inference ? MeasurementKind::inference : MeasurementKind::training;
}

/// Part of a prediction, in the prediction's unit.
struct PredictedPart {
  std::string name;
  double value = 0;
};

/// A measured value and its prediction.
struct PredictedRow {
  std::string id{};
  RowSubject of{};
  std::string quantity{};         ///< name with its unit: "step_time_s", or the row's key ("tpot_ms")
  Prediction predicted{};         ///< prediction, in the quantity's unit
  double measured = 0;            ///< measured value, in the quantity's unit
  std::optional<double> bound{};  ///< prediction at datasheet rates, in the quantity's unit
  std::string measured_as{};  ///< key in the source from which the quantity was derived; empty if it was not derived
  bool repeats = false;       ///< whether the figure is equivalent to another one of the row
  std::string doubt{};        ///< why the row casts doubt on the figure; empty: no doubt
  std::vector<std::string> assumed{};
  std::vector<PredictedPart> parts{};  ///< parts of a memory prediction, which add up to it

  /// Whether the row counts in summaries; repeats and doubtful figures do not.
  bool counts() const { return !repeats && doubt.empty(); }
  Compared compared(std::string group) const {
    return {std::move(group), predicted.value, measured, predicted.low, predicted.high};
  }
};

/// A row or figure that could not be predicted.
struct SkippedRow {
  std::string id, reason;
};

/// Generated tokens per second of a recorded run over time.
struct RunRates {
  std::string id;
  std::vector<RateOverTime> rates;
};

struct Accuracy {
  std::optional<AccuracyKind> kind;  ///< kind of prediction; absent: each row's command determines it
  std::vector<PredictedRow> rows;
  std::vector<SkippedRow> skipped;
  std::vector<RunRates> runs;  ///< one per recorded server run
};

/// Called before each row with the number of finished rows and the total.
using AccuracyWatch = std::function<void(Count done, Count all)>;

/// Predicts all rows with one kind of prediction. Without a kind, each row's command determines it, and a training row
/// yields predictions for both its step time and its memory. `basis` applies to server runs. Throws InputError if
/// tables lack a layer of a run's model.
Accuracy accuracy(const MeasurementFile& file, std::optional<AccuracyKind> kind, const AccuracyWatch& watch = {},
                  const ReplayBasis& basis = {});

}  // namespace llmcalc
