#include "report/plot/svg.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/plot/canvas.hpp"
#include "report/plot/drawing.hpp"
#include "report/render/escaped.hpp"

namespace llmcalc::plot {
namespace {

/// Colors of Okabe and Ito (2008), distinguishable with all kinds of color blindness; blue is lighter in the dark
/// theme.
constexpr std::string_view style = R"(.chart{font:13px system-ui,sans-serif;--ink:#1b1b1b;--faint:#d9d9d9;--c0:#0072b2}
.chart text{fill:var(--ink)}.chart .small{font-size:11px}.chart .title{font-weight:600;font-size:14px}
.chart .axis{stroke:var(--ink);stroke-width:1}.chart .grid{stroke:var(--faint);stroke-width:1}
.chart .limit{stroke:var(--ink);stroke-width:2.5}.chart .line{fill:none;stroke-width:2}
.chart .band{stroke:none;fill-opacity:.18}
.chart .c0{fill:var(--c0);stroke:var(--c0)}.chart .c1{fill:#e69f00;stroke:#e69f00}.chart .c2{fill:#009e73;stroke:#009e73}
.chart .c3{fill:#cc79a7;stroke:#cc79a7}.chart .c4{fill:#56b4e9;stroke:#56b4e9}.chart .c5{fill:#d55e00;stroke:#d55e00}
.chart .c6{fill:#f0e442;stroke:#f0e442}.chart .c7{fill:#7f7f7f;stroke:#7f7f7f}
.chart .c8{fill:#7b5ea7;stroke:#7b5ea7}.chart .c9{fill:#9c7a3c;stroke:#9c7a3c}
.chart rect{stroke-width:0}.chart polyline.line{fill:none}.chart polygon.band{stroke:none}
@media (prefers-color-scheme:dark){.chart{--ink:#ececec;--faint:#444;--c0:#4fa3dd}}
@media print{.chart{--ink:#000;--faint:#ccc;--c0:#0072b2}}
)";

template <typename Name, typename All>
void keep_new(std::vector<std::string>& names, const All& all, const Name& name) {
  for (const auto& one : all)
    if (std::find(names.begin(), names.end(), name(one)) == names.end()) names.push_back(name(one));
}

}  // namespace

std::string chart_style() { return std::string(style); }

std::string svg_element(const Chart& chart, const std::string& prefix) {
  Canvas canvas;
  canvas.text(4, 16, chart.title, Anchor::start, "title");
  const double height = std::visit([&](const auto& content) { return draw(canvas, content); }, chart.content);
  const std::string title = prefix + chart.key + "-title", about = prefix + chart.key + "-about";
  return fmt::format(
      "{} viewBox=\"0 0 {} {}\" role=\"img\" "
      "aria-labelledby=\"{} {}\">\n<title id=\"{}\">{}</title>\n<desc id=\"{}\">{}</desc>\n{}</svg>\n",
      svg_begin, coordinate(canvas_width), coordinate(height + 8), title, about, title, escaped(chart.title), about,
      escaped(chart.about), canvas.elements());
}

std::string svg_file(const Chart& chart) {
  std::string element = svg_element(chart, "");
  const std::size_t end_of_tag = element.find(">\n") + 2;
  return element.insert(end_of_tag,
                        fmt::format("<style>\n{}svg{{background:#fff}}\n"
                                    "@media (prefers-color-scheme:dark){{svg{{background:#161616}}}}\n</style>\n",
                                    style));
}

std::vector<std::string> part_names(const Bars& bars) {
  std::vector<std::string> names;
  for (const Bar& bar : bars.bars) keep_new(names, bar.parts, [](const auto& part) { return part.first; });
  return names;
}

std::vector<std::string> span_kinds(const Timeline& timeline) {
  std::vector<std::string> kinds;
  for (const Lane& lane : timeline.lanes) keep_new(kinds, lane.spans, [](const Span& s) { return s.kind; });
  return kinds;
}

std::size_t index_of(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

double draw_legend(Canvas& canvas, const std::vector<std::string>& names, double left, double y) {
  double x = left;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double width = text_width(names[i]) + 28;
    if (x + width > canvas_width && x > left) x = left, y += 18;
    canvas.rectangle(x, y, 11, 11, color_style(i), "");
    canvas.text(x + 15, y + 10, names[i], Anchor::start, "small");
    x += width;
  }
  return y + 20;
}

}  // namespace llmcalc::plot
