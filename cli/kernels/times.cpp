#include "cli/kernels/times.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/kernels/verdicts.hpp"

namespace llmcalc {
namespace {

std::vector<std::string> time_text(const validate::Timing& t) {
  return {t.op.empty() ? t.what : "  " + t.op,      t.op.empty() ? "" : t.what,
          fmt::format("{:.4g}", t.predicted * 1e3), fmt::format("{:.4g}", t.measured * 1e3),
          fmt::format("{:.2f}", t.ratio()),         t.within() ? "within" : "outside"};
}

/// Whether this is the time of a whole step or pass, not of an operator.
bool whole(const validate::Timing& t) { return t.op.empty(); }

/// Relative error of a time: its ratio to the prediction, or the inverse if that is larger, minus one.
double off(const validate::Timing& t) { return std::max(t.ratio(), 1 / t.ratio()) - 1; }

json::Value suite_time_json(const std::string& name, const validate::Timing& t) {
  return {{"case", name},           {"what", t.what},      {"predicted_s", t.predicted}, {"measured_s", t.measured},
          {"band", validate::band}, {"within", t.within()}};
}

/// A clause with the errors of whole steps, prefills or decodes.
std::string off_text(const Times& times, const char* what, const char* name) {
  std::vector<double> all;
  for (const auto& of_case : times)
    for (const validate::Timing& t : of_case)
      if (whole(t) && t.what == what) all.push_back(off(t));
  if (all.empty()) return "";
  std::sort(all.begin(), all.end());
  return fmt::format("; {} time off by {:.0f} % (median), {:.0f} % (worst)", name, 100 * all[all.size() / 2],
                     100 * all.back());
}

}  // namespace

void add_times(Report& report, const std::vector<validate::Timing>& all) {
  Grid g{.key = "times",
         .title = fmt::format("time, ms; the band is a factor of {:.2f} either way", validate::band),
         .columns = {"operator", "pass", "predicted", "measured", "measured/predicted", "verdict"},
         .left = 2,
         .rows = {}};
  for (const validate::Timing& t : all) {
    g.rows.push_back(time_text(t));
    g.json.push_back({{"part", t.part},
                      {"pass", t.what},
                      {"operator", t.op},
                      {"predicted_s", t.predicted},
                      {"measured_s", t.measured},
                      {"band", validate::band},
                      {"within", t.within()}});
  }
  report.grids.push_back(std::move(g));
}

void add_suite_times(Report& report, const std::vector<std::string>& names, const Times& times) {
  Grid g{.key = "times",
         .title = fmt::format("time, measured/predicted; the band is a factor of {:.2f} either way; all widths and "
                              "lengths of the small models are scaled up",
                              validate::band),
         .columns = {"case", "step, ms", "ratio", "prefill, ms", "ratio", "decode, ms", "ratio", "verdict"},
         .left = 1,
         .rows = {}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::vector<std::string> row{short_name(names[i])};
    for (const char* what : {"step", "prefill", "decode"}) {
      const auto t = std::find_if(times[i].begin(), times[i].end(),
                                  [&](const validate::Timing& one) { return whole(one) && one.what == what; });
      const bool there = t != times[i].end();
      row.push_back(there ? fmt::format("{:.4g}", t->measured * 1e3) : "");
      row.push_back(there ? fmt::format("{:.2f}", t->ratio()) : "");
      if (there) g.json.push_back(suite_time_json(names[i], *t));
    }
    row.push_back(in_time({times[i]}) ? "within" : "outside");
    g.rows.push_back(row);
  }
  report.grids.push_back(std::move(g));
}

std::string time_conclusion(const Times& times) {
  return off_text(times, "step", "step") + off_text(times, "prefill", "prefill") + off_text(times, "decode", "decode");
}

bool in_time(const Times& times) {
  const auto timed_within = [](const std::vector<validate::Timing>& of_case) {
    return std::any_of(of_case.begin(), of_case.end(), whole) &&
           std::none_of(of_case.begin(), of_case.end(),
                        [](const validate::Timing& t) { return whole(t) && !t.within(); });
  };
  return !times.empty() && std::all_of(times.begin(), times.end(), timed_within);
}

std::string worst_time(const std::vector<std::string>& names, const Times& times) {
  const validate::Timing* most = nullptr;
  std::string name;
  for (std::size_t i = 0; i < times.size(); ++i)
    for (const validate::Timing& t : times[i])
      if (whole(t) && (most == nullptr || off(t) > off(*most))) {
        most = &t;
        name = names[i];
      }
  if (most == nullptr) return "no time was measured";
  return fmt::format("worst {}: predicted {:.4g} ms, measured {:.4g} ms ({})", most->what, most->predicted * 1e3,
                     most->measured * 1e3, name);
}

}  // namespace llmcalc
