#pragma once
/// Pictures as data: bars, curves and timelines. Drawn as SVG (svg.hpp), as characters (characters.hpp) or listed as a
/// table (table.hpp).

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "text/format.hpp"

namespace llmcalc::plot {

enum class Spacing : std::uint8_t {
  linear,  ///< from 0
  close,   ///< linear, from the least to the greatest value
  logarithmic
};

struct Axis {
  std::string label;  ///< with the unit of the printed numbers: "requests per second"
  Unit unit = Unit::none;
  Spacing spacing = Spacing::linear;
};

struct Ends {
  double low = 0, high = 0;
};

struct Point {
  double x = 0, y = 0;
  std::string name{};          ///< name of the point in tables and tooltips; empty: unnamed
  std::optional<Ends> ends{};  ///< 90 % interval of y
};

enum class Mark : std::uint8_t { line, points };

struct Series {
  std::string name;
  Mark mark = Mark::line;
  std::vector<Point> points{};
};

/// Curves and points over two axes. Values at or below 0 are omitted from logarithmic axes.
struct Curves {
  Axis x, y;
  std::vector<Series> series{};
};

struct Bar {
  std::string name;
  std::vector<std::pair<std::string, double>> parts{};  ///< values of 0 or more, or one value of any sign
  std::optional<double> limit{};                        ///< drawn as a line: the capacity
};

/// Horizontal bars of stacked parts.
struct Bars {
  Axis value;
  std::vector<Bar> bars{};
};

struct Span {
  double begin = 0, end = 0;
  std::string kind;  ///< determines the color
};
struct Lane {
  std::string name;
  std::vector<Span> spans{};
};

/// Intervals over time, one lane per rank.
struct Timeline {
  Axis time;
  std::vector<Lane> lanes{};
};

struct Chart {
  std::string key;    ///< as in --plot KEY
  std::string title;  ///< a few words
  std::string about;  ///< a sentence: the quantity, the conditions
  std::variant<Bars, Curves, Timeline> content{};
};

}  // namespace llmcalc::plot
