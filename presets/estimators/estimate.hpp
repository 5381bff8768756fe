#pragma once
/// The parts that every estimator has: parameters with bounds, defaults and sources, and intervals. An estimator's file
/// (presets/estimates/) is written by a fit to published measurements (`llmcalc accuracy KIND --fit FILE`).

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calc/choice.hpp"
#include "calc/units.hpp"
#include "text/json.hpp"

namespace llmcalc {

struct ParameterCard {
  std::string_view name;
  double standard;   ///< the default, from a public source
  double low, high;  ///< physical bounds
  std::string_view meaning, source;
};

/// Values of parameters, in the order of the enum P and of their cards.
template <typename P, std::size_t n>
class ParameterValues {
 public:
  /// The defaults.
  explicit ParameterValues(const std::array<ParameterCard, n>& cards) {
    for (std::size_t i = 0; i < n; ++i) values_[i] = cards[i].standard;
  }
  double operator[](P p) const { return values_[static_cast<std::size_t>(p)]; }
  std::array<double, n>& values() { return values_; }
  const std::array<double, n>& values() const { return values_; }

 private:
  std::array<double, n> values_{};
};

/// A measurement lies between estimate / factor and estimate x factor in 90 of 100 cases, families of measurements
/// weighted equally, each predicted by parameters that were fitted without it.
struct EstimateInterval {
  double factor = 1;
  Count families = 0;  ///< of measurements behind it; below 3: there is no interval
  double most_faster = std::numeric_limits<double>::infinity();  ///< estimate / bound: nothing is faster than its bound
  constexpr bool known() const { return families >= 3; }
  /// How many times as fast as its estimate a measurement may be.
  constexpr double faster() const { return std::min(factor, most_faster); }
  /// The same interval of a time whose bound is known.
  EstimateInterval above(Seconds bound, Seconds estimate) const {
    EstimateInterval i = *this;
    if (bound > Seconds()) i.most_faster = std::max(1.0, estimate / bound);
    return i;
  }
};

/// Fitted parameters, and an interval for each class of predictions.
template <typename Parameters, typename Class>
struct Estimator {
  Parameters parameters{};
  std::array<EstimateInterval, choices<Class>.size()> intervals{};
  std::array<EstimateInterval, choices<Class>.size()> intervals_once_measured{};  ///< of a machine that was measured
  std::string fitted{};                                                           ///< when, and on what
  std::vector<std::string> devices{};  ///< names of those on which the rows were measured
  /// Whether a row was measured on such a device.
  bool measured(std::string_view device) const {
    return std::find(devices.begin(), devices.end(), device) != devices.end();
  }
  const EstimateInterval& interval(Class c) const { return intervals[static_cast<std::size_t>(c)]; }
  /// The interval once the machine was measured: never wider than before.
  const EstimateInterval& interval_once_measured(Class c) const {
    const EstimateInterval& narrow = intervals_once_measured[static_cast<std::size_t>(c)];
    return narrow.known() && narrow.factor < interval(c).factor ? narrow : interval(c);
  }
};

using IntervalsByClass = std::map<std::string, EstimateInterval>;
/// Intervals in the order of the classes; of classes without a name in `by_name` there are none.
template <typename Class>
std::array<EstimateInterval, choices<Class>.size()> in_order(const IntervalsByClass& by_name) {
  std::array<EstimateInterval, choices<Class>.size()> all{};
  for (const auto& c : choices<Class>)
    if (const auto found = by_name.find(std::string(c.name)); found != by_name.end())
      all[static_cast<std::size_t>(c.value)] = found->second;
  return all;
}

/// An estimator's file, its parts seen as rows. Names of classes are in the order of their intervals.
template <typename Value, typename Interval, typename Text, typename Names>
struct EstimateRows {
  std::span<const ParameterCard> cards;
  std::span<Value> values;
  std::span<const std::string_view> classes;
  std::span<Interval> intervals;
  Text& fitted;
  Names& devices;
  std::span<Interval> intervals_once_measured{};  ///< empty: the estimator has none
};
using EstimateRead = EstimateRows<double, EstimateInterval, std::string, std::vector<std::string>>;
using EstimateWritten =
    EstimateRows<const double, const EstimateInterval, const std::string, const std::vector<std::string>>;

/// Throws InputError where a parameter is missing or beyond its bounds.
void read_estimate(const json::Value& value, const std::string& where, const EstimateRead& to);
json::Value estimate_json(std::string_view name, std::string_view title, const EstimateWritten& from);

/// The built-in estimate of that name, with its place for errors.
struct EstimateFile {
  json::Value value;
  std::string where;
};
EstimateFile builtin_estimate(std::string_view name);

template <typename Class>
constexpr auto class_names() {
  std::array<std::string_view, choices<Class>.size()> names{};
  for (const auto& c : choices<Class>) names[static_cast<std::size_t>(c.value)] = c.name;
  return names;
}

template <typename Parameters, typename Class>
Estimator<Parameters, Class> read_estimator(const json::Value& value, const std::string& where,
                                            std::span<const ParameterCard> cards) {
  Estimator<Parameters, Class> e;
  const auto names = class_names<Class>();
  read_estimate(value, where,
                {cards, e.parameters.values(), names, e.intervals, e.fitted, e.devices, e.intervals_once_measured});
  return e;
}

template <typename Parameters, typename Class>
json::Value estimator_json(std::string_view name, std::string_view title, std::span<const ParameterCard> cards,
                           const Estimator<Parameters, Class>& e) {
  const auto names = class_names<Class>();
  return estimate_json(
      name, title, {cards, e.parameters.values(), names, e.intervals, e.fitted, e.devices, e.intervals_once_measured});
}

}  // namespace llmcalc
