#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "ask/request/options/options.hpp"
#include "cli/command.hpp"
#include "cli/print.hpp"
#include "cli/thread_runner.hpp"
#include "presets/builtin.hpp"
#include "presets/load.hpp"
#include "report/check/baseline.hpp"
#include "report/check/engine_check.hpp"
#include "report/commands/shares.hpp"
#include "report/report.hpp"
#include "text/error.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {

std::string conclusion(const Changes& changes, const std::string& path) {
  if (changes.all.empty()) return fmt::format("no changes: all {} values equal {}", changes.compared, path);
  return fmt::format("{} values changed, appeared or disappeared since {}, of {}", changes.all.size(), path,
                     changes.compared);
}

/// Compares the current numbers with a saved report. Returns 1 if any value changed, appeared or disappeared.
int against_baseline(const std::string& path, double tolerance, const Screen& screen) {
  const json::Value saved = json::parse(json::file_text(path), path);
  const Changes changes = changes_between(saved, asked_twice(saved, path), tolerance);
  Report report;
  report.command = "check";
  report.inputs = {{"baseline", path}, {"tolerance", tolerance}};
  Grid g{.key = "changes", .title = "", .columns = {"quantity", "before", "now", "by"}, .rows = {}};
  for (const Change& c : changes.all) {
    g.rows.push_back({c.path, c.before, c.now, c.by});
    g.json.push_back({{"quantity", c.path}, {"before", c.before}, {"now", c.now}, {"by", c.by}});
  }
  if (!changes.all.empty() || screen.style == Style::json) report.grids.push_back(std::move(g));
  report.verdict = {{"", conclusion(changes, path), !changes.all.empty()}};
  print(report, screen);
  return changes.all.empty() ? 0 : 1;
}

/// The number of comparisons made, and the differences found.
struct Checked {
  Count made = 0;
  std::vector<Difference> differences;
};

Checked all_checked() {
  const auto checked = [](const Builtin& b) {
    Checked c;
    c.made = check_model(load_model(b), c.differences);
    return c;
  };
  ThreadRunner runner;
  Checked all;
  for (Checked& c : spread(runner, builtin_models(), checked)) {
    all.made += c.made;
    std::ranges::move(c.differences, std::back_inserter(all.differences));
  }
  return all;
}

/// Compares the engine with the textbook. Returns 1 if any number differs.
int against_textbook(const Screen& screen) {
  const auto [made, differences] = all_checked();
  Report report;
  report.command = "check";
  Grid g{.key = "differences", .title = "", .columns = {"model", "quantity", "engine", "textbook"}, .rows = {}};
  for (const Difference& d : differences) {
    g.rows.push_back({d.subject, d.quantity, d.engine, d.textbook});
    g.json.push_back(
        {{"subject", d.subject}, {"quantity", d.quantity}, {"engine", d.engine}, {"textbook", d.textbook}});
  }
  if (!differences.empty() || screen.style == Style::json) report.grids.push_back(std::move(g));
  report.verdict = {{"",
                     fmt::format("{} comparisons over {} models: {}", made, builtin_models().size(),
                                 differences.empty() ? "no differences" : fmt::format("{} differ", differences.size())),
                     !differences.empty()}};
  print(report, screen);
  return differences.empty() ? 0 : 1;
}

int run_check(const Arguments& arguments) {
  const std::string baseline = arguments.text("--baseline"), tolerance = arguments.text("--tolerance");
  if (baseline.empty() && !tolerance.empty()) throw InputError("--tolerance requires --baseline FILE; pass both");
  if (baseline.empty()) return against_textbook(screen_of(arguments));
  return against_baseline(baseline, tolerance.empty() ? 0 : parse_real(tolerance, "--tolerance"), screen_of(arguments));
}

constexpr std::array check_options{Option{"--baseline", "FILE", "a report saved with --json"},
                                   Option{"--tolerance", "X", "largest relative difference to ignore [0]"}};

}  // namespace

const Command check_command{.name = "check",
                            .arguments = "[--baseline FILE]",
                            .summary = "compare with textbook or report",
                            .about =
                                "Compares the engine with the textbook's closed forms for every preset, or the current "
                                "results with a report saved with --json. Exits with 1 if any value differs.",
                            .examples =
                                "  llmcalc check\n  llmcalc report llama-3-8b --hardware h100 --json > saved.json\n"
                                "  llmcalc check --baseline saved.json --tolerance 1e-6",
                            .own = check_options,
                            .parts = part::styles,
                            .keys = "inputs differences changes",
                            .run = run_check};

}  // namespace llmcalc
