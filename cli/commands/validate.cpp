#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/commands/plan_command.hpp"
#include "cli/instrument_sections.hpp"
#include "cli/interrupt.hpp"
#include "cli/place.hpp"
#include "cli/progress_line.hpp"
#include "model/pass.hpp"
#include "presets/error.hpp"
#include "presets/load.hpp"
#include "presets/quantity.hpp"
#include "validate/run.hpp"
#include "validate/timing.hpp"

namespace llmcalc {
namespace {

/// Models up to this width run once more in counting numbers: a second or so.
constexpr Count countable_width = 64;

using validate::Comparison;
using validate::Verdict;

const char* kind_name(validate::Kind k) {
  return k == validate::Kind::count ? "parameters" : k == validate::Kind::bytes ? "bytes" : "FLOP";
}

json::Value row_json(const Comparison& c) {
  json::Value row{{"part", c.part},           {"quantity", c.quantity}, {"unit", kind_name(c.kind)},
                  {"predicted", c.predicted}, {"measured", c.measured}, {"difference", c.measured - c.predicted},
                  {"tolerance", 0},           {"equal", c.equal()}};
  if (!c.op.empty()) row["operator"] = c.op;
  return row;
}

std::vector<std::string> row_text(const Comparison& c) {
  return {c.op.empty() ? c.quantity : "  " + c.op, exact_text(c.predicted), exact_text(c.measured),
          exact_text(c.measured - c.predicted),    kind_name(c.kind),       "exact",
          c.equal() ? "equal" : "DIFFERS"};
}

/// One model: every quantity, per operator.
void add_table(Report& report, const Verdict& v, const std::string& part) {
  Grid g{.key = part,
         .title = part,
         .columns = {"quantity", "predicted", "measured", "difference", "unit", "tolerance", "verdict"},
         .left = 1,
         .rows = {}};
  for (const Comparison& c : v.rows)
    if (c.part == part) g.rows.push_back(row_text(c)), g.json.push_back(row_json(c));
  if (!g.rows.empty()) report.grids.push_back(std::move(g));
}

/// What counting numbers did beside products.
void add_beside(Report& report, const Verdict& v) {
  Grid g{.key = "elementwise",
         .title = "element-wise work, counted and not in FLOPs",
         .columns = {"part", "operator", "operations"},
         .left = 2,
         .rows = {}};
  for (const validate::Beside& b : v.beside) {
    g.rows.push_back({b.part, b.op, exact_text(b.operations)});
    g.json.push_back({{"part", b.part}, {"operator", b.op}, {"operations", b.operations}});
  }
  if (!g.rows.empty()) report.grids.push_back(std::move(g));
}

std::string short_name(const std::string& name) { return name.size() > 60 ? name.substr(0, 57) + "..." : name; }

/// A suite: a line per case, and every row that differs.
void add_suite(Report& report, const std::vector<Verdict>& all) {
  Grid cases{.key = "cases", .title = "", .columns = {"case", "quantities", "operators", "verdict"}, .rows = {}};
  Grid wrong{.key = "differences",
             .title = "what differs",
             .columns = {"case", "part", "quantity", "operator", "predicted", "measured"},
             .left = 4,
             .rows = {}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Verdict& v = all[i];
    const Count n = v.differing();
    cases.rows.push_back({short_name(v.name), exact_text(static_cast<Count>(v.rows.size())), exact_text(v.operators),
                          n == 0 ? "equal" : fmt::format("{} DIFFER", n)});
    json::Value rows = json::Value::array();
    for (const Comparison& c : v.rows) rows.push_back(row_json(c));
    json::Value row{{"case", v.name}, {"operators", v.operators}, {"order", v.order}, {"rows", rows}};
    for (const validate::CoreUse& c : v.cores) row["attention_core"][c.part] = c.core;
    cases.json.push_back(row);
    for (const Comparison& c : v.rows)
      if (!c.equal())
        wrong.rows.push_back(
            {fmt::format("{}", i + 1), c.part, c.quantity, c.op, exact_text(c.predicted), exact_text(c.measured)});
  }
  report.grids.push_back(std::move(cases));
  if (!wrong.rows.empty()) report.grids.push_back(std::move(wrong));
}

std::string conclusion(const std::vector<Verdict>& all) {
  Count compared = 0, differing = 0;
  for (const Verdict& v : all) compared += static_cast<Count>(v.rows.size()) + v.operators, differing += v.differing();
  if (differing == 0)
    return fmt::format("{} comparisons of {} model{}: every byte, FLOP and operator is as predicted",
                       exact_text(compared), all.size(), all.size() == 1 ? "" : "s");
  std::string name;
  if (const Comparison* c = validate::worst(all, name))
    return fmt::format("{} of {} comparisons differ, worst {}, {}{}{}: predicted {}, measured {} ({})",
                       exact_text(differing), exact_text(compared), c->part, c->quantity, c->op.empty() ? "" : " of ",
                       c->op, exact_text(c->predicted), exact_text(c->measured), name);
  for (const Verdict& v : all)
    if (!v.order.empty()) return fmt::format("{}: {}", v.name, v.order);
  return "";
}

std::vector<std::string> time_text(const validate::Timing& t) {
  return {t.op.empty() ? t.what : "  " + t.op,      t.op.empty() ? "" : t.what,
          fmt::format("{:.4g}", t.predicted * 1e3), fmt::format("{:.4g}", t.measured * 1e3),
          fmt::format("{:.2f}", t.ratio()),         t.within() ? "within" : "outside"};
}

/// Seconds against a calibrated machine.
void add_times(Report& report, const std::vector<validate::Timing>& all) {
  Grid g{.key = "times",
         .title = fmt::format("time, ms; the band is {:.2f} times more or less", validate::band),
         .columns = {"what", "pass", "predicted", "measured", "measured/predicted", "verdict"},
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

/// What the user asks of one model; by default small enough for any machine, in float32.
validate::Case asked(const std::string& model, const Arguments& arguments, Request& r) {
  r.model = load_model(model);
  r.usual_seq = 256, r.usual_precision = dtypes::fp32;
  r.plan.prompt = std::clamp<Count>(r.model.arch.context / 2, 1, 64);
  r.plan.generate = std::clamp<Count>(r.model.arch.context - r.plan.prompt, 1, 8);
  arguments.apply(r);
  check(r, {.training = true, .inference = true, .time = r.hardware.has_value()});
  return {r.model.name, r.model.arch, r.plan};
}

std::vector<validate::Case> cases_of(const std::string& suite) {
  if (suite == "small") return validate::small_suite();
  if (suite != "full") throw InputError(fmt::format("--suite \"{}\" is not known; it takes small, full", suite));
  std::vector<validate::Case> cases = validate::small_suite();
  cases.push_back(validate::gpt2_case(load_model("gpt-2-124m").arch));
  return cases;
}

std::vector<Verdict> verdicts(const std::vector<validate::Case>& cases, validate::Parts parts,
                              const validate::Where& where) {
  std::vector<Verdict> all;
  ProgressLine line;
  for (const validate::Case& c : cases) {
    if (line.due()) line.show(fmt::format("{} of {}: {}", all.size() + 1, cases.size(), c.name.substr(0, 60)));
    parts.counted = c.arch.hidden <= countable_width;
    all.push_back(validated(c, parts, where));
  }
  return all;
}

using Times = std::vector<std::vector<validate::Timing>>;  ///< of every case

std::vector<validate::Timing> timed(const validate::Case& c, const Device& d, const validate::Parts& parts, int n,
                                    const validate::Where& where) {
  std::vector<validate::Timing> all;
  if (parts.training) all = timed_training(c, d, n, where);
  if (!parts.inference) return all;
  const std::vector<validate::Timing> more = timed_inference(c, d, n, where);
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Times timed(const std::vector<validate::Case>& cases, const Device& d, const validate::Parts& parts, int n,
            const validate::Where& where) {
  Times all;
  ProgressLine line;
  for (const validate::Case& c : cases) {
    if (line.due()) line.show(fmt::format("time of {} of {}", all.size() + 1, cases.size()));
    all.push_back(timed(c, d, parts, n, where));
  }
  return all;
}

/// The suite's small models at a size at which time is of arithmetic.
std::vector<validate::Case> as_timed(std::vector<validate::Case> cases) {
  for (validate::Case& c : cases)
    if (c.arch.hidden <= countable_width) c = validate::enlarged(c);
  return cases;
}

/// Of a suite: steps and passes as a whole, a line per case.
void add_suite_times(Report& report, const std::vector<validate::Case>& cases, const Times& times) {
  Grid g{.key = "times",
         .title = "time, measured/predicted; the small models with every width and length enlarged",
         .columns = {"case", "step, ms", "ratio", "prefill, ms", "ratio", "decode, ms", "ratio"},
         .left = 1,
         .rows = {}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    std::vector<std::string> row{short_name(cases[i].name)};
    for (const char* what : {"step", "prefill", "decode"})
      for (const validate::Timing& t : times[i]) {
        if (!t.op.empty() || t.what != what) continue;
        row.push_back(fmt::format("{:.4g}", t.measured * 1e3)), row.push_back(fmt::format("{:.2f}", t.ratio()));
        g.json.push_back({{"case", cases[i].name},
                          {"what", what},
                          {"predicted_s", t.predicted},
                          {"measured_s", t.measured},
                          {"within", t.within()}});
      }
    row.resize(g.columns.size());
    g.rows.push_back(row);
  }
  report.grids.push_back(std::move(g));
}

/// How far the whole steps, prefills or decodes were from their predictions.
std::string time_conclusion(const Times& times, const char* what, const char* name) {
  std::vector<double> off;
  for (const auto& of_case : times)
    for (const validate::Timing& t : of_case)
      if (t.op.empty() && t.what == what) off.push_back(std::max(t.ratio(), 1 / t.ratio()) - 1);
  if (off.empty()) return "";
  std::sort(off.begin(), off.end());
  return fmt::format("; {} {:.0f} % from the predicted time (median), {:.0f} % at worst", name,
                     100 * off[off.size() / 2], 100 * off.back());
}
std::string time_conclusion(const Times& times) {
  return time_conclusion(times, "step", "steps are") + time_conclusion(times, "prefill", "prefills") +
         time_conclusion(times, "decode", "decoded tokens");
}

bool in_time(const Times& times) {
  return std::all_of(times.begin(), times.end(), [](const auto& of_case) {
    return std::all_of(of_case.begin(), of_case.end(),
                       [](const validate::Timing& t) { return !t.op.empty() || t.within(); });
  });
}

struct Options {
  std::string model, suite, device = "cpu", hardware, repeats = "5";
  bool training = false, inference = false, check_time = false;

  void declare(Arguments& a) {
    a.positional("MODEL", "a preset or a file; without one the suite runs", model, false);
    a.option("--suite", "small|full", "models of every shape; full adds GPT-2 124M [small]", suite);
    a.option("--device", "cpu|cuda", "where the reference runs [cpu]", device);
    a.option("--hardware", "HW", "a file of 'llmcalc calibrate': times too, beside its predictions", hardware);
    a.option("--repeats", "N", "runs of which the median time counts [5]", repeats);
    a.flag("--check-time", "a step, prefill or decode outside the band is exit 1 too", check_time);
    a.flag("--train", "the training step alone", training);
    a.flag("--infer", "prefill and decode alone", inference);
    a.plan(for_training | for_inference);
    a.styles();
  }
  void refuse_contradictions(const Arguments& a) const {
    if (one() && !suite.empty()) throw InputError("give either a model or --suite, not both");
    if (!one() && !a.first_plan_option().empty())
      throw InputError(
          fmt::format("{} is for one model, and the suite has plans of its own; give a MODEL", a.first_plan_option()));
    if (check_time && hardware.empty())
      throw InputError("--check-time wants --hardware FILE, which 'llmcalc calibrate' writes");
  }
  bool one() const { return !model.empty(); }
  std::string suite_name() const { return suite.empty() ? "small" : suite; }
  validate::Parts parts() const { return {.training = training || !inference, .inference = inference || !training}; }
};

/// What was found of every case.
struct Found {
  std::vector<Verdict> verdicts;
  Times times;
  std::optional<validate::Metered> metered;  ///< of one model, where the device has instruments
  bool exact() const {
    return std::all_of(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return v.differing() == 0; });
  }
};

Found found(const Options& o, const Request& r, const std::vector<validate::Case>& cases) {
  const validate::Where where = place(o.device, &interrupt_flag());
  const int runs = static_cast<int>(parse_positive(o.repeats, "--repeats"));
  Found f{verdicts(cases, o.parts(), where), {}, {}};
  if (r.hardware) f.times = timed(o.one() ? cases : as_timed(cases), r.hardware->device, o.parts(), runs, where);
  const Bytes overhead = r.hardware ? r.hardware->device.achieved.overhead : Bytes();
  if (o.one()) f.metered = metered(cases[0], o.parts(), {.overhead = overhead}, where);
  return f;
}

/// What the device's instruments said; utilisation, where a step was timed.
void add_metered(Report& report, const Request& r, const validate::Case& c, const Found& f) {
  add_instruments(report, *f.metered);
  if (!r.hardware) return;
  for (const validate::Timing& t : f.times[0])
    if (t.what == "step" && t.op.empty())
      report.sections.push_back(mfu_section(c, t.measured, f.metered->board.name.value_or(""), *r.hardware));
}

Report report_of(const Options& o, const Request& r, const std::vector<validate::Case>& cases, const Found& f) {
  Report report;
  report.command = "validate";
  report.title = fmt::format("{}: the reference transformer against the prediction",
                             o.one() ? title(r.model) : "suite " + o.suite_name());
  if (o.one()) {
    report.inputs = inputs_json(r, for_training | for_inference);
    for (const char* part : {"training", "inference"}) add_table(report, f.verdicts[0], part);
    add_beside(report, f.verdicts[0]);
    add_attention_cores(report, f.verdicts[0]);
    if (r.hardware) add_times(report, f.times[0]);
    if (f.metered) add_metered(report, r, cases[0], f);
  } else {
    report.inputs = {{"suite", o.suite_name()}};
    add_suite(report, f.verdicts);
    if (r.hardware) add_suite_times(report, cases, f.times);
  }
  report.conclusion = conclusion(f.verdicts) + time_conclusion(f.times);
  return report;
}

}  // namespace

int run_validate(Args args) {
  Arguments arguments("validate",
                      "Runs the bundled reference transformer and sets what it really held and did beside the\n"
                      "prediction: every byte by category and operator, every FLOP, the operators' names, shapes and\n"
                      "order. Exit 1 if anything that is exact is not.",
                      "  llmcalc validate --suite small\n  llmcalc validate gpt2 --micro-batch 2 --seq 128\n"
                      "  llmcalc validate my-model.json --infer --prompt 32 --generate 8 --json");
  Options o;
  o.declare(arguments);
  if (!arguments.parse(args)) return 0;
  o.refuse_contradictions(arguments);
  Request r;
  if (!o.hardware.empty()) r.hardware = load_hardware(o.hardware);
  const std::vector<validate::Case> cases =
      o.one() ? std::vector{asked(o.model, arguments, r)} : cases_of(o.suite_name());
  if (o.one()) check_runnable(cases[0], o.parts(), place(o.device));
  try {
    const Found f = found(o, r, cases);
    print(report_of(o, r, cases, f), arguments.style());
    return f.exact() && (in_time(f.times) || !o.check_time) ? 0 : 1;
  } catch (const llmcalc::model::Stopped&) {
    fmt::print(stderr, "stopped\n");
    return interrupted_code;
  }
}

}  // namespace llmcalc
