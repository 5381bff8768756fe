#include <fmt/format.h>

#include <array>

#include "calc/dtype.hpp"
#include "cli/command.hpp"
#include "cli/commands/ask.hpp"
#include "presets/builtin.hpp"
#include "presets/import/import.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

std::string joined(std::span<const std::string_view> names) {
  std::string s;
  for (const std::string_view n : names) s += (s.empty() ? "" : ", ") + std::string(n);
  return s;
}

Grid presets_grid(const char* key, std::span<const Builtin> presets) {
  Grid g{.key = key, .title = "", .columns = {"name", "title", "aliases"}, .left = 3, .rows = {}};
  for (const Builtin& b : presets) {
    g.rows.push_back({std::string(b.name), std::string(b.title), joined(b.aliases)});
    g.json.push_back({{"name", b.name},
                      {"title", b.title},
                      {"aliases", std::vector<std::string>(b.aliases.begin(), b.aliases.end())}});
  }
  return g;
}

Grid dtypes_grid() {
  Grid g{
      .key = "dtypes", .title = "", .columns = {"name", "note", "bits/weight", "multiplies as"}, .left = 2, .rows = {}};
  for (std::size_t i = 0; i < formats.size(); ++i) {
    const DType t(i);
    const Format& f = t.format();
    const std::string peak = f.peak == Peak::none ? "-" : std::string(peak_names[static_cast<std::size_t>(f.peak)]);
    g.rows.push_back({std::string(f.name), std::string(f.note), fmt::format("{:g}", bits_per_weight(t)), peak});
    g.json.push_back({{"name", f.name}, {"bits_per_weight", bits_per_weight(t)}, {"note", f.note}});
  }
  return g;
}

Grid families_grid() {
  Grid g{.key = "families", .title = "", .columns = {"model_type"}, .left = 1, .rows = {}};
  for (const std::string& type : importable_types()) {
    g.rows.push_back({type});
    g.json.push_back({{"model_type", type}});
  }
  return g;
}

int run_list(const Arguments& arguments) {
  const std::string what = arguments.word("models|hardware|dtypes|families");
  Report report;
  report.command = "list";
  if (same_name(what, "models")) {
    report.grids.push_back(presets_grid("models", builtin_models()));
    report.conclusion = fmt::format("{} models; 'llmcalc show NAME' prints one", builtin_models().size());
  } else if (same_name(what, "hardware")) {
    report.grids.push_back(presets_grid("devices", builtin_hardware()));
    report.conclusion =
        fmt::format("{} devices; 'llmcalc show NAME' prints one with its sources", builtin_hardware().size());
  } else if (same_name(what, "dtypes")) {
    report.grids.push_back(dtypes_grid());
    report.conclusion = fmt::format("{} number formats", formats.size());
  } else if (same_name(what, "families")) {
    report.grids.push_back(families_grid());
    report.conclusion = fmt::format("{} values of a config.json's model_type", report.grids.back().rows.size());
  } else {
    throw InputError(
        fmt::format("'llmcalc list': expected models, hardware, dtypes or families, got {}", in_quotes(what)));
  }
  return print(report, arguments.style());
}

constexpr std::array words{Word{"models|hardware|dtypes|families", "what to list"}};

}  // namespace

const Command list_command{.name = "list",
                           .arguments = "models|hardware|...",
                           .summary = "what is built in",
                           .about = "What is built in.",
                           .examples = "  llmcalc list models\n  llmcalc list hardware --json",
                           .words = words,
                           .parts = part::styles,
                           .run = run_list};

}  // namespace llmcalc
