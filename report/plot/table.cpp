#include "report/plot/table.hpp"

#include "report/plot/drawing.hpp"
#include "report/plot/scale.hpp"

namespace llmcalc::plot {
namespace {

Grid grid_of(const Bars& bars) {
  const std::vector<std::string> names = part_names(bars);
  const Scale scale(bars.value, {});
  Grid g;
  g.columns = {""};
  g.columns.insert(g.columns.end(), names.begin(), names.end());
  const bool limited = !bars.bars.empty() && bars.bars[0].limit;
  if (limited) g.columns.emplace_back("capacity");
  for (const Bar& bar : bars.bars) {
    std::vector<std::string> row(names.size() + 1);
    row[0] = bar.name;
    for (const auto& [name, value] : bar.parts) row[1 + index_of(names, name)] = scale.text(value);
    if (limited) row.push_back(bar.limit ? scale.text(*bar.limit) : "");
    g.rows.push_back(std::move(row));
  }
  return g;
}

Grid grid_of(const Curves& curves) {
  const Scale x(curves.x, {}), y(curves.y, {});
  Grid g;
  g.columns = {"", curves.x.label, curves.y.label, "90 % interval"};
  for (const Series& s : curves.series)
    for (const Point& p : s.points)
      g.rows.push_back({p.name.empty() ? s.name : p.name, x.text(p.x), y.text(p.y),
                        p.ends ? y.text(p.ends->low) + " to " + y.text(p.ends->high) : ""});
  return g;
}

Grid grid_of(const Timeline& timeline) {
  const Scale scale(timeline.time, {});
  Grid g;
  g.columns = {"", "operation", "from", "to"};
  g.left = 2;
  for (const Lane& lane : timeline.lanes)
    for (const Span& s : lane.spans) g.rows.push_back({lane.name, s.kind, scale.text(s.begin), scale.text(s.end)});
  return g;
}

}  // namespace

Grid table_of(const Chart& chart) {
  Grid g = std::visit([](const auto& content) { return grid_of(content); }, chart.content);
  g.key = chart.key;
  g.title = chart.title;
  return g;
}

}  // namespace llmcalc::plot
