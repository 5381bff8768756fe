#include "report/report.hpp"

#include <algorithm>

namespace llmcalc {

const Section* Report::find(std::string_view key) const {
  for (const Section& s : sections)
    if (s.key == key) return &s;
  return nullptr;
}

const Row* Report::row(std::string_view path) const {
  for (const Section& s : sections)
    for (const Row& r : s.rows)
      if (path == s.key + "." + r.key) return &r;
  return nullptr;
}

Grid Grid::shown(bool exact_too) const {
  Grid g = *this;
  if (exact && !exact_too) g.drop(*exact);
  return g;
}

void Grid::drop(std::size_t column) {
  const auto at = static_cast<std::ptrdiff_t>(column);
  columns.erase(columns.begin() + at);
  for (auto& row : rows) row.erase(row.begin() + at);
}

std::string exact_beside(const Row& row) {
  const bool whole = std::holds_alternative<Count>(row.value) || std::holds_alternative<Flops>(row.value);
  const std::string human = human_text(row.value, row.unit), exact = exact_text(row.value);
  return !whole || human == exact || human.starts_with(exact + " ") ? "" : exact;
}

}  // namespace llmcalc
