#include <fmt/format.h>

#include <array>

#include "cli/command.hpp"
#include "cli/commands/ask.hpp"
#include "presets/builtin.hpp"
#include "presets/load.hpp"
#include "report/check/baseline.hpp"
#include "report/check/engine_check.hpp"

namespace llmcalc {
namespace {

/// Today's numbers against a saved report: 1 if any moved.
int against_baseline(const std::string& path, Style style) {
  std::size_t compared = 0;
  const std::vector<Moved> moved = moved_since(json::parse(json::file_text(path), path), path, compared);
  Report report;
  report.command = "check";
  report.inputs = {{"baseline", path}};
  Grid g{.key = "moved", .title = "", .columns = {"quantity", "before", "now", "by"}, .rows = {}};
  for (const Moved& m : moved) {
    g.rows.push_back({m.path, m.before, m.now, m.by});
    g.json.push_back({{"quantity", m.path}, {"before", m.before}, {"now", m.now}, {"by", m.by}});
  }
  if (!moved.empty() || style == Style::json) report.grids.push_back(std::move(g));
  report.conclusion = moved.empty() ? fmt::format("nothing moved: {} values equal {}", compared, path)
                                    : fmt::format("{} of {} values moved since {}", moved.size(), compared, path);
  print(report, style);
  return moved.empty() ? 0 : 1;
}

/// Engine against textbook, textbook against golden values: 1 if any differ.
int against_textbook(Style style) {
  std::vector<Difference> differences;
  Count made = check_golden(differences);
  const Count golden = made;
  for (const Builtin& b : builtin_models()) made += check_model(load_model(b.name), differences);
  Report report;
  report.command = "check";
  Grid g{.key = "differences", .title = "", .columns = {"model", "quantity", "engine", "textbook"}, .rows = {}};
  for (const Difference& d : differences) {
    g.rows.push_back({d.subject, d.quantity, d.engine, d.textbook});
    g.json.push_back(
        {{"subject", d.subject}, {"quantity", d.quantity}, {"engine", d.engine}, {"textbook", d.textbook}});
  }
  if (!differences.empty() || style == Style::json) report.grids.push_back(std::move(g));
  report.conclusion =
      fmt::format("{} comparisons over {} models and {} golden values: {}", made, builtin_models().size(), golden,
                  differences.empty() ? "nothing differs" : fmt::format("{} differ", differences.size()));
  print(report, style);
  return differences.empty() ? 0 : 1;
}

int run_check(const Arguments& arguments) {
  const std::string baseline = arguments.text("--baseline");
  return baseline.empty() ? against_textbook(arguments.style()) : against_baseline(baseline, arguments.style());
}

constexpr std::array own{Option{"--baseline", "FILE", "a report saved with --json"}};

}  // namespace

const Command check_command{
    .name = "check",
    .arguments = "[--baseline FILE]",
    .summary = "against textbook, or a saved report",
    .about =
        "The engine against the textbook's closed forms and golden values, over every preset; or today's numbers "
        "against a report saved with --json. Exit 1 if anything differs.",
    .examples =
        "  llmcalc check\n  llmcalc report llama-3-8b --hardware h100 --json > saved.json\n"
        "  llmcalc check --baseline saved.json",
    .own = own,
    .parts = part::styles,
    .run = run_check};

}  // namespace llmcalc
