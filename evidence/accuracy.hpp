#pragma once
/// Predictions beside the measurements of whole files.

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

/// What is predicted.
enum class AccuracyKind : std::uint8_t { training, memory, inference, serving };
template <>
inline constexpr auto choices<AccuracyKind> =
    std::array{Choice{AccuracyKind::training, "training"}, Choice{AccuracyKind::memory, "memory"},
               Choice{AccuracyKind::inference, "inference"}, Choice{AccuracyKind::serving, "serving"}};

/// The rows that it needs.
constexpr MeasurementKind rows_for(AccuracyKind k) {
  if (k == AccuracyKind::serving) return MeasurementKind::serving;
  return k == AccuracyKind::inference ? MeasurementKind::inference : MeasurementKind::training;
}

/// A part of a prediction, in its unit.
struct PredictedPart {
  std::string name;
  double value = 0;
};

/// One number that was measured, and its prediction.
struct PredictedRow {
  std::string id{};
  RowSubject of{};
  std::string quantity{};         ///< with its unit: "step_time_s", "peak_reserved_bytes", a row's own key ("tpot_ms")
  Prediction predicted{};         ///< in the quantity's unit
  double measured = 0;            ///< the same
  std::optional<double> bound{};  ///< at the datasheet's rates, the same
  std::string measured_as{};      ///< the key that it was derived from; empty: the quantity itself
  bool repeats = false;           ///< another figure of the row says the same
  std::string doubt{};            ///< not empty: why the row itself advises against it
  std::vector<std::string> assumed{};
  std::vector<PredictedPart> parts{};  ///< of a memory, which add up to it

  /// Whether it counts in a summary: each fact once, and none that its source advises against.
  bool counts() const { return !repeats && doubt.empty(); }
  Compared compared(std::string group) const {
    return {std::move(group), predicted.value, measured, predicted.low, predicted.high};
  }
};

/// A row, or a figure of one, that could not be predicted.
struct SkippedRow {
  std::string id, reason;
};

/// Generated tokens per second of a recorded run over time.
struct RunRates {
  std::string id;
  std::vector<RateOverTime> rates;
};

struct Accuracy {
  std::optional<AccuracyKind> kind;  ///< absent: each row by its own command
  std::vector<PredictedRow> rows;
  std::vector<SkippedRow> skipped;
  std::vector<RunRates> runs;  ///< of servers alone
};

/// Called before each row with the number of rows that are done, and of all.
using AccuracyWatch = std::function<void(Count done, Count all)>;

/// Predicts the rows of one kind; without a kind every row by its own command, of training the step and the memory.
/// `basis` applies to servers. Throws InputError where tables lack a layer of a run's model.
Accuracy accuracy(const MeasurementFile& file, std::optional<AccuracyKind> kind, const AccuracyWatch& watch = {},
                  const ReplayBasis& basis = {});

}  // namespace llmcalc
