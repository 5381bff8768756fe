#include "report/train/run_section.hpp"

#include <fmt/format.h>

#include "calc/run.hpp"
#include "report/interval.hpp"
#include "text/counted.hpp"

namespace llmcalc {
namespace {

double per_token(Flops of_micro_batch, const Plan& p) {
  return static_cast<double>(of_micro_batch.value) / real(mul(p.micro_batch, p.seq));
}

class RunTable {
 public:
  explicit RunTable(const TrainingAnswer& a) : r_(a.request()), e_(a.estimate()), run_(a.run()) {}

  Section section() {
    if (r_.run.measured_tokens_per_s) add_measured();
    if (!run_.whole) return std::move(s_);
    add_tokens();
    add_days();
    if (run_.whole->failures) add_failures(*run_.whole->failures);
    if (run_.whole->gpus) add_gpus(*run_.whole->gpus);
    add_energy();
    add_cost();
    return std::move(s_);
  }

 private:
  std::string marked(const std::string& note) const {
    return run_.possible ? note : "not possible: does not fit" + (note.empty() ? "" : "; " + note);
  }

  void add_measured() {
    const Count gpus = devices(r_.layout);
    const double rate = run_.tokens_per_s;
    const FlopsPerSecond peak = r_.hardware->cluster.device.peak(r_.plan.precision);
    s_.add("measured_tokens_per_s", "measured", rate, Unit::tokens_per_second, counted(gpus, "GPU"));
    s_.add("mfu", "MFU", mfu(per_token(e_.flops.model_total, r_.plan), rate, gpus, peak), Unit::ratio,
           "from the measured throughput");
    s_.add("hfu", "HFU", hfu(per_token(e_.flops.hardware_total, r_.plan), rate, gpus, peak), Unit::ratio);
    const Parameters n = parameters(r_.model.arch);
    s_.add("mfu_6nd", "MFU by 6N", mfu(6 * real(n.active), rate, gpus, peak), Unit::ratio,
           "6 x active parameters, no attention");
  }

  void add_tokens() {
    const Count tokens = *r_.run.tokens;
    s_.add("tokens", "tokens", tokens, Unit::tokens);
    s_.add("words", "words", words_of_tokens(real(tokens)), Unit::none, "1.3 tokens each");
    s_.add("flops", "model FLOPs",
           Flops((tokens * e_.flops.model_total).value / static_cast<Int128>(r_.plan.micro_batch * r_.plan.seq)),
           "per token x tokens");
  }

  void add_days() {
    const WholeTraining& w = *run_.whole;
    const std::string how = r_.run.mfu ? fmt::format("at {:g} % MFU", 100 * *r_.run.mfu) : "";
    const double all = days(w.time);
    s_.add("days", "time", all, Unit::days, marked(w.interval ? interval_text(*w.interval, all, Unit::days) : how));
    add_ends_of("days", all, Unit::days);
    s_.add("gpu_hours", "GPU-hours", w.gpu_hours, Unit::hours, marked(how));
    add_ends_of("gpu_hours", w.gpu_hours, Unit::hours);
  }

  void add_failures(const RunFailures& f) {
    s_.add("checkpoint_bytes", "checkpoint", f.checkpoint, "weights and optimizer state");
    s_.add("checkpoint_s", "checkpoint write", f.rates.checkpoint, "training is paused");
    s_.add("checkpoint_interval_s", "checkpoint interval", checkpoint_interval(f.rates), "optimal (Daly)");
    s_.add("failures", "failures", f.count, Unit::none, fmt::format("one per {:g} GPU-hours", *r_.run.mtbf));
    s_.add("goodput", "goodput", f.goodput, Unit::ratio, "excludes checkpoints, lost work, restarts");
    const WholeTraining& w = *run_.whole;
    s_.add("effective_days", "time with failures", w.effective_days(), Unit::days, marked(""));
    add_ends_of("effective_days", w.effective_days(), Unit::days);
    s_.add("effective_gpu_hours", "GPU-hours with failures", w.effective_gpu_hours(), Unit::hours, marked(""));
    add_ends_of("effective_gpu_hours", w.effective_gpu_hours(), Unit::hours);
  }

  void add_gpus(const GpusForDays& found) {
    const std::string label = fmt::format("GPUs to finish in {:g} days", *r_.run.days);
    if (found.gpus)
      s_.add("gpus_needed", label, *found.gpus, Unit::none, found.note);
    else
      s_.add("", label, std::string("none"), Unit::none, found.note);
    if (const auto& low = run_.whole->gpus_low) s_.add("gpus_needed_low", "", *low);
    if (const auto& high = run_.whole->gpus_high) s_.add("gpus_needed_high", "", *high);
  }

  void add_energy() {
    const WholeTraining& w = *run_.whole;
    if (!w.energy_kwh) return;
    const char* whose = r_.run.watts ? "" : ", from the preset";
    s_.add("energy_kwh", "energy", *w.energy_kwh, Unit::kilowatt_hours,
           marked(fmt::format("{:g} W each{}, PUE {}", *w.watts, whose, r_.run.pue)));
    add_ends_of("energy_kwh", *w.energy_kwh, Unit::kilowatt_hours);
    if (!w.co2_kg) return;
    s_.add("co2_kg", "CO2", *w.co2_kg, Unit::kilograms, marked(""));
    add_ends_of("co2_kg", *w.co2_kg, Unit::kilograms);
  }

  void add_cost() {
    const WholeTraining& w = *run_.whole;
    if (!w.cost_usd) return;
    const char* whose = r_.run.price ? "" : ", the first price of the preset";
    s_.add("cost_usd", "cost", *w.cost_usd, Unit::dollars,
           marked(fmt::format("{} USD per GPU-hour{}", *w.usd_per_gpu_hour, whose)));
    add_ends_of("cost_usd", *w.cost_usd, Unit::dollars);
  }

  void add_ends_of(const std::string& key, double value, Unit unit) {
    const std::optional<EstimateInterval>& interval = run_.whole->interval;
    if (!interval) return;
    s_.add(key + "_low", "", value / interval->faster(), unit);
    s_.add(key + "_high", "", value * interval->factor, unit);
  }

  const Request& r_;
  const TrainEstimate& e_;
  const RunEstimate& run_;
  Section s_{"run", "the whole run", {}};
};

}  // namespace

Section run_section(const TrainingAnswer& a) { return RunTable(a).section(); }

namespace {
/// A quantity and its interval: "72.15 days (56.63 to 91.92 days)".
std::string with_ends(const WholeTraining& w, double value, Unit unit) {
  const std::string text = human_text(Quantity(value), unit);
  return w.interval ? fmt::format("{} ({})", text, interval_text(*w.interval, value, unit)) : text;
}
}  // namespace

std::string run_text(const WholeTraining& w) {
  const std::string hours = short_text(Quantity(w.effective_gpu_hours()), Unit::hours);
  const std::string cost = w.cost_usd ? ", " + with_ends(w, *w.cost_usd, Unit::dollars) : "";
  return fmt::format("{}, {} GPU-hours{}{}", with_ends(w, w.effective_days(), Unit::days), hours, cost,
                     w.failures ? ", including failures" : "");
}

}  // namespace llmcalc
