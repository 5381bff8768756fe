#include "report/plot/canvas.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "report/render/escaped.hpp"

namespace llmcalc::plot {
namespace {

/// A tooltip as the content of an element; empty without text.
std::string tooltip(const std::string& tip) { return tip.empty() ? "" : "<title>" + escaped(tip) + "</title>"; }

std::string_view anchor_name(Anchor a) {
  if (a == Anchor::start) return "start";
  return a == Anchor::middle ? "middle" : "end";
}

}  // namespace

std::string coordinate(double x) {
  const double rounded = std::round(10 * x) / 10;
  return fmt::format("{:g}", rounded == 0 ? 0.0 : rounded);
}

double text_width(std::string_view text) { return 7 * static_cast<double>(text.size()); }

std::string color_style(std::size_t i) { return fmt::format("c{}", i % 10); }

void Canvas::rectangle(double x, double y, double width, double height, std::string_view style,
                       const std::string& tip) {
  fmt::format_to(std::back_inserter(elements_),
                 "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"{}\">{}</rect>\n", coordinate(x),
                 coordinate(y), coordinate(width), coordinate(height), style, tooltip(tip));
}

void Canvas::line(double x1, double y1, double x2, double y2, std::string_view style) {
  fmt::format_to(std::back_inserter(elements_), "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"{}\"/>\n",
                 coordinate(x1), coordinate(y1), coordinate(x2), coordinate(y2), style);
}

void Canvas::path(const std::string& points, std::string_view style) {
  fmt::format_to(std::back_inserter(elements_), "<polyline points=\"{}\" class=\"line {}\"/>\n", points, style);
}

void Canvas::area(const std::string& points, std::string_view style) {
  fmt::format_to(std::back_inserter(elements_), "<polygon points=\"{}\" class=\"band {}\"/>\n", points, style);
}

void Canvas::circle(double x, double y, std::string_view style, const std::string& tip) {
  fmt::format_to(std::back_inserter(elements_), "<circle cx=\"{}\" cy=\"{}\" r=\"3.5\" class=\"{}\">{}</circle>\n",
                 coordinate(x), coordinate(y), style, tooltip(tip));
}

void Canvas::text(double x, double y, std::string_view text, Anchor anchor, std::string_view style) {
  fmt::format_to(std::back_inserter(elements_), "<text x=\"{}\" y=\"{}\" text-anchor=\"{}\"{}>{}</text>\n",
                 coordinate(x), coordinate(y), anchor_name(anchor),
                 style.empty() ? "" : fmt::format(" class=\"{}\"", style), escaped(text));
}

}  // namespace llmcalc::plot
