#include "evidence/accuracy_groups.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace llmcalc {

namespace {

/// A property by which rows are grouped, and the function that reads it from a row.
struct GroupedBy {
  const char* by;
  const std::string& (*of)(const PredictedRow&);
};

std::vector<GroupedBy> groupings(std::optional<AccuracyKind> kind) {
  std::vector<GroupedBy> all{
      {"family", [](const PredictedRow& r) -> const std::string& { return r.of.family; }},
      {"gpu", [](const PredictedRow& r) -> const std::string& { return r.of.gpu; }},
      {"parallelism", [](const PredictedRow& r) -> const std::string& { return r.of.parallelism; }},
      {"precision", [](const PredictedRow& r) -> const std::string& { return r.of.precision; }},
      {"stack", [](const PredictedRow& r) -> const std::string& { return r.of.software; }},
      {"class", [](const PredictedRow& r) -> const std::string& { return r.of.kind; }}};
  if (kind == AccuracyKind::inference) all[4].by = "engine";
  if (kind != AccuracyKind::training)
    all.push_back({"quantity", [](const PredictedRow& r) -> const std::string& { return r.quantity; }});
  return all;
}

std::vector<Compared> compared_by(const Accuracy& a, const GroupedBy& g) {
  std::vector<Compared> out;
  for (const PredictedRow& r : a.rows)
    if (r.counts()) out.push_back(r.compared(g.of(r)));
  return out;
}

void add_groups(std::vector<ErrorGroup>& out, const char* by, std::span<const Compared> rows) {
  const std::size_t first = out.size();
  for (const auto& [name, errors] : summary_by_group(rows)) out.push_back({by, name, errors});
  std::stable_sort(out.begin() + static_cast<std::ptrdiff_t>(first), out.end(),
                   [](const ErrorGroup& x, const ErrorGroup& y) { return x.errors.rows > y.errors.rows; });
}

/// Rows of the families with at least `least_of_family` rows.
std::vector<Compared> of_families(const std::vector<Compared>& rows) {
  const auto families = summary_by_group(rows);
  std::vector<Compared> out;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(out),
               [&](const Compared& c) { return families.at(c.group).rows >= least_of_family; });
  return out;
}

}  // namespace

std::vector<ErrorGroup> error_groups(const Accuracy& a) {
  std::vector<ErrorGroup> out;
  for (const GroupedBy& g : groupings(a.kind)) {
    const std::vector<Compared> rows = compared_by(a, g);
    if (rows.empty()) return out;
    if (out.empty()) {  // the first grouping is by family
      out.push_back({"", "all rows", summary(rows)});
      if (const auto enough = of_families(rows); !enough.empty())
        out.push_back({"", fmt::format("families of {} rows or more", least_of_family), summary_of_groups(enough)});
    }
    add_groups(out, g.by, rows);
  }
  return out;
}

}  // namespace llmcalc
