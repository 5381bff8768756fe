#include "cli/kernels/server/calibrate_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "cli/kernels/server/http_get.hpp"
#include "cli/kernels/server/read_server.hpp"
#include "cli/progress_line.hpp"
#include "evidence/bench/server_counters.hpp"
#include "text/error.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {

constexpr double usual_interval = 30, longest_interval = 86400;
constexpr std::size_t longest_readings = std::size_t{16} << 20;

/// Seconds between the readings.
double interval_of(const Arguments& arguments) {
  if (!arguments.has("--seconds")) return usual_interval;
  const double s = parse_positive_real(arguments.text("--seconds"), "--seconds");
  if (s <= longest_interval) return s;
  throw InputError(fmt::format("--seconds: expected at most {:g}, a day, got {:g}", longest_interval, s));
}

std::optional<double> mean_prompt(const Arguments& arguments) {
  if (!arguments.has("--prompt")) return std::nullopt;
  return static_cast<double>(parse_positive(arguments.text("--prompt"), "--prompt"));
}

/// Waits until `seconds` after the construction of `since`. A signal ends the program.
void wait_until(const Elapsed& since, double seconds, const std::string& url) {
  ProgressLine line;
  for (double left; (left = seconds - since.seconds()) > 0;) {
    line.show(fmt::format("{} works, {:.0f} s until the second reading", url, left));
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left, 0.1)));
  }
}

/// Whether the requests in progress at the readings differ from their mean over the interval, as in a changing load.
bool load_changed(const ServerInterval& i, double seconds) {
  constexpr double steady = 1.5;
  if (!i.running_before || !i.running_after) return false;
  const double ends = std::max(1.0, (*i.running_before + *i.running_after) / 2), mean = std::max(1.0, *i.test.clients);
  return i.latency > seconds || ends > steady * mean || mean > steady * ends;
}

Notes interval_notes(const ServerInterval& i, double seconds) {
  Notes all{{"requests_ended", fmt::format("means over {:.0f} requests that ended in {:.3g} s, {:.3g} s each",
                                           i.test.requests, seconds, i.latency)}};
  if (i.test.cached > 0)
    all.push_back({"prompts_cached", fmt::format("{:.0f} % of the prompts' tokens were cached",
                                                 100 * i.test.cached / (i.test.cached + i.test.prompt))});
  if (load_changed(i, seconds))
    all.push_back({"load_changed",
                   fmt::format("the load changed: {:g} requests were in progress at the first reading, {:g} at the "
                               "second and {:.1f} on average; a longer interval (--seconds N) is more accurate",
                               *i.running_before, *i.running_after, *i.test.clients)});
  return all;
}

/// Adds the interval between two readings to the source.
void add_interval(BenchSource& source, const ServerReadings& r) {
  const ServerInterval i = server_interval(r);
  source.run.tests = {i.test};
  source.notes = interval_notes(i, r.seconds);
  const Count tp = source.run.tp.value_or(1), pp = source.run.pp.value_or(1);
  if (tp > 1 || pp > 1)
    source.notes.push_back({"ranks_stated", fmt::format("the server states --tp {} and --pp {}", tp, pp)});
}

Exposition readings_in(const std::string& path) {
  return Exposition(json::file_text(path, "a server's metrics", longest_readings), path);
}

BenchCalibration calibrated_from_readings(const Arguments& arguments, const std::vector<std::string>& paths) {
  const std::string& where = paths.back();
  if (paths.size() > 2)
    throw InputError("--bench is given more than twice; pass one benchmark, or two readings of a server's metrics");
  if (!arguments.has("--seconds"))
    throw InputError("two files of --bench are readings of a server's metrics; add --seconds N, the time between them");
  const Exposition before = readings_in(paths.front()), after = readings_in(where);
  BenchSource source{.run = counted_run(after, where), .where = where, .name = "metrics of a server"};
  const BenchSetup setup = bench_setup(arguments, source);
  add_interval(source, ServerReadings{before, after, interval_of(arguments), mean_prompt(arguments), where});
  return calibrated_from_bench(arguments, source, setup);
}

}  // namespace

BenchCalibration calibrated_from_server(const Arguments& arguments) {
  need_http_client();
  const ServerAddress server = server_address(arguments.text("--server"), arguments.has("--allow-remote"));
  const double seconds = interval_of(arguments);
  const std::optional<double> prompt = mean_prompt(arguments);
  const Exposition before = server_metrics(server);
  const Elapsed since;
  BenchSource source{.run = server_facts(server, before), .where = server.url(), .name = "metrics of a server"};
  const BenchSetup setup = bench_setup(arguments, source);  // finds mistakes before the wait
  refuse_unusable(source.run.engine, prompt, server.url());
  wait_until(since, seconds, server.url());
  const Exposition after = server_metrics(server);
  add_interval(source, ServerReadings{before, after, since.seconds(), prompt, server.url()});
  return calibrated_from_bench(arguments, source, setup);
}

BenchCalibration calibrated_from_files(const Arguments& arguments) {
  const std::vector<std::string> paths = arguments.texts("--bench");
  if (paths.size() > 1) return calibrated_from_readings(arguments, paths);
  for (const char* flag : {"--seconds", "--prompt"})
    if (arguments.has(flag))
      throw InputError(
          fmt::format("{0} describes two readings of a server, which --bench BEFORE --bench AFTER or "
                      "--server URL pass; add one of these, or omit {0}",
                      flag));
  const BenchSource source = source_of_bench(arguments);
  return calibrated_from_bench(arguments, source, bench_setup(arguments, source));
}

}  // namespace llmcalc
