#include "report/collective_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "calc/links/collective.hpp"
#include "calc/roofline.hpp"
#include "presets/estimators/training_estimator.hpp"
#include "text/counted.hpp"
#include "text/error.hpp"
#include "text/format.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

CollectiveOp operation(const std::string& text) {
  if (const auto op = parse<CollectiveOp>(text)) return *op;
  throw InputError(fmt::format("OP: expected {}, got {}", one_of(choice_names<CollectiveOp>), in_quotes(text)));
}

/// The link that connects the ranks: the hardware's link, with the question's overrides.
Link link(const CollectiveQuestion& q) {
  Link l;
  if (q.hardware) l = joining_link(q.hardware->cluster, q.ranks);
  if (q.bandwidth) l.bandwidth = *q.bandwidth;
  if (q.latency) l.latency = *q.latency;
  l.ranks = q.ranks;
  return joining_ranks(l, q.ranks);
}

/// The axes of a torus: "a torus of 16 (ring) x 4 (line)".
std::string torus_text(const Torus& t) {
  std::vector<std::string> axes;
  for (const TorusAxis& a : t) axes.push_back(fmt::format("{} ({})", a.ranks, a.closed ? "ring" : "line"));
  return fmt::format("a torus of {}", fmt::join(axes, " x "));
}

bool timed(const Link& l) { return l.bandwidth.value > 0; }

/// A link at its achieved training rates, and the startup time of a collective.
struct ReachedLink {
  Link link;
  Seconds start;
};
/// The link at its achieved rates, which do not depend on the software. Absent if the question specifies the link.
std::optional<ReachedLink> reached_link(const CollectiveQuestion& q, const Link& l) {
  if (!q.hardware || q.bandwidth || q.latency) return std::nullopt;
  const LinkRates rates = training_rates(training_estimator().parameters, *q.hardware, {}).links;
  const bool outer = q.ranks > q.hardware->cluster.levels[0].ranks && q.hardware->cluster.levels[0].ranks > 0;
  Link reached = l;
  reached.bandwidth = rates.share(outer) * l.bandwidth;
  reached.latency = std::max(l.latency, rates.round(outer));
  return ReachedLink{reached, rates.start};
}

/// Seconds of the collective: at the link's nominal rates, and as estimated.
struct CollectiveTimes {
  Seconds best;
  std::optional<Seconds> estimated{};
};
CollectiveTimes times(CollectiveOp o, CollectiveAlgorithm a, const CollectiveQuestion& q, const Link& l,
                      const std::optional<ReachedLink>& reached) {
  CollectiveTimes t{collective_time(o, a, q.bytes, q.ranks, l)};
  if (reached) t.estimated = reached->start + collective_time(o, a, q.bytes, q.ranks, reached->link);
  return t;
}

void add_row(Grid& g, CollectiveOp o, CollectiveAlgorithm a, const CollectiveQuestion& q, const Link& l,
             const std::optional<CollectiveTimes>& t) {
  const auto schedule = collective_schedule(o, a, q.ranks, l.torus);
  if (!schedule) return;
  const ByteFraction volume = collective_volume(o, a, q.bytes, q.ranks, l.torus);
  json::Value v{{"algorithm", name(a)}, {"rounds", schedule->rounds}, {"volume_bytes", volume.value()}};
  std::vector<std::string> row{std::string(name(a)), fmt::format("{}", schedule->rounds),
                               human_text(volume.value(), Unit::bytes), fmt::format("{}", volume.value())};
  const auto add_time = [&](const char* key, Seconds time) {
    v[key] = time.value;
    row.push_back(human_text(time.value, Unit::seconds));
  };
  if (t && t->estimated) add_time("time_s", *t->estimated);
  if (t && !t->estimated) v["time_s"] = t->best.value;
  if (t)
    add_time("bound_time_s", t->best);
  else
    row.emplace_back("-");
  g.rows.push_back(std::move(row));
  g.json.push_back(std::move(v));
}

