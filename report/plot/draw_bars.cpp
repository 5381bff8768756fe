#include <fmt/format.h>

#include <algorithm>

#include "report/plot/drawing.hpp"
#include "report/plot/scale.hpp"

namespace llmcalc::plot {
namespace {

constexpr double bar_height = 18, bar_pitch = 26, right_margin = 96;

double total_of(const Bar& bar) {
  double sum = 0;
  for (const auto& [name, value] : bar.parts) sum += value;
  return sum;
}

std::vector<double> ends_of(const Bars& bars) {
  std::vector<double> all;
  for (const Bar& bar : bars.bars) {
    all.push_back(total_of(bar));
    if (bar.limit) all.push_back(*bar.limit);
  }
  return all;
}

/// Position and size of the bars.
struct BarFrame {
  Scale scale;
  double left, width;
  double x(double value) const { return left + width * scale.at(value).value_or(0); }
};

void draw_bar(Canvas& canvas, const BarFrame& frame, const Bar& bar, const std::vector<std::string>& names, double y) {
  canvas.text(frame.left - 8, y + 13, bar.name, Anchor::end);
  double begin = 0;
  for (const auto& [name, value] : bar.parts) {
    const double from = frame.x(std::min(begin, begin + value)), to = frame.x(std::max(begin, begin + value));
    canvas.rectangle(from, y, to - from, bar_height, color_style(index_of(names, name)),
                     fmt::format("{}: {}", name, frame.scale.text(value)));
    begin += value;
  }
  const double end = std::max({frame.x(begin), frame.x(0), bar.limit ? frame.x(*bar.limit) : 0});
  canvas.text(end + 6, y + 13, frame.scale.text(begin));
  if (!bar.limit) return;
  canvas.line(frame.x(*bar.limit), y - 3, frame.x(*bar.limit), y + bar_height + 3, "limit");
}

}  // namespace

double draw(Canvas& canvas, const Bars& bars) {
  double left = 40;
  for (const Bar& bar : bars.bars) left = std::max(left, text_width(bar.name) + 16);
  left = std::min(left, 220.0);
  const BarFrame frame{Scale(bars.value, ends_of(bars)), left, canvas_width - left - right_margin};
  const std::vector<std::string> names = part_names(bars);
  double y = content_top + 6;
  for (const Bar& bar : bars.bars) {
    draw_bar(canvas, frame, bar, names, y);
    y += bar_pitch;
  }
  canvas.line(frame.x(0), content_top, frame.x(0), y, "axis");
  const bool has_limit =
      std::any_of(bars.bars.begin(), bars.bars.end(), [](const Bar& b) { return b.limit.has_value(); });
  canvas.text(left, y + 16, has_limit ? bars.value.label + "; vertical line: capacity" : bars.value.label,
              Anchor::start, "small");
  return names.size() > 1 ? draw_legend(canvas, names, left, y + 24) : y + 24;
}

}  // namespace llmcalc::plot
