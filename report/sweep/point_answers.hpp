#pragma once
/// Computes the rows of a sweep, one point at a time. The values equal the values in the command's --json output.

#include <optional>
#include <string>
#include <vector>

#include "report/commands/runner.hpp"
#include "report/sweep/columns.hpp"
#include "report/sweep/points.hpp"

namespace llmcalc {

using RowCells = std::vector<json::Value>;

/// Requests of points. Keeps the partial request after each axis, so that neighboring points read only the values that
/// differ.
class PointRequests {
 public:
  explicit PointRequests(const SweepPoints& points);
  /// The request of a point, with all defaults filled in, and checked. Throws InputError if it is impossible.
  Request request(const std::vector<Count>& at);

 private:
  void read(Request& r, std::size_t axis, Count value) const;
  Request start(std::size_t axis) const;

  const SweepPoints& points_;
  std::size_t kept_ = 0;       ///< number of axes whose requests are kept: all before the last one that varies
  std::vector<Request> read_;  ///< partial request after each of these axes
  std::vector<Count> values_;  ///< values of these axes
};

/// Not thread-safe: one per share of the work.
class PointAnswers {
 public:
  /// `runner` can stop long simulations.
  PointAnswers(const SweepPoints& points, std::vector<Column> columns, const Runner& runner);

  /// The swept values, the columns, and "error", which is null unless the point is impossible. Absent if stopped.
  std::optional<RowCells> row(Count point);
  /// The whole answer as the command's --json prints it. Throws InputError if the point is impossible.
  json::Value answer(Count point);

 private:
  void add_values(RowCells& cells, const std::vector<Count>& at);
  json::Value value(const Column& c, const Answer& answer);
  const Section& section(std::size_t index, const Answer& answer);
  const json::Value& whole(const Answer& answer);
  json::Value serving_json(Request r);

  const SweepPoints& points_;
  std::vector<Column> columns_;
  const Runner& runner_;
  const Question* question_;
  PointRequests requests_;
  std::vector<std::optional<Section>> sections_;  ///< sections of the current point
  std::optional<json::Value> whole_;              ///< whole answer for the current point
  bool stopped_ = false;
};

/// The answer of the first possible point, among the first 1000 points; null if all of these are impossible.
json::Value first_answer(const SweepPoints& points, const Runner& runner);

/// Names of a row's cells.
std::vector<std::string> sweep_header(const SweepPoints& points, const std::vector<std::string>& columns);

}  // namespace llmcalc
