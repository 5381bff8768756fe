#include "cli/kernels/calibrate_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "cli/json_file.hpp"
#include "evidence/profile/operator_rates.hpp"
#include "presets/load.hpp"
#include "text/error.hpp"
#include "validate/calibrate.hpp"

namespace llmcalc {
namespace {

using AllTables = std::vector<OperatorTables>;

/// The tables, and the rates derived from them.
struct FromTables {
  AllTables tables;
  std::string hardware;  ///< name or path of the hardware, as detected or typed
  json::Value sheet;     ///< contents of the hardware file
  HardwareCard card;
  std::vector<TableSubject> subjects;
  std::vector<std::string> assumed, left_out;
  OperatorRates rates;
};

std::optional<ModelCard> model_said(const Arguments& arguments, const AllTables& tables) {
  if (!arguments.has("--model")) return std::nullopt;
  std::set<std::string> folders;
  for (const OperatorTables& t : tables) folders.insert(t.model_folder);
  if (folders.size() > 1)
    throw InputError(
        fmt::format("--model names one model, but '{}' contains tables of {} models ({}); pass the folder of one model",
                    arguments.text("--from"), folders.size(), fmt::join(folders, ", ")));
  return load_model(arguments.text("--model"));
}

/// Whether every table states that its kernels were part of a captured graph.
bool in_graphs(const AllTables& tables) {
  return std::all_of(tables.begin(), tables.end(), [](const OperatorTables& t) { return t.origin.eager == false; });
}

FromTables what_follows(const Arguments& arguments) {
  FromTables f;
  f.tables = read_operator_tables(arguments.text("--from"));
  f.hardware = arguments.has("--hardware") ? arguments.text("--hardware") : device_of(f.tables);
  f.sheet = hardware_json(f.hardware);
  f.card = read_hardware_file(f.sheet, f.hardware);
  const auto model = model_said(arguments, f.tables);
  std::vector<TimedRow> rows;
  for (std::size_t i = 0; i < f.tables.size(); ++i) {
    f.subjects.push_back(subject_of(f.tables[i], model, f.card.cluster.device, f.assumed));
    const std::vector<TimedRow> more = timed_rows(i, f.tables[i], f.subjects[i], f.left_out);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  f.rates = operator_rates(rows, f.subjects, f.card.cluster.device, in_graphs(f.tables));
  return f;
}

// ---- The file

/// Lists the distinct values in the tables: "vLLM 0.19.0 and vLLM 0.20.0".
std::string said_by(const AllTables& tables, const char* before, std::string TableOrigin::*what) {
  std::set<std::string> all;
  for (const OperatorTables& t : tables)
    if (!(t.origin.*what).empty()) all.insert(before + t.origin.*what);
  return fmt::format("{}", fmt::join(all, " and "));
}
std::string engines_of(const AllTables& tables) { return said_by(tables, "vLLM ", &TableOrigin::engine); }
std::string devices_of(const AllTables& tables) { return said_by(tables, "", &TableOrigin::device); }

std::vector<std::string> subject_names(const FromTables& f) {
  std::vector<std::string> names;
  for (const TableSubject& s : f.subjects) names.push_back(s.name);
  return names;
}

std::string how_derived(const FromTables& f) {
  const std::string by = engines_of(f.tables);
  return fmt::format("{}{}: from tables of operators{}{} ({}), {}", validate::calibrated_on, f.card.title,
                     by.empty() ? "" : " of ", by, fmt::join(subject_names(f), "; "), today());
}

/// The datasheet with the derived rates. It has a different title from the device, because rates derived from an
/// engine's kernels are not comparable with rates that calibration measures on a machine.
json::Value derived_file(const FromTables& f, const std::string& name) {
  json::Value file = f.sheet;
  file["name"] = name;
  if (const std::string suffix = ", tables of operators"; !f.card.title.ends_with(suffix))
    file["title"] = f.card.title + suffix;
  file.erase("aliases");
  file["achieved"] = achieved_json(f.rates, how_derived(f));
  read_hardware_file(file, "the derived rates");
  return file;
}

// ---- The report

std::string number_text(DerivedNumber::Kind kind, double x) {
  switch (kind) {
    case DerivedNumber::Kind::share:
      return fmt::format("{:.3f}", x);
    case DerivedNumber::Kind::seconds:
      return human_text(x, Unit::seconds);
    case DerivedNumber::Kind::bytes_per_second:
      return fmt::format("{:.4g} GB/s", x / 1e9);
    case DerivedNumber::Kind::flops_per_second:
      return fmt::format("{:.4g} TFLOP/s", x / 1e12);
  }
  return "";
}

Grid derived_grid(const OperatorRates& rates) {
  Grid g{.key = "rates",
         .title = "rates derived from the tables",
         .columns = {"quantity", "value", "rows", "tables", "lowest", "highest"},
         .rows = {}};
  for (const DerivedNumber& n : rates.numbers) {
    g.rows.push_back({n.title + (n.in_file ? "" : " *"), number_text(n.kind, n.value),
                      grouped_digits(fmt::format("{}", n.rows)), fmt::format("{}", n.tables),
                      number_text(n.kind, n.low), number_text(n.kind, n.high)});
    g.json.push_back({{"number", n.key},
                      {"value", n.value},
                      {"rows", n.rows},
                      {"tables", n.tables},
                      {"lowest", n.low},
                      {"highest", n.high},
                      {"in_file", n.in_file}});
  }
  return g;
}

std::string ratio_text(const std::optional<double>& x) { return x ? fmt::format("{:.2f}", *x) : "-"; }

Grid residuals_grid(const FromTables& f) {
  const auto [few, some] = LayerResidual::up_to;
  Grid g{.key = "residuals",
         .title = "predicted / measured: medians, by tokens per call",
         .columns = {"layer", "rows", fmt::format("to {}", few), fmt::format("to {}", some), "above", "all"},
         .rows = {}};
  std::optional<std::size_t> table;
  for (const LayerResidual& r : f.rates.residuals) {
    const std::string& name = f.subjects[r.table].name;
    if (table != r.table) g.rows.push_back({name, "", "", "", "", ""});
    table = r.table;
    g.rows.push_back({"  " + r.layer, grouped_digits(fmt::format("{}", r.rows)), ratio_text(r.by_size[0]),
                      ratio_text(r.by_size[1]), ratio_text(r.by_size[2]), ratio_text(r.median)});
    json::Value v{{"table", name}, {"layer", r.layer}, {"rows", r.rows}, {"median", r.median}};
    const std::array keys{fmt::format("to_{}", few), fmt::format("to_{}", some), std::string("above")};
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (r.by_size[i]) v[keys[i]] = *r.by_size[i];
    g.json.push_back(std::move(v));
  }
  return g;
}

/// The distinct strings of all tables, sorted.
std::vector<std::string> once(const AllTables& tables, std::vector<std::string> OperatorTables::*of) {
  std::set<std::string> all;
  for (const OperatorTables& t : tables) all.insert((t.*of).begin(), (t.*of).end());
  return {all.begin(), all.end()};
}

std::string launches_note(const AllTables& tables) {
  if (in_graphs(tables))
    return "kernels ran in captured graphs: their overhead is \"recorded\", and also \"launch\", which host overhead "
           "may increase";
  return "the tables do not state that kernels ran in captured graphs: \"launch\" applies with and without graphs; it "
         "is device time, and the tables exclude host overhead";
}

Notes notes_of(const FromTables& f, bool hardware_given) {
  Notes all{
      {"from_datasheet",
       fmt::format("memory, peaks and links are from the datasheet ({}, {}), shapes from {}", f.hardware,
                   hardware_given ? "as given" : "named in the tables", fmt::join(subject_names(f), "; "))},
      {"medians_of_tables",
       "each table contributes the median of its rows, and the value is the median over tables; a layer is predicted "
       "as "
       "one kernel per operator, although an engine may fuse several"},
      {"launch_overhead", launches_note(f.tables)},
      {"missing_in_tables",
       "quantities missing from the tables keep the datasheet's rate: other number formats, gradients, links"},
      {"read_metadata",
       "only gpu, hardware, model, variant, vllm_version, profiled_at and enforce_eager are read from meta.yaml"}};
  if (const std::string devices = devices_of(f.tables); hardware_given && !devices.empty())
    all.push_back({"hardware_in_tables", fmt::format("the tables name {}", devices)});
  if (f.sheet.contains("achieved"))
    all.push_back({"replaced_rates", "the achieved rates of the hardware file are replaced"});
  if (const std::vector<std::string> unread = once(f.tables, &OperatorTables::unread); !unread.empty())
    all.push_back({"ignored_columns", fmt::format("ignored columns: {}", fmt::join(unread, ", "))});
  if (std::any_of(f.tables.begin(), f.tables.end(), [](const OperatorTables& t) { return !t.has_meta; }))
    all.push_back({"no_metadata", "missing: meta.yaml"});
  add_notes(all, "assumed_in_tables", f.assumed);
  add_notes(all, "left_out_tables", f.left_out);
  add_notes(all, "derived_rates", f.rates.notes);
  if (std::any_of(f.rates.numbers.begin(), f.rates.numbers.end(), [](const auto& n) { return !n.in_file; }))
    all.push_back(
        {"relative_bandwidth",
         "* relative to the datasheet's bandwidth; not written, because a hardware file has a single share of memory "
         "bandwidth"});
  return all;
}

}  // namespace

TableCalibration calibrated_from_tables(const Arguments& arguments, const std::string& name) {
  const FromTables f = what_follows(arguments);
  TableCalibration c{derived_file(f, name), {}};
  c.report.command = "calibrate";
  c.report.title = f.card.title;
  c.report.grids = {derived_grid(f.rates), residuals_grid(f)};
  c.report.notes = notes_of(f, arguments.has("--hardware"));
  return c;
}

}  // namespace llmcalc
