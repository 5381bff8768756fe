#include "cli/pictures.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/out_file.hpp"
#include "cli/output.hpp"
#include "cli/stop.hpp"
#include "cli/thread_runner.hpp"
#include "report/html/page.hpp"
#include "report/plot/characters.hpp"
#include "report/plot/charts.hpp"
#include "report/plot/report_numbers.hpp"
#include "report/plot/svg.hpp"
#include "report/render/render.hpp"
#include "text/binary_file.hpp"
#include "text/error.hpp"
#include "text/names.hpp"
#include "text/whole_file.hpp"

namespace llmcalc {
namespace {

bool begins_with(const std::string& path, std::string_view begin) {
  const BinaryFile file(path, "a picture");
  std::string head(std::min<std::size_t>(begin.size(), static_cast<std::size_t>(file.size())), '\0');
  file.read(0, std::as_writable_bytes(std::span(head)), "its beginning");
  return head == begin;
}

void write_file(const std::string& path, const std::string& text) {
  WholeFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.finish();
  say("llmcalc: wrote " + path);
}

std::string kinds_text() {
  std::string all;
  for (const plot::ChartKind& k : plot::chart_kinds()) all += (all.empty() ? "" : ", ") + std::string(k.key);
  return all;
}

const plot::ChartKind& kind_called(const std::string& text) {
  std::vector<std::string> known;
  for (const plot::ChartKind& k : plot::chart_kinds()) {
    if (k.key == text) return k;
    known.emplace_back(k.key);
  }
  throw InputError(
      fmt::format("--plot: expected {}, got {}{}", kinds_text(), in_quotes(text), suggestion(text, known)));
}

/// Slots of a pipeline are drawn up to this number.
constexpr double most_slots = 6000;

/// The schedule of the step if the pipeline is small enough to be drawn; empty otherwise.
std::string trace_of(const Command& command, const Arguments& arguments, const json::Value& report, Runner& runner) {
  const auto number = [&](const char* key) {
    return plot::number_at(report, fmt::format("layout.{}", key)).value_or(1);
  };
  const double stages = number("pp"), slots = 3 * stages * number("chunks") * number("micro_batches");
  const bool wanted = arguments.has("--html") || arguments.text("--plot") == "pipeline";
  if (!wanted || option_of(command, "--trace") == nullptr || stages < 2 || slots > most_slots) return "";
  return command.answer(arguments.with_flag("--trace"), runner).trace;
}

std::string command_line(const Arguments& arguments) {
  std::string line = invocation(arguments.command());
  for (const std::string& word : arguments.typed())
    line += word.find_first_of(" '\"$") == std::string::npos ? " " + word : " '" + word + "'";
  return line;
}

/// Labels of a report's rows, by the last part of their keys.
plot::Labels labels_of(const Report& report) {
  plot::Labels labels;
  for (const Section& s : report.sections)
    for (const Row& row : s.rows)
      if (!row.label.empty()) labels.emplace(row.key.substr(row.key.rfind('.') + 1), printable(row.label));
  return labels;
}

/// The answer with operators and stages, or without them if the command refuses them.
Output complete_answer(const Command& command, const Arguments& arguments, Runner& runner) {
  const Arguments complete = arguments.with_flag("--ops").with_flag("--stages");
  try {
    return command.answer(complete, runner);
  } catch (const InputError&) {
    return command.answer(arguments, runner);
  }
}

void draw_chart(const Arguments& arguments, const plot::Chart& chart) {
  if (arguments.has("--out")) return write_file(arguments.text("--out"), plot::svg_file(chart));
  write_out(plot::characters(chart, output_columns()));
}

/// Draws the chart of --plot: one of `charts`, or a curve, which repeats the request.
void draw_chart(const Arguments& arguments, const json::Value& report, const std::vector<plot::Chart>& charts) {
  const plot::ChartKind& kind = kind_called(arguments.text("--plot"));
  const auto of_kind = [&](const plot::Chart& c) { return c.key == kind.key; };
  if (const auto found = std::find_if(charts.begin(), charts.end(), of_kind); found != charts.end())
    return draw_chart(arguments, *found);
  const std::vector<plot::Chart> curves = plot::curves_of(report);
  if (const auto found = std::find_if(curves.begin(), curves.end(), of_kind); found != curves.end())
    return draw_chart(arguments, *found);
  throw InputError(
      fmt::format("--plot {}: this answer has no such chart; it shows {} ({})", kind.key, kind.meaning, kind.needs));
}

/// The page of a report, with its curves.
std::string page_of(const Report& report, const json::Value& numbers, std::vector<plot::Chart> charts,
                    const Arguments& arguments) {
  for (plot::Chart& c : plot::curves_of(numbers)) charts.push_back(std::move(c));
  return page_text({.report = report,
                    .charts = std::move(charts),
                    .explanations = explanations_of(numbers),
                    .command = command_line(arguments)});
}

/// Writes the page and draws the chart that the arguments ask for.
void write_pictures(const Report& report, const std::string& trace, const Arguments& arguments) {
  const json::Value numbers = report_json(report);
  const std::vector<plot::Chart> charts = plot::charts_of(numbers, labels_of(report), trace);
  if (arguments.has("--html")) write_file(arguments.text("--html"), page_of(report, numbers, charts, arguments));
  if (arguments.has("--plot")) draw_chart(arguments, numbers, charts);
}

}  // namespace

void check_pictures(const Arguments& arguments) {
  if (arguments.has("--plot")) kind_called(arguments.text("--plot"));
  if (arguments.has("--out") && !arguments.has("--plot"))
    throw InputError("--out has no effect without --plot; add --plot KIND");
  const bool force = arguments.has("--force");
  if (arguments.has("--html"))
    check_out({arguments.text("--html"), "--html", "a page",
               [](const std::string& path) { return begins_with(path, html_begin); }},
              force);
  if (arguments.has("--out"))
    check_out({arguments.text("--out"), "--out", "a chart",
               [](const std::string& path) { return begins_with(path, plot::svg_begin); }},
              force);
}

bool wants_pictures(const Arguments& arguments) {
  const auto has = [&](const char* flag) {
    return option_of(arguments.command(), flag) != nullptr && arguments.has(flag);
  };
  return has("--html") || has("--plot") || has("--out");
}

int answer_in_pictures(const Command& command, const Arguments& arguments) {
  check_pictures(arguments);
  ThreadRunner runner;
  const Output output = complete_answer(command, arguments, runner);
  const auto* report = std::get_if<Report>(&output.content);
  if (report == nullptr) {
    runner.end();
    if (output.stopped) return stopped_code();
    throw InputError("--html and --plot need an answer with numbers; omit --emit");
  }
  const std::string trace = trace_of(command, arguments, report_json(*report), runner);
  runner.end();
  write_pictures(*report, trace, arguments);
  return output.fits ? 0 : 1;
}

int draw(const Report& report, const Arguments& arguments) {
  write_pictures(report, "", arguments);
  return 0;
}

}  // namespace llmcalc
