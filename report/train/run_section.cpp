#include "report/train/run_section.hpp"

// The whole run: tokens, days, GPU-hours, failures, energy, cost.

#include <fmt/format.h>

#include <utility>

#include "ask/answer/days.hpp"
#include "ask/answer/interval.hpp"
#include "ask/answer/process_estimate.hpp"
#include "ask/answer/serving/settle.hpp"
#include "ask/request/prices.hpp"
#include "calc/run.hpp"
#include "report/interval.hpp"
#include "report/question.hpp"
#include "text/counted.hpp"
#include "text/error.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

/// The run at a throughput that is measured, stated as MFU, or predicted.
class RunTable {
 public:
  RunTable(const Request& r, const TrainEstimate& e)
      : r_(r), run_(r.run), e_(e), gpus_(devices(r.layout)), rate_(throughput()) {
    possible_ = run_.measured_tokens_per_s || run_.mfu || e.memory.peak <= usable_memory(r);
  }

  Section section() {
    if (run_.measured_tokens_per_s) add_measured();
    if (run_.tokens) {
      add_tokens();
      add_days();
      if (run_.mtbf) add_failures();
      if (run_.days) add_gpus();
      add_energy();
      add_cost();
    }
    return std::move(s_);
  }

 private:
  double per_token(Flops of_micro_batch) const {
    return static_cast<double>(of_micro_batch.value) / real(mul(r_.plan.micro_batch, r_.plan.seq));
  }
  FlopsPerSecond peak() const { return r_.hardware->cluster.device.peak(r_.plan.precision); }
  double throughput() const {
    if (run_.measured_tokens_per_s) return *run_.measured_tokens_per_s;
    if (run_.mfu) return *run_.mfu * real(gpus_) * peak().value / per_token(e_.flops.model_total);
    return tokens_per_second(e_, e_.estimate);
  }
  std::string marked(const std::string& note) const {
    return possible_ ? note : "not possible: does not fit" + (note.empty() ? "" : "; " + note);
  }

  void add_measured() {
    s_.add("measured_tokens_per_s", "measured", rate_, Unit::tokens_per_second, counted(gpus_, "GPU"));
    s_.add("mfu", "MFU", mfu(per_token(e_.flops.model_total), rate_, gpus_, peak()), Unit::ratio,
           "from the measured throughput");
    s_.add("hfu", "HFU", hfu(per_token(e_.flops.hardware_total), rate_, gpus_, peak()), Unit::ratio);
    const Parameters n = parameters(r_.model.arch);
    s_.add("mfu_6nd", "MFU by 6N", mfu(6 * real(n.active), rate_, gpus_, peak()), Unit::ratio,
           "6 x active parameters, no attention");
  }

  void add_tokens() {
    s_.add("tokens", "tokens", *run_.tokens, Unit::tokens);
    s_.add("words", "words", words_of_tokens(real(*run_.tokens)), Unit::none, "1.3 tokens each");
    s_.add("flops", "model FLOPs",
           Flops((*run_.tokens * e_.flops.model_total).value / static_cast<Wide>(r_.plan.micro_batch * r_.plan.seq)),
           "per token x tokens");
  }

  void add_days() {
    time_ = training_time(real(*run_.tokens), rate_);
    hours_ = device_hours(gpus_, time_);
    const std::string how = run_.mfu ? fmt::format("at {:g} % MFU", 100 * *run_.mfu) : "";
    const std::optional<EstimateInterval> interval = interval_of_run();
    const double all = days(time_);
    s_.add("days", "time", all, Unit::days, marked(interval ? interval_text(*interval, all, Unit::days) : how));
    if (interval) add_ends("days", all, Unit::days, *interval);
    s_.add("gpu_hours", "GPU-hours", hours_, Unit::hours, marked(how));
  }

