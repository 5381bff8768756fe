#include "report/serve/replay_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "report/render/lines.hpp"

namespace llmcalc {
namespace {

/// The mean over intervals, weighted by length.
RateOverTime mean_rate(std::span<const RateOverTime> all) {
  RateOverTime m{all.front().begin, all.back().end, 0, 0};
  for (const RateOverTime& r : all) {
    const double share = (r.end - r.begin).value / (m.end - m.begin).value;
    m.predicted += share * r.predicted;
    m.recorded += share * r.recorded;
  }
  return m;
}

std::vector<std::string> rate_cells(const RateOverTime& r) {
  const double error = r.recorded > 0 ? 100 * (r.predicted / r.recorded - 1) : 0;
  return {fmt::format("  {:g} to {:g} s", r.begin.value, r.end.value), fmt::format("{:.0f}", r.predicted),
          fmt::format("{:.0f}", r.recorded), r.recorded > 0 ? fmt::format("{:+.1f} %", error) : std::string("-")};
}

void add_run(Grid& g, const RunRates& run) {
  constexpr std::size_t lines = 10;
  if (run.rates.empty()) return;
  g.rows.push_back({run.id, "", "", ""});
  const std::size_t each = (run.rates.size() + lines - 1) / lines;
  for (std::size_t i = 0; i < run.rates.size(); i += each)
    g.rows.push_back(rate_cells(
        mean_rate(std::span<const RateOverTime>(run.rates).subspan(i, std::min(each, run.rates.size() - i)))));
  for (const RateOverTime& r : run.rates)
    g.json.push_back({{"id", run.id},
                      {"begin_s", r.begin.value},
                      {"end_s", r.end.value},
                      {"predicted_tok_s", r.predicted},
                      {"measured_tok_s", r.recorded}});
}

}  // namespace

Grid throughput_grid(const Accuracy& a) {
  Grid g{.key = "throughput",
         .title = "generated tokens per second over time",
         .columns = {"", "predicted", "measured", "error"},
         .rows = {}};
  for (const RunRates& run : a.runs) add_run(g, run);
  if (g.rows.empty()) g.columns.clear();
  return g;
}

}  // namespace llmcalc
