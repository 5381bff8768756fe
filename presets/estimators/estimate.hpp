#pragma once
/// Parts shared by all estimators: parameters with bounds, defaults and sources, and prediction intervals. An
/// estimator's file (presets/estimates/) is written by a fit to published measurements (`llmcalc accuracy KIND --fit
/// FILE`).

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
#include "calc/elementary.hpp"
#include "calc/units.hpp"
#include "text/json.hpp"

namespace llmcalc {

struct ParameterCard {
  std::string_view name;
  double standard;   ///< default value, from a public source
  double low, high;  ///< physical bounds of the value
  std::string_view meaning, source;
};

/// Parameter values, in the order of the enum P and of the parameter cards.
template <typename P, std::size_t n>
class ParameterValues {
 public:
  /// Initializes all parameters to their defaults.
  explicit ParameterValues(const std::array<ParameterCard, n>& cards) {
    for (std::size_t i = 0; i < n; ++i) values_[i] = cards[i].standard;
  }
  double operator[](P p) const { return values_[static_cast<std::size_t>(p)]; }
  std::array<double, n>& values() { return values_; }
  const std::array<double, n>& values() const { return values_; }

 private:
  std::array<double, n> values_{};
};

/// Interval from estimate / factor to estimate x factor, which covers 90 % of measurements. Families of measurements
/// have equal weights, and each family is predicted with parameters fitted without it.
struct EstimateInterval {
  double factor = 1;
  Count families = 0;  ///< number of measurement families in the fit; below 3, the interval is unknown
  double most_faster = std::numeric_limits<double>::infinity();  ///< maximum of faster(): ratio of estimate to
                                                                 ///< roofline bound
  constexpr bool known() const { return families >= 3; }
  /// Largest expected ratio of a measured speed to its estimate.
  constexpr double faster() const { return std::min(factor, most_faster); }
  /// The interval of a time, with its lower end limited to the roofline bound.
  EstimateInterval above(Seconds bound, Seconds estimate) const {
    EstimateInterval i = *this;
    if (bound > Seconds()) i.most_faster = std::max(1.0, estimate / bound);
    return i;
  }
};

/// Fitted parameters, and a prediction interval for each class.
template <typename Parameters, typename Class>
struct Estimator {
  Parameters parameters{};
  std::array<EstimateInterval, choices<Class>.size()> intervals{};
  std::array<EstimateInterval, choices<Class>.size()> intervals_new{};  ///< for devices or software without runs
  std::array<EstimateInterval, choices<Class>.size()> intervals_once_measured{};  ///< for machines with measured rates
  std::array<EstimateInterval, choices<Class>.size()> intervals_after_a_run{};    ///< after a run on the same machine
  std::string fitted{};                                                           ///< date and dataset of the fit
  std::vector<std::string> devices{};   ///< devices that occur in the fitted measurements
  std::vector<std::string> software{};  ///< software presets that occur in the fitted measurements
  /// Whether the fit includes measurements on this device.
  bool measured(std::string_view device) const {
    return std::find(devices.begin(), devices.end(), device) != devices.end();
  }
  /// Whether the fit includes measurements of this software.
  bool ran(std::string_view preset) const {
    return std::find(software.begin(), software.end(), preset) != software.end();
  }
  const EstimateInterval& interval(Class c) const { return intervals[static_cast<std::size_t>(c)]; }
  /// The interval on a device or with software that the fit does not include; never narrower than interval(). The
  /// interval of assumed inputs if too few sources have such runs.
  const EstimateInterval& interval_of_new(Class c) const {
    const EstimateInterval& own = intervals_new[static_cast<std::size_t>(c)];
    const EstimateInterval& wide = own.known() ? own : interval(Class::assumed);
    return wide.factor > interval(c).factor ? wide : interval(c);
  }
  /// The interval on a machine with measured rates; never wider than interval().
  const EstimateInterval& interval_once_measured(Class c) const {
    const EstimateInterval& narrow = intervals_once_measured[static_cast<std::size_t>(c)];
    return narrow.known() && narrow.factor < interval(c).factor ? narrow : interval(c);
  }
  /// An interval of this class, narrowed as much as interval() is after a run on the same machine; never wider.
  EstimateInterval after_a_run(Class c, EstimateInterval of) const {
    const EstimateInterval& narrow = intervals_after_a_run[static_cast<std::size_t>(c)];
    const EstimateInterval& usual = interval(c);
    if (!narrow.known() || narrow.factor >= usual.factor) return of;
    of.factor = elementary::pow(of.factor, elementary::log(narrow.factor) / elementary::log(usual.factor));
    return of;
  }
};

using IntervalsByClass = std::map<std::string, EstimateInterval>;
/// Intervals in the order of the classes; a class missing from `by_name` has no interval.
template <typename Class>
std::array<EstimateInterval, choices<Class>.size()> in_order(const IntervalsByClass& by_name) {
  std::array<EstimateInterval, choices<Class>.size()> all{};
  for (const auto& c : choices<Class>)
    if (const auto found = by_name.find(std::string(c.name)); found != by_name.end())
      all[static_cast<std::size_t>(c.value)] = found->second;
  return all;
}

/// View of an estimator's file as rows. Class names are in the order of the intervals.
template <typename Value, typename Interval, typename Text, typename Names>
struct EstimateRows {
  std::span<const ParameterCard> cards;
  std::span<Value> values;
  std::span<const std::string_view> classes;
  std::span<Interval> intervals;
  Text& fitted;
  Names& devices;
  std::span<Interval> intervals_once_measured{};  ///< empty if the estimator has no such intervals
  std::span<Interval> intervals_new{};            ///< the same
  std::span<Interval> intervals_after_a_run{};    ///< the same
  Names* software = nullptr;                      ///< null if the estimator does not list software
};
using EstimateRead = EstimateRows<double, EstimateInterval, std::string, std::vector<std::string>>;
using EstimateWritten =
    EstimateRows<const double, const EstimateInterval, const std::string, const std::vector<std::string>>;

/// Throws InputError if a parameter is missing or out of bounds.
void read_estimate(const json::Value& value, const std::string& where, const EstimateRead& to);
json::Value estimate_json(std::string_view name, std::string_view title, const EstimateWritten& from);

/// A built-in estimate, and its name for error messages.
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
                {cards, e.parameters.values(), names, e.intervals, e.fitted, e.devices, e.intervals_once_measured,
                 e.intervals_new, e.intervals_after_a_run, &e.software});
  return e;
}

template <typename Parameters, typename Class>
json::Value estimator_json(std::string_view name, std::string_view title, std::span<const ParameterCard> cards,
                           const Estimator<Parameters, Class>& e) {
  const auto names = class_names<Class>();
  return estimate_json(name, title,
                       {cards, e.parameters.values(), names, e.intervals, e.fitted, e.devices,
                        e.intervals_once_measured, e.intervals_new, e.intervals_after_a_run, &e.software});
}

}  // namespace llmcalc
