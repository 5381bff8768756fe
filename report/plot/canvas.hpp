#pragma once
/// Elements of an SVG drawing, 560 units wide.

#include <string>
#include <string_view>

namespace llmcalc::plot {

inline constexpr double canvas_width = 560;

enum class Anchor : std::uint8_t { start, middle, end };

class Canvas {
 public:
  void rectangle(double x, double y, double width, double height, std::string_view style, const std::string& tip);
  void line(double x1, double y1, double x2, double y2, std::string_view style);
  /// `points`: "x,y x,y ...".
  void path(const std::string& points, std::string_view style);
  void area(const std::string& points, std::string_view style);
  void circle(double x, double y, std::string_view style, const std::string& tip);
  void text(double x, double y, std::string_view text, Anchor anchor = Anchor::start, std::string_view style = "");
  const std::string& elements() const { return elements_; }

 private:
  std::string elements_;
};

/// A coordinate with at most one decimal.
std::string coordinate(double x);
/// Approximate width of text of the charts' size.
double text_width(std::string_view text);
/// The style of the i-th color: "c0"; colors repeat after ten.
std::string color_style(std::size_t i);

}  // namespace llmcalc::plot
