#include "report/served_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "ask/answer/interval.hpp"
#include "ask/request/software.hpp"

namespace llmcalc {
namespace {

/// "vllm 0.10.0 with llama-3.1-8b (2026-11-30, bench.json)".
std::string run_text(const ServedRun& run) {
  return fmt::format("{}{}{} with {} ({}{}{})", run.engine, run.version.empty() ? "" : " ", run.version, run.model,
                     run.date, run.date.empty() ? "" : ", ", run.file);
}

std::string pace_text(const char* what, double ratio) {
  return fmt::format("{} by {:.3g}, the square root of {:.3g}", what, paced_by(ratio), ratio);
}

std::string paces_text(const ServedRun& run) {
  std::vector<std::string> all;
  if (run.decode) all.push_back(pace_text("decode passes", *run.decode));
  if (run.prompt) all.push_back(pace_text("prompt passes", *run.prompt));
  return fmt::format("{}", fmt::join(all, ", and "));
}

/// The classes whose interval the run narrows, with both factors.
std::string narrowed_text(const Request& r) {
  Request without = r;
  without.hardware->served.reset();
  std::vector<std::string> all;
  for (const InferenceClass c : {InferenceClass::decode, InferenceClass::served_decode, InferenceClass::whole_batch,
                                 InferenceClass::prefill, InferenceClass::first_token}) {
    const auto before = interval_of(without, c), after = interval_of(r, c);
    if (before && after && after->factor < before->factor)
      all.push_back(fmt::format("{} {:.3g} -> {:.3g}", name(c), before->factor, after->factor));
  }
  if (all.empty()) return "no interval is narrower, because runs of one machine do not predict one another better";
  return fmt::format("intervals, factors in either direction, are narrower ({}); other classes keep theirs",
                     fmt::join(all, ", "));
}

}  // namespace

void note_served_run(const Request& r, Report& report) {
  if (!r.engine || !r.hardware->served) return;
  const ServedRun& run = *r.hardware->served;
  if (!has_run_of_engine(r))
    return report.notes.push_back(
        {"served_run_of_other_engine",
         fmt::format("the hardware file's run of {} does not change estimates for {}", run_text(run), r.engine->name)});
  report.notes.push_back(
      {"scaled_by_served_run",
       fmt::format("estimates are scaled by a run of {}: {} of measured over estimated time, because half of a run's "
                   "error is specific to that run; {}",
                   run_text(run), paces_text(run), narrowed_text(r))});
}

}  // namespace llmcalc
