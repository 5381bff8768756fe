#include "report/plot/characters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/plot/drawing.hpp"
#include "report/plot/scale.hpp"
#include "report/render/lines.hpp"

namespace llmcalc::plot {
namespace {

/// Marks of the series or parts, in order; repeated after the last.
char mark_of(std::size_t i) {
  constexpr std::array marks{'#', '=', '+', 'o', 'x', '~', '*', '%'};
  return marks[i % marks.size()];
}

std::string legend_of(const std::vector<std::string>& names, std::size_t columns) {
  std::string all;
  for (std::size_t i = 0; i < names.size(); ++i)
    all += fmt::format("{}{} {}", i == 0 ? "" : "  ", mark_of(i), names[i]);
  return wrapped("  ", all, columns) + "\n";
}

std::size_t cell(double at, std::size_t cells) {
  return std::min(cells - 1, static_cast<std::size_t>(std::max(0.0, std::floor(at * static_cast<double>(cells)))));
}

std::string drawn(const Bars& bars, std::size_t columns) {
  std::vector<double> ends;
  std::size_t label = 4;
  for (const Bar& bar : bars.bars) {
    double sum = 0;
    for (const auto& [name, value] : bar.parts) sum += value;
    ends.push_back(sum);
    if (bar.limit) ends.push_back(*bar.limit);
    label = std::max(label, std::min<std::size_t>(24, bar.name.size()));
  }
  const Scale scale(bars.value, ends);
  const std::size_t width = std::max<std::size_t>(10, columns - label - 16);
  const std::vector<std::string> names = part_names(bars);
  std::string out;
  for (const Bar& bar : bars.bars) {
    std::string line(width, ' ');
    double sum = 0;
    for (const auto& [name, value] : bar.parts) {
      const std::size_t from = cell(scale.at(sum).value_or(0), width),
                        to = cell(scale.at(sum + value).value_or(0), width);
      std::fill(line.begin() + static_cast<long>(std::min(from, to)),
                line.begin() + static_cast<long>(std::max(from, to)), mark_of(index_of(names, name)));
      sum += value;
    }
    if (bar.limit) line[cell(scale.at(*bar.limit).value_or(0), width)] = '|';
    out += fmt::format("  {} {} {}\n", flush_left(bar.name.substr(0, label), label), line, scale.text(sum));
  }
  return out + (names.size() > 1 ? legend_of(names, columns) : wrapped("  ", bars.value.label, columns) + "\n");
}

/// Points between the points of a line, so that it is drawn without gaps.
std::vector<std::pair<double, double>> positions_of(const Series& s, const Scale& x, const Scale& y) {
  std::vector<std::pair<double, double>> all;
  constexpr int between = 60;
  for (const Point& p : s.points) {
    const auto across = x.at(p.x), up = y.at(p.y);
    if (!across || !up) continue;
    if (s.mark == Mark::line && !all.empty()) {
      const auto [from_x, from_y] = all.back();
      for (int i = 1; i < between; ++i)
        all.emplace_back(from_x + (*across - from_x) * i / between, from_y + (*up - from_y) * i / between);
    }
    all.emplace_back(*across, *up);
  }
  return all;
}

std::string drawn(const Curves& curves, std::size_t columns) {
  constexpr std::size_t rows = 16, left = 12;
  std::vector<double> xs, ys;
  for (const Series& s : curves.series)
    for (const Point& p : s.points) xs.push_back(p.x), ys.push_back(p.y);
  const Scale x(curves.x, xs), y(curves.y, ys);
  const std::size_t width = columns - left - 2;
  std::vector<std::string> field(rows, std::string(width, ' '));
  std::vector<std::string> names;
  for (const Series& s : curves.series) {
    for (const auto& [across, up] : positions_of(s, x, y))
      field[rows - 1 - cell(up, rows)][cell(across, width)] = mark_of(names.size());
    names.push_back(s.name);
  }
  std::string out = "  " + curves.y.label + "\n";
  for (std::size_t i = 0; i < rows; ++i) {
    const std::string tick = i == 0 ? y.text(y.high()) : i == rows - 1 ? y.text(y.low()) : "";
    out += fmt::format("{} |{}\n", flush_right(tick, left - 2), field[i]);
  }
  const std::string first = x.text(x.low()), last = x.text(x.high());
  out += fmt::format("{} +{}\n", std::string(left - 2, ' '), std::string(width, '-'));
  const std::size_t room = width > first.size() + last.size() ? width - first.size() - last.size() : 1;
  out += fmt::format("{}{}{}{}\n", std::string(left, ' '), first, std::string(room, ' '), last);
  out += fmt::format("{}{}\n", std::string(left, ' '), curves.x.label);
  return out + (names.size() > 1 ? legend_of(names, columns) : "");
}

std::string drawn(const Timeline& timeline, std::size_t columns) {
  constexpr std::size_t left = 10;
  std::vector<double> ends;
  for (const Lane& lane : timeline.lanes)
    for (const Span& s : lane.spans) ends.push_back(s.end);
  const Scale scale(timeline.time, ends);
  const std::vector<std::string> kinds = span_kinds(timeline);
  const std::size_t width = columns - left - 2;
  std::string out;
  for (const Lane& lane : timeline.lanes) {
    std::string line(width, '.');
    for (const Span& s : lane.spans) {
      const std::size_t from = cell(*scale.at(s.begin), width), to = std::max(from + 1, cell(*scale.at(s.end), width));
      std::fill(line.begin() + static_cast<long>(from), line.begin() + static_cast<long>(to),
                mark_of(index_of(kinds, s.kind)));
    }
    out += fmt::format("{} {}\n", flush_right(lane.name, left), line);
  }
  out += fmt::format("{} 0 to {}\n", std::string(left, ' '), scale.text(scale.high()));
  return out + legend_of(kinds, columns);
}

}  // namespace

std::string characters(const Chart& chart, std::size_t columns) {
  const std::string drawing = std::visit([&](const auto& content) { return drawn(content, columns); }, chart.content);
  return chart.about.empty() ? drawing : wrapped("", chart.about, columns) + "\n\n" + drawing;
}

}  // namespace llmcalc::plot
