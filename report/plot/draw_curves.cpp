#include <fmt/format.h>

#include <algorithm>

#include "report/plot/drawing.hpp"
#include "report/plot/scale.hpp"

namespace llmcalc::plot {
namespace {

constexpr double plot_left = 84, plot_right = canvas_width - 24, plot_height = 240;

std::vector<double> values_of(const Curves& curves, bool of_x) {
  std::vector<double> all;
  for (const Series& s : curves.series)
    for (const Point& p : s.points) {
      all.push_back(of_x ? p.x : p.y);
      if (!of_x && p.ends) all.insert(all.end(), {p.ends->low, p.ends->high});
    }
  return all;
}

struct PlotFrame {
  Scale x, y;
  double top = content_top;
  std::optional<double> across(double value) const {
    const auto at = x.at(value);
    return at ? std::optional(plot_left + (plot_right - plot_left) * *at) : std::nullopt;
  }
  std::optional<double> down(double value) const {
    const auto at = y.at(value);
    return at ? std::optional(top + plot_height * (1 - *at)) : std::nullopt;
  }
};

void draw_axes(Canvas& canvas, const PlotFrame& f, const Curves& curves) {
  const double bottom = f.top + plot_height;
  for (const double tick : f.y.ticks(6)) {
    canvas.line(plot_left, *f.down(tick), plot_right, *f.down(tick), "grid");
    canvas.text(plot_left - 6, *f.down(tick) + 4, f.y.text(tick), Anchor::end, "small");
  }
  for (const double tick : f.x.ticks(curves.x.unit == Unit::none ? 8 : 5)) {
    canvas.line(*f.across(tick), bottom, *f.across(tick), bottom + 4, "axis");
    canvas.text(*f.across(tick), bottom + 17, f.x.text(tick), Anchor::middle, "small");
  }
  canvas.line(plot_left, bottom, plot_right, bottom, "axis");
  canvas.text((plot_left + plot_right) / 2, bottom + 34, curves.x.label, Anchor::middle);
  canvas.text(4, f.top - 8, curves.y.label);
}

std::string tip_of(const Series& s, const Point& p, const PlotFrame& f) {
  return fmt::format("{}: {} at {}", p.name.empty() ? s.name : p.name, f.y.text(p.y), f.x.text(p.x));
}

/// The band between the ends of the points' intervals; empty if a point has none.
std::string band_of(const Series& s, const PlotFrame& f) {
  std::string upper, lower;
  for (const Point& p : s.points) {
    if (!p.ends) return "";
    const auto x = f.across(p.x), low = f.down(p.ends->low), high = f.down(p.ends->high);
    if (!x || !low || !high) return "";
    upper += fmt::format("{},{} ", coordinate(*x), coordinate(*high));
    lower.insert(0, fmt::format("{},{} ", coordinate(*x), coordinate(*low)));
  }
  return upper + lower;
}

void draw_line(Canvas& canvas, const PlotFrame& f, const Series& s, const std::string& color) {
  std::string points;
  for (const Point& p : s.points)
    if (const auto x = f.across(p.x), y = f.down(p.y); x && y)
      points += fmt::format("{},{} ", coordinate(*x), coordinate(*y));
  if (const std::string band = band_of(s, f); !band.empty()) canvas.area(band, color);
  canvas.path(points, color);
}

void draw_points(Canvas& canvas, const PlotFrame& f, const Series& s, const std::string& color) {
  for (const Point& p : s.points) {
    const auto x = f.across(p.x), y = f.down(p.y);
    if (!x || !y) continue;
    if (p.ends && f.down(p.ends->low) && f.down(p.ends->high))
      canvas.line(*x, *f.down(p.ends->low), *x, *f.down(p.ends->high), "line " + color);
    canvas.circle(*x, *y, color, tip_of(s, p, f));
  }
}

}  // namespace

double draw(Canvas& canvas, const Curves& curves) {
  const PlotFrame f{Scale(curves.x, values_of(curves, true)), Scale(curves.y, values_of(curves, false)),
                    content_top + 24};
  draw_axes(canvas, f, curves);
  std::vector<std::string> names;
  for (const Series& s : curves.series) {
    const std::string color = color_style(names.size());
    names.push_back(s.name);
    s.mark == Mark::line ? draw_line(canvas, f, s, color) : draw_points(canvas, f, s, color);
  }
  const double below = f.top + plot_height + 44;
  return names.size() > 1 ? draw_legend(canvas, names, plot_left, below) : below;
}

}  // namespace llmcalc::plot
