#include <fmt/format.h>

#include <algorithm>

#include "report/plot/drawing.hpp"
#include "report/plot/scale.hpp"

namespace llmcalc::plot {
namespace {

constexpr double lane_left = 84, lane_right = canvas_width - 24;

double pitch_of(std::size_t lanes) { return lanes > 32 ? 10 : 18; }

std::vector<double> moments_of(const Timeline& t) {
  std::vector<double> all;
  for (const Lane& lane : t.lanes)
    for (const Span& s : lane.spans) all.push_back(s.end);
  return all;
}

}  // namespace

double draw(Canvas& canvas, const Timeline& timeline) {
  const Scale scale(timeline.time, moments_of(timeline));
  const auto x = [&](double t) { return lane_left + (lane_right - lane_left) * scale.at(t).value_or(0); };
  const std::vector<std::string> kinds = span_kinds(timeline);
  const double pitch = pitch_of(timeline.lanes.size());
  double y = content_top;
  for (const Lane& lane : timeline.lanes) {
    canvas.text(lane_left - 6, y + pitch - 5, lane.name, Anchor::end, "small");
    for (const Span& s : lane.spans)
      canvas.rectangle(x(s.begin), y, std::max(0.4, x(s.end) - x(s.begin)), pitch - 2,
                       color_style(index_of(kinds, s.kind)),
                       fmt::format("{}, {} to {}", s.kind, scale.text(s.begin), scale.text(s.end)));
    y += pitch;
  }
  canvas.line(lane_left, y, lane_right, y, "axis");
  for (const double tick : scale.ticks(6)) canvas.text(x(tick), y + 15, scale.text(tick), Anchor::middle, "small");
  return draw_legend(canvas, kinds, lane_left, y + 26);
}

}  // namespace llmcalc::plot
