#include "cli/kernels/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>

#include "cli/json_file.hpp"
#include "cli/kernels/calibrate_bench.hpp"
#include "cli/kernels/calibrate_tables.hpp"
#include "cli/kernels/place.hpp"
#include "cli/kernels/server/calibrate_server.hpp"
#include "cli/out_file.hpp"
#include "cli/print.hpp"
#include "cli/progress_line.hpp"
#include "cli/stop.hpp"
#include "presets/load.hpp"
#include "text/error.hpp"
#include "text/whole_file.hpp"
#include "validate/calibrate.hpp"

namespace llmcalc {
namespace {

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

Grid rates_grid(const validate::Calibration& c) {
  Grid g{
      .key = "matmul", .title = "matmul", .columns = {"format", "rows", "out", "in", "GFLOP/s", "spread"}, .rows = {}};
  for (const validate::FormatRates& f : c.formats)
    for (const auto& [size, rate] : f.matmuls) {
      const double spread = c.spread_of(matmul_key(f.format, size));
      g.rows.push_back({std::string(f.format.name()), fmt::format("{}", size.rows), fmt::format("{}", size.out),
                        fmt::format("{}", size.in), fmt::format("{:.1f}", rate.value / 1e9), percent(spread)});
      g.json.push_back({{"format", f.format.name()},
                        {"rows", size.rows},
                        {"out", size.out},
                        {"in", size.in},
                        {"flops_per_s", rate.value},
                        {"spread", spread}});
    }
  return g;
}

/// Adds the spread of each number over the rounds: in the note next to the number, and as a separate row for JSON.
void add_spread(Section& s, const validate::Calibration& c) {
  std::vector<Row> spreads;
  for (Row& row : s.rows)
    if (const auto spread = c.spread.find(row.key); spread != c.spread.end()) {
      row.note += "; spread " + percent(spread->second);
      spreads.push_back({"spread." + row.key, "", spread->second, Unit::none, ""});
    }
  s.rows.insert(s.rows.end(), spreads.begin(), spreads.end());
}

Section rest(const validate::Calibration& c) {
  Section s{"machine", "machine", {}};
  const auto gigabytes = [](BytesPerSecond r) { return fmt::format("{:.4g} GB/s", r.value / 1e9); };
  s.add("copy_bytes_per_s", "copy bandwidth", gigabytes(c.copy), Unit::none, "bytes read and written");
  s.add("cache_bytes_per_s", "cache bandwidth", gigabytes(c.cache_bandwidth), Unit::none,
        "additions that fit in the cache");
  s.add("cache_bytes", "cache size", c.cache, "largest addition that still runs at the cache bandwidth");
  s.add("launch_s", "operator overhead", c.launch.forward, "operator with minimal work");
  if (c.launch.backward.value > 0)
    s.add("launch_backward_s", "operator overhead, backward", c.launch.backward, "gradient of the same operator");
  if (c.recorded.forward.value > 0) {
    s.add("recorded_s", "operator overhead, recorded", c.recorded.forward, "in a CUDA graph");
    s.add("recorded_backward_s", "operator overhead, recorded backward", c.recorded.backward, "in a CUDA graph");
  }
  s.add("functions_per_s", "functions", fmt::format("{:.4g} G/s", c.functions / 1e9), Unit::none,
        "GELU and its gradient");
  for (const validate::FormatRates& f : c.formats) {
    const std::string name(f.format.name());
    const auto core = [&](const char* key, const char* title, FlopsPerSecond rate) {
      s.add(key + name, title + name, fmt::format("{:.4g} GFLOP/s", rate.value / 1e9), Unit::none,
            "attention core only");
    };
    core("attention_", "attention, ", f.flash.forward);
    core("attention_backward_", "attention backward, ", f.flash.backward);
    if (f.plain.forward.value > 0) {
      core("plain_attention_", "attention without tensor cores, ", f.plain.forward);
      core("plain_attention_backward_", "attention backward without tensor cores, ", f.plain.backward);
    }
    core("naive_attention_", "naive attention, ", f.naive.forward);
    core("naive_attention_backward_", "naive attention backward, ", f.naive.backward);
    s.add("half_matmul_" + name, "matmul at half rate, " + name, fmt::format("{:.4g} MFLOP", f.half_matmul / 1e6),
          Unit::none, "size of a matmul that reaches half the rate");
    if (f.unaligned < 1)
      s.add("unaligned_" + name, "unaligned widths, " + name, f.unaligned, Unit::ratio,
            "relative to the rate of aligned widths");
    s.add("exposed_" + name, "exposed memory time, " + name, fmt::format("{:.2f}", f.exposed), Unit::none,
          "share of a matmul's memory time added to its compute time");
  }
  s.add("memory_bytes", "memory", c.memory);
  if (c.overhead != Bytes()) s.add("overhead_bytes", "non-tensor memory", c.overhead, "driver, libraries and kernels");
  if (c.threads > 0) s.add("threads", "threads", Quantity(Count{c.threads}));
  add_spread(s, c);
  return s;
}

bool is_calibration(const std::string& path) {
  const HardwareCard card = load_hardware(path);
  return card.served || card.achieved_how.starts_with(validate::calibrated_on);
}

/// Checks that the hardware file can be read back, and returns it. Throws InputError if the device was so busy that a
/// rate is negative.
json::Value readable(json::Value file) {
  try {
    read_hardware_file(file, "the measurement");
  } catch (const InputError& e) {
    throw InputError(fmt::format("the measurement failed: {}; stop other work on the machine and rerun", e.what()));
  }
  return file;
}

Report report_of(const validate::Calibration& c, const std::string& out, const std::string& name,
                 const std::string& device) {
  Report report;
  report.command = "calibrate";
  report.title = c.device;
  report.inputs = {{"out", out}, {"name", name}, {"device", device}};
  report.grids = {rates_grid(c)};
  report.sections = {rest(c)};
  report.notes = {{"medians_of_rounds",
                   fmt::format("values are medians of {} rounds; spread is the interquartile range of the rounds",
                               validate::rounds)}};
  report.verdict = {{"", fmt::format("written to {}", out)}};
  return report;
}

validate::Calibration measured(const validate::Where& where) {
  ProgressLine line;
  return validate::calibrated(
      where, [&](const std::string& next, double done) { line.show(next + left_text(line.seconds(), done)); });
}

/// Sources of a hardware file, of which one is used.
struct CalibrationSource {
  const char *flag, *sentence;
};
constexpr std::array calibration_sources{CalibrationSource{"--from", "--from reads a device's tables"},
                                         CalibrationSource{"--bench", "--bench reads a benchmark"},
                                         CalibrationSource{"--server", "--server reads a running server"},
                                         CalibrationSource{"--device", "--device measures a device"}};

/// Rejects options without one of the sources that they describe.
void refuse_without(const Arguments& arguments, std::span<const char* const> flags,
                    std::initializer_list<const char*> sources, const char* described) {
  const auto has = [&](const char* source) { return arguments.has(source); };
  if (std::any_of(sources.begin(), sources.end(), has)) return;
  for (const char* flag : flags)
    if (arguments.has(flag)) throw InputError(fmt::format("{0} describes {1}, or omit {0}", flag, described));
}

/// Rejects two sources, and options that describe an absent one.
void refuse_contradictions(const Arguments& arguments) {
  const CalibrationSource* first = nullptr;
  for (const CalibrationSource& s : calibration_sources) {
    if (!arguments.has(s.flag)) continue;
    if (first != nullptr) throw InputError(fmt::format("{} and {}; omit one of them", first->sentence, s.sentence));
    first = &s;
  }
  constexpr std::array subject{"--hardware", "--model"}, interval{"--seconds", "--prompt"};
  constexpr std::array network{"--allow-remote"};
  refuse_without(arguments, subject, {"--from", "--bench", "--server"},
                 "the data of --from DIR, --bench FILE or --server URL; add one of these");
  refuse_without(arguments, bench_setup_options, {"--bench", "--server"},
                 "the server of --bench FILE or --server URL; add one of these");
  refuse_without(arguments, interval, {"--bench", "--server"}, "the readings of --server URL; add it");
  refuse_without(arguments, network, {"--server"}, "the connection of --server URL; add it");
}

int calibrate_from_tables(const Arguments& arguments, const std::string& out, const std::string& name) {
  TableCalibration c = calibrated_from_tables(arguments, name);
  write_json(out, c.file);
  c.report.inputs = {{"from", arguments.text("--from")}, {"out", out}, {"name", name}};
  c.report.verdict = {{"", fmt::format("written to {}", out)}};
  return print(c.report, screen_of(arguments));
}

/// Writes the hardware file, and prints the report.
int conclude_bench(const Arguments& arguments, const std::string& out, BenchCalibration c) {
  write_json(out, c.file);
  c.report.inputs = {};
  for (const char* flag : {"--bench", "--server"})
    for (const std::string& text : arguments.texts(flag)) c.report.inputs[flag + 2].push_back(text);
  for (auto& [key, texts] : c.report.inputs.items())
    if (texts.size() == 1) texts = json::Value(texts.front());
  c.report.inputs["out"] = out;
  c.report.verdict = {{"", fmt::format("written to {}", out)}};
  return print(c.report, screen_of(arguments));
}

}  // namespace

int run_calibrate(const Arguments& arguments) {
  const std::string out = arguments.text("--out", "this-machine.json"), name = arguments.text("--name", "this-machine"),
                    device = arguments.text("--device", "cpu");
  refuse_contradictions(arguments);
  stop_at_once();
  check_out({out, "--out", "a hardware file", is_calibration}, arguments.has("--force"));
  if (arguments.has("--from")) return calibrate_from_tables(arguments, out, name);
  if (arguments.has("--server")) return conclude_bench(arguments, out, calibrated_from_server(arguments));
  if (arguments.has("--bench")) return conclude_bench(arguments, out, calibrated_from_files(arguments));
  const validate::Calibration c = measured(place(device));
  const json::Value file = readable(validate::hardware_file(c, name, today()));
  if (is_replaced_by_write(out)) save_flag();  // from here on, a signal must not discard the measurements
  write_json(out, file);
  return print(report_of(c, out, name, device), screen_of(arguments));
}

}  // namespace llmcalc