Grid algorithms_grid(CollectiveOp o, const CollectiveQuestion& q, const Link& l,
                     const std::optional<ReachedLink>& reached) {
  Grid g{.key = "algorithms",
         .title = "",
         .columns = {"algorithm", "rounds", "busiest rank sends", "exact", "at best"},
         .exact = 3,
         .rows = {}};
  if (reached) g.columns.insert(g.columns.end() - 1, "estimated");
  for (const CollectiveAlgorithm a : algorithms(o)) {
    if (a == CollectiveAlgorithm::in_network && !l.reduces) continue;
    if (!collective_schedule(o, a, q.ranks, l.torus)) continue;
    const CollectiveFlaw flaw = timed(l) ? collective_flaw(o, a, q.bytes, q.ranks, l) : CollectiveFlaw::none;
    if (flaw != CollectiveFlaw::none)
      throw InputError(fmt::format("{} over {} ranks: {}", name(o), q.ranks, reason(flaw)));
    add_row(g, o, a, q, l, timed(l) ? std::optional(times(o, a, q, l, reached)) : std::nullopt);
  }
  return g;
}

/// The times as text: " in 6 ms, estimated (4.2 ms at best)".
std::string time_text(const CollectiveTimes& t) {
  const std::string best = human_text(t.best.value, Unit::seconds);
  return t.estimated
             ? fmt::format(" in {}, estimated ({} at best)", human_text(t.estimated->value, Unit::seconds), best)
             : fmt::format(" in {} at best", best);
}

/// All inputs needed to repeat the question.
json::Value inputs(CollectiveOp o, const CollectiveQuestion& q) {
  json::Value v{{"op", name(o)}, {"bytes", q.bytes.value}, {"ranks", q.ranks}};
  if (q.bandwidth) v["bandwidth_bytes_per_s"] = q.bandwidth->value;
  if (q.latency) v["latency_s"] = q.latency->value;
  return v;
}

}  // namespace

Report collective_report(const CollectiveQuestion& q) {
  const CollectiveOp o = operation(q.op);
  const Link l = link(q);
  if (q.hardware && !timed(l))
    throw InputError(
        fmt::format("{} defines no link that connects {} devices; specify --bandwidth", q.hardware->name, q.ranks));
  Report report;
  report.command = "collective";
  report.title =
      fmt::format("{} of {} over {}", name(o), human_text(q.bytes.value, Unit::bytes), counted(q.ranks, "rank"));
  if (q.hardware) report.hardware = {{"name", q.hardware->name}, {"source", q.hardware->source}};
  report.inputs = inputs(o, q);
  report.conventions = {{"bytes",
                         "all-reduce, broadcast, reduce: the message; all-gather, gather: the output; reduce-scatter: "
                         "the input; all-to-all: one rank's send buffer"},
                        {"time",
                         "rounds x latency + load x bytes / bandwidth; one way, per rank; at best: at the nominal link "
                         "rates; estimated: at the rates reached in published training runs"}};
  if (timed(l)) {
    Section& used = report.sections.emplace_back(Section{"link", "", {}});
    used.add("bandwidth_bytes_per_s", "", l.bandwidth.value);
    used.add("latency_s", "", l.latency);
  }
  if (!l.torus.empty())
    report.notes.push_back({"torus", fmt::format("the ranks form {}: each has {:g} links, and messages between "
                                                 "non-neighboring ranks pass through other ranks",
                                                 torus_text(l.torus), rank_links(l.torus).value())});
  const std::optional<ReachedLink> reached = reached_link(q, l);
  if (reached) {
    Section& there = report.sections.emplace_back(Section{"reached_link", "", {}});
    there.add("bandwidth_bytes_per_s", "", reached->link.bandwidth.value);
    there.add("latency_s", "", reached->link.latency);
    there.add("start_s", "", reached->start);
  }
  const Grid& grid = report.grids.emplace_back(algorithms_grid(o, q, l, reached));
  if (timed(l) && l.latency.value == 0)
    report.notes.push_back({"latency_unknown", "the latency is unknown and counts as 0"});
  if (reached)
    report.notes.push_back(
        {"collective_without_interval",
         "the estimate has no interval: no published measurement used for it covers an isolated collective"});
  const CollectiveAlgorithm usual = default_algorithm(o);
  report.verdict = {{"", fmt::format("{} by {} moves {} over the busiest rank's link{}.", name(o), name(usual),
                                     grid.rows[0][2], timed(l) ? time_text(times(o, usual, q, l, reached)) : "")}};
  return report;
}

}  // namespace llmcalc