  /// What checkpoints and failures add to the run, whose cost and energy count them.
  void add_failures() {
    const Failures f = failures_of(r_, gpus_);
    const double kept = goodput(f);
    require_progress(f, kept);
    s_.add("checkpoint_bytes", "checkpoint", checkpoint_bytes(r_), "weights and optimizer state");
    s_.add("checkpoint_s", "written in", f.checkpoint, "while the run waits");
    s_.add("checkpoint_interval_s", "a checkpoint every", checkpoint_interval(f), "the best interval (Daly)");
    s_.add("failures", "failures", time_.value / kept / time_between_failures(f).value, Unit::none,
           fmt::format("one in {:g} h of a GPU", *run_.mtbf));
    s_.add("goodput", "time that counts", kept, Unit::ratio, "the rest: checkpoints, lost work, restarts");
    s_.add("effective_days", "time with failures", days(time_) / kept, Unit::days, marked(""));
    hours_ /= kept;
    s_.add("effective_gpu_hours", "GPU-hours with failures", hours_, Unit::hours, marked(""));
  }

  /// A run that fails before its checkpoints are written never ends.
  static void require_progress(const Failures& f, double kept) {
    constexpr double least = 0.01;
    if (kept >= least) return;
    throw InputError(fmt::format(
        "--mtbf {:g}: a failure every {} on {}, where a checkpoint takes {} and a restart {}: the run makes no "
        "progress; "
        "give a longer --mtbf, a higher --checkpoint-bandwidth or a shorter --restart",
        f.mtbf_hours, human_text(Quantity(time_between_failures(f).value), Unit::seconds), counted(f.devices, "GPU"),
        human_text(Quantity(f.checkpoint.value), Unit::seconds), human_text(Quantity(f.restart.value), Unit::seconds)));
  }

  void add_gpus() {
    const GpusForDays found = gpus_for_days(r_, rate_);
    const std::string label = fmt::format("GPUs for {:g} days", *run_.days);
    if (found.gpus)
      s_.add("gpus_needed", label, *found.gpus, Unit::none, found.note);
    else
      s_.add("", label, std::string("none"), Unit::none, found.note);
  }

  void add_energy() {
    const std::optional<double> watts = watts_of(r_);
    if (!watts && (run_.co2 || r_.gave("--pue")))
      throw InputError(fmt::format("{} needs the power of a GPU, which '{}' does not state; give --watts too",
                                   run_.co2 ? "--co2" : "--pue", r_.hardware->name));
    if (!watts) return;
    const double kwh = energy_kwh(hours_, *watts, run_.pue);
    const char* whose = run_.watts ? "" : ", the preset's";
    s_.add("energy_kwh", "energy", kwh, Unit::kilowatt_hours,
           marked(fmt::format("{:g} W each{}, PUE {}", *watts, whose, run_.pue)));
    if (run_.co2) s_.add("co2_kg", "CO2", co2_kg(kwh, *run_.co2), Unit::kilograms, marked(""));
  }

  void add_cost() {
    const std::optional<double> price = price_of(r_);
    if (!price) return;
    const char* whose = run_.price ? "" : ", the preset's first";
    s_.add("cost_usd", "cost", cost(hours_, *price), Unit::dollars,
           marked(fmt::format("{} USD per GPU-hour{}", *price, whose)));
    if (const auto interval = interval_of_run()) add_ends("cost_usd", cost(hours_, *price), Unit::dollars, *interval);
  }

  /// The interval of the step's time, where the run's follows from it.
  std::optional<EstimateInterval> interval_of_run() const {
    if (run_.measured_tokens_per_s || run_.mfu) return std::nullopt;
    return interval_of(r_, e_);
  }
  void add_ends(const std::string& key, double value, Unit unit, const EstimateInterval& interval) {
    s_.add(key + "_low", "", value / interval.faster(), unit);
    s_.add(key + "_high", "", value * interval.factor, unit);
  }

  const Request& r_;
  const RunInputs& run_;
  const TrainEstimate& e_;
  Count gpus_;
  double rate_, hours_ = 0;
  Seconds time_;
  bool possible_;
  Section s_{"run", "the whole run", {}};
};

}  // namespace

Section run_section(const Request& r, const TrainEstimate& e) { return RunTable(r, e).section(); }

}  // namespace llmcalc
