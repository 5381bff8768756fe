#include "cli/kernels/verdicts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/kernels/instrument_sections.hpp"
#include "text/counted.hpp"

namespace llmcalc {

using validate::CaseVerdict;
using validate::Comparison;

namespace {

const char* kind_name(validate::Kind k) {
  return k == validate::Kind::count ? "parameters" : k == validate::Kind::bytes ? "bytes" : "FLOP";
}

const char* short_kind(validate::Kind k) { return k == validate::Kind::count ? "params" : kind_name(k); }

json::Value row_json(const Comparison& c) {
  json::Value row{{"part", c.part},           {"quantity", c.quantity}, {"unit", kind_name(c.kind)},
                  {"predicted", c.predicted}, {"measured", c.measured}, {"difference", c.measured - c.predicted},
                  {"tolerance", 0},           {"equal", c.equal()}};
  if (!c.op.empty()) row["operator"] = c.op;
  return row;
}

std::vector<std::string> row_text(const Comparison& c) {
  return {c.op.empty() ? c.quantity : "  " + c.op, exact_text(c.predicted), exact_text(c.measured),
          exact_text(c.measured - c.predicted),    short_kind(c.kind),      c.equal() ? "equal" : "DIFFERS"};
}

/// A clause that names the largest error or, if every number matches, an operator out of order.
std::string worst_text(const std::vector<CaseVerdict>& all) {
  std::string name;
  if (const Comparison* c = validate::worst(all, name))
    return fmt::format("{}, {}{}{}: predicted {}, measured {} ({})", c->part, c->quantity, c->op.empty() ? "" : " of ",
                       c->op, exact_text(c->predicted), exact_text(c->measured), name);
  const auto v = std::find_if(all.begin(), all.end(), [](const CaseVerdict& one) { return !one.order.empty(); });
  return fmt::format("{} ({})", v->order, v->name);
}

}  // namespace

void add_table(Report& report, const CaseVerdict& v, const std::string& part) {
  Grid g{.key = part,
         .title = part + ", zero tolerance",
         .columns = {"quantity", "predicted", "measured", "off by", "unit", "verdict"},
         .left = 1,
         .rows = {}};
  for (const Comparison& c : v.rows)
    if (c.part == part) {
      g.rows.push_back(row_text(c));
      g.json.push_back(row_json(c));
    }
  if (!g.rows.empty()) report.grids.push_back(std::move(g));
}

void add_beside(Report& report, const CaseVerdict& v) {
  Grid g{.key = "elementwise",
         .title = "element-wise work, counted separately from FLOPs",
         .columns = {"part", "operator", "operations"},
         .left = 2,
         .rows = {}};
  for (const validate::Beside& b : v.beside) {
    g.rows.push_back({b.part, b.op, exact_text(b.operations)});
    g.json.push_back({{"part", b.part}, {"operator", b.op}, {"operations", b.operations}});
  }
  if (!g.rows.empty()) report.grids.push_back(std::move(g));
}

std::string short_name(const std::string& name) { return name.size() > 60 ? name.substr(0, 57) + "..." : name; }

void add_suite(Report& report, const std::vector<CaseVerdict>& all) {
  Grid cases{.key = "cases", .title = "", .columns = {"case", "quantities", "operators", "verdict"}, .rows = {}};
  Grid wrong{.key = "differences",
             .title = "differences",
             .columns = {"case", "part", "quantity", "operator", "predicted", "measured"},
             .left = 4,
             .rows = {}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const CaseVerdict& v = all[i];
    const Count n = v.differing();
    cases.rows.push_back({short_name(v.name), exact_text(static_cast<Count>(v.rows.size())), exact_text(v.operators),
                          n == 0 ? "equal" : fmt::format("{} DIFFER", n)});
    json::Value rows = json::Value::array();
    for (const Comparison& c : v.rows) rows.push_back(row_json(c));
    json::Value row{{"case", v.name}, {"operators", v.operators}, {"order", v.order}, {"rows", rows}};
    for (const validate::CoreUse& c : v.cores) row["attention_core"][c.part] = attention_core_json(c);
    cases.json.push_back(row);
    for (const Comparison& c : v.rows)
      if (!c.equal())
        wrong.rows.push_back(
            {fmt::format("{}", i + 1), c.part, c.quantity, c.op, exact_text(c.predicted), exact_text(c.measured)});
  }
  report.grids.push_back(std::move(cases));
  if (!wrong.rows.empty()) report.grids.push_back(std::move(wrong));
}

std::string conclusion(const std::vector<CaseVerdict>& all) {
  Count compared = 0, differing = 0;
  for (const CaseVerdict& v : all) {
    compared += static_cast<Count>(v.rows.size()) + v.operators;
    differing += v.differing();
  }
  if (differing == 0)
    return fmt::format("{} comparisons over {}: every byte, FLOP and operator matches the prediction",
                       exact_text(compared), counted(static_cast<Count>(all.size()), "model"));
  return fmt::format("{} of {} comparisons {}, worst {}", exact_text(differing), exact_text(compared),
                     differing == 1 ? "differs" : "differ", worst_text(all));
}

}  // namespace llmcalc
