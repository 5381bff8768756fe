#include "cli/kernels/run.hpp"

#include <fmt/format.h>

#include <array>

#include "ask/request/check/check.hpp"
#include "ask/request/options/options.hpp"
#include "ask/request/request.hpp"
#include "cli/kernels/found.hpp"
#include "cli/kernels/instrument_sections.hpp"
#include "cli/kernels/place.hpp"
#include "cli/print.hpp"
#include "cli/progress_line.hpp"
#include "cli/stop.hpp"
#include "learn/model_folder.hpp"
#include "presets/load.hpp"
#include "report/model/model_sections.hpp"
#include "report/question.hpp"
#include "report/report.hpp"
#include "text/error.hpp"
#include "text/quantity.hpp"
#include "validate/calibrate.hpp"
#include "validate/run.hpp"

namespace llmcalc {
namespace {

/// Models up to this width run a second time with a number type that counts operations, which takes about a second.
constexpr Count countable_width = 64;
bool countable(const validate::Case& c) { return c.arch.hidden <= countable_width; }

using validate::CaseVerdict;

/// The validation case of the user's model. By default it is small enough for any machine. It runs in bf16 if the
/// checkpoint stores bf16. Without a checkpoint, it runs in float32 on a CPU and in bf16, the backend's only
/// tensor-core format, on a GPU.
validate::Case asked(const Arguments& arguments, Request& r) {
  const std::string& word = arguments.word("MODEL");
  const auto weights = model::holds_weights(word) ? std::make_shared<model::ModelFolder>(word) : nullptr;
  r.model = load_model(word);
  r.usual_seq = 256;
  const bool narrow =
      weights != nullptr ? weights->number() == model::Number::bf16 : is_gpu(arguments.text("--device", "cpu"));
  r.usual_precision = narrow ? dtypes::bf16 : dtypes::fp32;
  r.plan.prompt = std::clamp<Count>(r.model.arch.context / 2, 1, 64);
  r.plan.generate = std::clamp<Count>(r.model.arch.context - r.plan.prompt, 1, 8);
  arguments.apply(r);
  check(r, r.parts | part::time);
  if (weights == nullptr) return {r.model.name, r.model.arch, r.plan, r.layout};
  const auto load = [weights](model::Transformer& t) { weights->load(t); };
  return {r.model.name, r.model.arch, r.plan, r.layout, weights->numerics(), load};
}

std::vector<validate::Case> cases_of(const std::string& suite, const validate::Where& where) {
  const std::unique_ptr<model::Backend> backend = where.make(model::Number::f32);
  std::vector<validate::Case> cases = validate::small_suite([&](const validate::Case& c) {
    if (c.plan.mtp > 0 && !backend->runs_modules()) return std::string("MTP modules");
    const std::string lack = backend->lacks(c.arch);
    return lack.empty() ? backend->lacks_of(c.plan) : lack;
  });
  if (suite == "small") return cases;
  cases.push_back(validate::gpt2_case(load_model("gpt-2-124m").arch));
  return cases;
}

/// Progress text: "3 of 40: multi-head, ...", or only the name if there is a single model.
std::string which(std::size_t i, const std::vector<validate::Case>& cases) {
  const std::string name = short_name(cases[i].name);
  return cases.size() == 1 ? name : fmt::format("{} of {}: {}", i + 1, cases.size(), name);
}

std::vector<CaseVerdict> verdicts(const std::vector<validate::Case>& cases, validate::RunParts parts,
                                  const validate::Where& where, ProgressLine& line) {
  std::vector<CaseVerdict> all;
  for (const validate::Case& c : cases) {
    line.show("bytes and FLOPs, " + which(all.size(), cases));
    parts.counted = countable(c);
    all.push_back(validated(c, parts, where));
  }
  return all;
}

std::vector<validate::Timing> timed(const validate::Case& c, const Device& d, const validate::RunParts& parts, int n,
                                    const validate::Where& where) {
  std::vector<validate::Timing> all;
  if (parts.training) all = timed_training(c, d, n, where);
  if (!parts.inference) return all;
  const std::vector<validate::Timing> more = timed_inference(c, d, n, where);
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Times timed(const std::vector<validate::Case>& cases, const Device& d, const validate::RunParts& parts, int n,
            const validate::Where& where, ProgressLine& line) {
  Times all;
  for (const validate::Case& c : cases) {
    line.show("times, " + which(all.size(), cases));
    all.push_back(timed(c, d, parts, n, where));
  }
  return all;
}

/// The suite's small models, enlarged until arithmetic dominates their time.
std::vector<validate::Case> as_timed(std::vector<validate::Case> cases) {
  for (validate::Case& c : cases)
    if (countable(c)) c = validate::enlarged(c);
  return cases;
}

struct Options {
  const Arguments& a;

  std::string suite() const { return a.text("--suite", "small"); }
  validate::Where where() const { return place(a.text("--device", "cpu")); }
  bool one() const { return !a.word("MODEL").empty(); }
  bool check_time() const { return a.has("--check-time"); }
  validate::RunParts parts() const {
    const bool training = a.has("--train"), inference = a.has("--infer");
    return {.training = training || !inference, .inference = inference || !training};
  }
  /// The number of timed runs, whose median is reported.
  int runs() const {
    constexpr Count usual = 5, most = 10000;
    const Count n = a.has("--repeats") ? parse_positive(a.text("--repeats"), "--repeats") : usual;
    if (n > most) throw InputError(fmt::format("--repeats: expected a whole number from 1 to {}, got {}", most, n));
    return static_cast<int>(n);
  }
  void refuse_contradictions() const {
    if (one() && a.has("--suite")) throw InputError("pass either a model or --suite, not both");
    if (const Option* o = a.first_of_plan(); !one() && o != nullptr)
      throw InputError(
          fmt::format("{} applies to a single model, and the suite defines its own plans; pass a MODEL", o->flag));
    for (const char* flag : {"--check-time", "--repeats"})
      if (a.has(flag) && !a.has("--hardware"))
        throw InputError(fmt::format("{} requires --hardware FILE, written by 'llmcalc calibrate'", flag));
  }
};

/// Before anything runs, rejects models that the reference cannot run or that do not fit.
void check_all(const Options& o, const std::vector<validate::Case>& cases, bool timed) {
  const validate::Where where = o.where();
  if (o.one()) return check_runnable(cases[0], o.parts(), where);
  check_room(cases, o.parts(), where);
  if (timed) check_room(as_timed(cases), o.parts(), where);
}

Validated found(const Options& o, const Request& r, const std::vector<validate::Case>& cases) {
  const validate::Where where = o.where();
  ProgressLine line;
  Validated f{verdicts(cases, o.parts(), where, line), {}, {}};
  if (r.hardware)
    f.times = timed(o.one() ? cases : as_timed(cases), r.hardware->cluster.device, o.parts(), o.runs(), where, line);
  line.show("reading the device's instruments");
  const Bytes overhead = r.hardware ? r.hardware->cluster.device.achieved.overhead : Bytes();
  if (o.one()) f.metered = metered(cases[0], o.parts(), {.overhead = overhead}, where);
  return f;
}

/// Adds the device's sensor and counter readings, and the utilization if a step was timed.
void add_metered(Report& report, const Request& r, const validate::Case& c, const Validated& f) {
  add_instruments(report, *f.metered);
  if (!r.hardware) return;
  for (const validate::Timing& t : f.times[0])
    if (t.what == "step" && t.op.empty())
      report.sections.push_back(mfu_section(c, t.measured, f.metered->board.name.value_or(""), *r.hardware));
}

/// Notes on how the cases were run.
Notes run_notes(const Options& o, const Request& r, const std::vector<validate::Case>& cases) {
  Notes all = o.one() ? notes(r) : Notes();
  if (const Count n = micro_batches(cases[0].plan, cases[0].layout); o.one() && o.parts().training && n > 1)
    all.push_back({"micro_batches_of_step", fmt::format("a step has {} micro-batches: bytes are the peak over all of "
                                                        "them, FLOPs and operators are per micro-batch",
                                                        n)});
  if (cases[0].load)
    all.push_back({"weights_from_checkpoint",
                   fmt::format("the weights are from {}: every tensor has the name and shape given by its config.json",
                               o.a.word("MODEL"))});
  for (const validate::Case& c : cases)
    if (!countable(c))
      all.push_back(
          {"flops_not_counted",
           fmt::format("FLOPs of {} are not counted individually, because counting arithmetic is slow: it runs models "
                       "up to width {}, and this model has width {}",
                       c.name, countable_width, c.arch.hidden)});
  if (const validate::Where where = o.where(); r.hardware && !calibrated_here(*r.hardware, where))
    all.push_back(
        {"hardware_of_other_machine",
         fmt::format(
             "times are predicted for {}, a hardware file that 'llmcalc calibrate' did not write on this machine ({})",
             title(*r.hardware), machine_title(where))});
  return all;
}

/// All options in effect that are not part of the plan.
json::Value run_inputs(const Options& o, const Request& r) {
  const validate::RunParts parts = o.parts();
  json::Value v = o.one() ? inputs_json(r) : json::Value{{"suite", o.suite()}};
  v["device"] = o.a.text("--device", "cpu");
  v["train"] = parts.training;
  v["infer"] = parts.inference;
  if (r.hardware) {
    v["repeats"] = o.runs();
    v["check_time"] = o.check_time();
  }
  return v;
}

Report report_of(const Options& o, const Request& r, const std::vector<validate::Case>& cases, const Validated& f) {
  Report report;
  report.command = "validate";
  report.title =
      fmt::format("{}: reference transformer against prediction", o.one() ? title(r.model) : "suite " + o.suite());
  report.notes = run_notes(o, r, cases);
  report.inputs = run_inputs(o, r);
  if (r.hardware) report.hardware = hardware_json(*r.hardware);
  if (o.one()) {
    report.model = model_json(r.model);
    report.conventions = conventions_json(r);
    for (const char* part : {"training", "inference"}) add_table(report, f.verdicts[0], part);
    add_beside(report, f.verdicts[0]);
    add_attention_cores(report, f.verdicts[0]);
    if (r.hardware) add_times(report, f.times[0]);
    if (f.metered) add_metered(report, r, cases[0], f);
  } else {
    add_suite(report, f.verdicts);
    if (r.hardware) add_suite_times(report, f.names(), f.times);
  }
  conclude(report, f, o.check_time());
  return report;
}

}  // namespace

int run_validate(const Arguments& arguments) {
  stop_at_once();
  const Options o{arguments};
  o.refuse_contradictions();
  o.runs();
  Request r;
  if (arguments.has("--hardware")) r.hardware = load_hardware(arguments.text("--hardware"));
  const std::vector<validate::Case> cases = o.one() ? std::vector{asked(arguments, r)} : cases_of(o.suite(), o.where());
  check_all(o, cases, r.hardware.has_value());
  const Validated f = found(o, r, cases);
  print(report_of(o, r, cases, f), screen_of(arguments));
  return exit_code(f, o.check_time());
}

}  // namespace llmcalc
