#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/stop.hpp"
#include "cli/sweep/ordered_rows.hpp"
#include "cli/sweep/table.hpp"
#include "cli/thread_runner.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

/// Throws InputError if sweep's own options contradict each other or have no effect.
void check_sweep_options(const Arguments& arguments) {
  const std::string out = arguments.text("--out");
  if (!out.empty()) check_table_name(out);
  if (!out.empty() && arguments.has("--jsonl"))
    throw InputError("--jsonl sets the format of the standard output, and --out by the ending of its name; omit one");
  for (const char* flag : {"--resume", "--force"})
    if (out.empty() && arguments.has(flag))
      throw InputError(fmt::format("{} has no effect without --out; add --out", flag));
  if (arguments.has("--resume") && arguments.has("--force"))
    throw InputError("--resume continues the file, and --force replaces it; omit one");
}

/// The columns of --columns or, without that option, the default columns that occur in the first answer.
std::vector<std::string> chosen_columns(const Arguments& arguments, const SweepPoints& points, const Runner& runner) {
  const std::string_view command = points.command->name;
  const json::Value answer = first_answer(points, runner);
  if (arguments.has("--columns")) {
    std::vector<std::string> paths = listed_paths(arguments.text("--columns"));
    if (!runner.stopped()) check_columns(paths, find_question(command), command, answer);
    return paths;
  }
  return usual_columns(command, answer);
}

std::unique_ptr<Table> opened(const Arguments& arguments, std::vector<std::string> header) {
  const std::string out = arguments.text("--out");
  if (out.empty())
    return output_table(arguments.has("--jsonl") ? TextFormat::jsonl : TextFormat::csv, std::move(header));
  const Opening opening = arguments.has("--resume")  ? Opening::resume
                          : arguments.has("--force") ? Opening::force
                                                     : Opening::fresh;
  return file_table(out, std::move(header), opening);
}

/// Throws InputError if a row in the file differs from the row that this command would write.
void check_rows(const WrittenRows& written, const SweepPoints& points, const std::vector<Column>& columns,
                const Table& table, const std::string& path, const Runner& runner) {
  if (written.rows > points.size())
    throw InputError(fmt::format("'{}' was not written by this command: it has {} rows, and the sweep {} points", path,
                                 written.rows, points.size()));
  PointAnswers answers(points, columns, runner);
  for (const auto& [index, record] : written.sample) {
    const auto row = answers.row(index);
    if (row && table.record(*row) != record)
      throw InputError(
          fmt::format("'{}' was not written by this command: row {} differs; repeat the command that wrote it, or pass "
                      "another --out",
                      path, index + 1));
  }
}

int end_of_sweep(const SweepRun& run, Count first, Count all, bool to_file, bool stopped) {
  if (run.errors > 0)
    say(fmt::format("llmcalc: note: {} of {} points {} impossible; the column error has the reason", run.errors,
                    run.rows, run.errors == 1 ? "is" : "are"));
  if (!stopped || first + run.rows == all) return 0;
  say(fmt::format("llmcalc: stopped after {} of {} rows{}", first + run.rows, all,
                  to_file ? "; the same command with --resume continues" : ""));
  return stopped_code();
}

int run_sweep(const Arguments& arguments) {
  check_sweep_options(arguments);
  ThreadRunner runner;
  runner.stopped();  // installs signal handlers
  const SweepPoints points = read_points(arguments);
  const std::vector<std::string> paths = chosen_columns(arguments, points, runner);
  const std::vector<Column> columns = columns_at(find_question(points.command->name), paths);
  const auto table = opened(arguments, sweep_header(points, paths));
  const WrittenRows written = arguments.has("--resume") ? table->written() : WrittenRows{};
  check_rows(written, points, columns, *table, arguments.text("--out"), runner);
  table->start();
  const SweepRun run = write_rows(points, columns, written.rows, *table, runner);
  table->finish();
  runner.end();
  return end_of_sweep(run, written.rows, points.size(), arguments.has("--out"), runner.stopped());
}

constexpr std::array sweep_words{Word{"COMMAND", "params, memory, flops, train, infer, report or serve"},
                                 Word{"MODEL", "a model as in the command, or several separated by commas"}};
constexpr std::array sweep_options{
    Option{"--columns", "PATH,...",
           "values of the command's --json by dotted path, such as step.time_s,verdict.fit [about ten per command]"},
    Option{"--out", "FILE", "write to a file that ends with .csv, .jsonl, .sqlite or .db [CSV on standard output]"},
    Option{"--jsonl", "", "write one JSON object per line to standard output"},
    Option{"--resume", "", "continue the file at the first missing row"}};

}  // namespace

const Command sweep_command{
    .name = "sweep",
    .arguments = "COMMAND MODEL [lists]",
    .summary = "a table over lists of option values",
    .about =
        "Runs a command for every combination of option values, one row each, on all cores. The value of an option may "
        "be a list (--tp 1,2,4), a range (1..8, 0.1..0.9+0.2) or a range of factors (1..64x2). A semicolon separates "
        "values that contain commas (--stage-layers '7,8;8,7'). Impossible points have a reason in the column error.",
    .examples =
        "  llmcalc sweep train llama-3.1-8b --hardware h100,h200 --tp 1,2,4,8 --seq 4k\n"
        "  llmcalc sweep memory gpt2 --train --micro-batch 1..64x2 --out memory.csv\n"
        "  llmcalc sweep infer llama-3.1-8b,qwen3-8b --hardware h100 --batch 1..256x2 \\\n"
        "    --columns decode.tokens_per_s,limits.max_batch --out infer.sqlite",
    .words = sweep_words,
    .own = sweep_options,
    .parts = part::of_training | part::of_inference | part::model_flops | part::time | part::halves | part::target |
             part::serving | part::simulated | part::hardware | part::files | part::help,
    .files = "row",
    .run = run_sweep};

}  // namespace llmcalc
