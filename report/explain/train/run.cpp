// The whole run.

#include <fmt/format.h>

#include "ask/answer/days.hpp"
#include "ask/answer/interval.hpp"
#include "ask/request/request.hpp"
#include "calc/textbook/weights.hpp"
#include "report/explain/definition.hpp"
#include "report/explain/interval.hpp"
#include "report/explain/pass_time.hpp"
#include "report/explain/sum.hpp"
#include "report/interval.hpp"
#include "report/question.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

/// Tokens per second of all GPUs: measured, at a stated MFU, or predicted.
std::string rate(S s) {
  if (s.request().run.measured_tokens_per_s) return "r";
  return s.request().run.mfu ? "(u_m*gpus*pi*B*S/F_model)" : "R";
}
std::vector<Symbol> measured(S s) {
  const RunInputs& run = s.request().run;
  if (const auto& r = run.measured_tokens_per_s) return {{"r", "measured tokens/s of all GPUs", number_text(*r)}};
  if (run.mfu) return {{"u_m", "MFU of the run", number_text(*run.mfu)}};
  return {};
}
/// GPU-hours for energy and cost, including the time lost to failures if --mtbf is set.
Formula of_hours(S s, const char* times) {
  return {std::string(s.request().run.mtbf ? "gpu_hours/g" : "gpu_hours") + times,
          {as_symbol(s, "g", "goodput", "run.goodput")}};
}
Formula with_failures(S s, std::string text) {
  const RunInputs& run = s.request().run;
  return {std::move(text),
          {as_symbol(s, "C", "seconds to write a checkpoint", "run.checkpoint_s"),
           as_symbol(s, "tau_c", "seconds of work between checkpoints", "run.checkpoint_interval_s"),
           {"M_f", "mean seconds between failures, all GPUs",
            number_text(run.mtbf.value_or(1) * 3600 / static_cast<double>(devices(s.layout())))},
           {"e_1", "base of the natural logarithm", "2.718281828459045"},
           {"R_f", "seconds from a failure until work resumes", number_text(run.restart)},
           as_symbol(s, "days", "days excluding failures", "run.days"),
           as_symbol(s, "g", "goodput", "run.goodput")}};
}
Formula utilization(S s, const char* flops) { return {std::string(flops) + "*r/(gpus*pi)", measured(s)}; }

/// One end of the interval for a quantity derived from the step's time.
Formula end_of_interval(S s, const char* expression, const char* path) {
  Formula f = within(interval_of(s.request()), expression);
  f.own.insert(f.own.begin(), as_symbol(s, "x", "estimate", path));
  return f;
}
Formula least_of_interval(S s, const char* path) {
  Formula f = within(interval_of(s.request()), "x*max(t/w, t_0)/t", s, "step.bound_time_s");
  f.own.insert(f.own.begin(), as_symbol(s, "x", "estimate", path));
  f.own.insert(f.own.begin(), as_symbol(s, "t", "step time, s", "step.time_s"));
  return f;
}
/// The ends of the interval of a row.
template <Letters path>
Formula least(S s) {
  return least_of_interval(s, path.text);
}
template <Letters path>
Formula most(S s) {
  return end_of_interval(s, "x*w", path.text);
}
constexpr std::string_view as_the_step = "same as the step time";
constexpr std::string_view by_leaving_out = "llmcalc-fit training";
constexpr std::string_view with_tokens = "--tokens D and an estimate with a known interval";

constexpr std::string_view given_tokens = "--tokens D";
constexpr std::string_view failing = "--tokens D, --mtbf H and --checkpoint-bandwidth B/S";
constexpr std::string_view failing_estimated =
    "--tokens D, --mtbf H, --checkpoint-bandwidth B/S and an estimate with a known interval";
constexpr std::string_view deadline_met =
    "--tokens D, --days X and an estimate with a known interval, if some replica count meets the deadline";
constexpr std::string_view throughput = "--measured-tokens-per-s X";
constexpr Definition run_table[] = {
    {"estimate.measured_scale", "ratio of estimated to measured throughput", "",
     [](S s) -> Formula {
       return {"R/r", measured(s)};
     },
     "estimated times of other plans on the machine are multiplied by its square root", "--measured-tokens-per-s",
     "--measured-tokens-per-s X and an estimate for a software stack"},
    {"run.measured_tokens_per_s", "measured throughput", "tokens/s",
     [](S s) -> Formula {
       return {"r", measured(s)};
     },
     "input", "--measured-tokens-per-s", throughput},
    {"run.mfu", "model FLOPs utilization of the measured run", "", [](S s) { return utilization(s, "F_model/(B*S)"); },
     "model FLOPs per token x tokens/s / total peak of all GPUs",
     "Goon (3.5) with FLOPs per token; PaLM (arXiv:2204.02311) App. B", throughput},
    {"run.hfu", "hardware FLOPs utilization of the measured run", "", [](S s) { return utilization(s, "F_hw/(B*S)"); },
     "includes recomputation", "Korthikanti 2022 (arXiv:2205.05198)", throughput},
    {"run.mfu_6nd", "utilization, 6 N formula", "", [](S s) { return utilization(s, "6*N_act"); },
     "active parameters; excludes attention", "Goon (3.4), (3.5)", throughput},
    {"run.tokens", "tokens of the run", "tokens", fixed<"D_run">, "input", "--tokens", given_tokens},
    {"run.words", "words of the run", "", fixed<"D_run/1.3">, "English, on average", "Goon §1, footnote 1",
     given_tokens},
    {"run.flops", "model FLOPs of the run", "FLOP", fixed<"floor(F_model*D_run/(B*S))">, "rounded down", "Goon (3.4)",
     given_tokens},
    {"run.days", "days", "days",
     [](S s) -> Formula {
       return {ratio("D_run", rate(s)) + "/86400", measured(s)};
     },
     "at the measured or predicted throughput", "Goon (3.4)", given_tokens},
    {"run.days_low", "days, low end of the 90 % interval", "days", least<"run.days">, as_the_step, by_leaving_out,
     with_tokens},
    {"run.days_high", "days, high end of the 90 % interval", "days", most<"run.days">, as_the_step, by_leaving_out,
     with_tokens},
    {"run.cost_usd_low", "cost, low end of the 90 % interval", "USD", least<"run.cost_usd">, as_the_step,
     by_leaving_out, with_tokens},
    {"run.cost_usd_high", "cost, high end of the 90 % interval", "USD", most<"run.cost_usd">, as_the_step,
     by_leaving_out, with_tokens},
    {"run.gpu_hours", "GPU-hours", "h",
     [](S s) -> Formula {
       return {ratio("gpus*D_run", rate(s)) + "/3600", measured(s)};
     },
     "", "Goon (3.4)", given_tokens},
    {"run.gpu_hours_low", "GPU-hours, low end of the 90 % interval", "h", least<"run.gpu_hours">, as_the_step,
     by_leaving_out, with_tokens},
    {"run.gpu_hours_high", "GPU-hours, high end of the 90 % interval", "h", most<"run.gpu_hours">, as_the_step,
     by_leaving_out, with_tokens},
    {"run.checkpoint_bytes", "checkpoint size", "bytes",
     [](S s) -> Formula {
       const States all = training_states(s.arch(), s.plan());
       return {"W_all + O_all",
               {{"W_all", "bytes of all weights", number_text(all.weights.value)},
                {"O_all", "bytes of all optimizer states", number_text(all.optimizer.value)}}};
     },
     "weights and optimizer state of the whole model", "ZeRO (arXiv:1910.02054): bytes per parameter", failing},
    {"run.checkpoint_s", "time to write a checkpoint", "s",
     [](S s) -> Formula {
       return {"M_c/b_c",
               {as_symbol(s, "M_c", "checkpoint size, bytes", "run.checkpoint_bytes"),
                {"b_c", "aggregate checkpoint bandwidth of all GPUs, bytes/s",
                 number_text(s.request().run.storage.value_or(BytesPerSecond()).value)}}};
     },
     "training pauses during the write", "--checkpoint-bandwidth", failing},
    {"run.checkpoint_interval_s", "work time between checkpoints", "s",
     [](S s) { return with_failures(s, "(2*C*M_f)^0.5*(1 + (C/(2*M_f))^0.5/3 + C/(18*M_f)) - C"); },
     "interval of least overhead; M_f if C >= 2 M_f", "Young 1974; Daly 2006", failing},
    {"run.failures", "failures of the run", "", [](S s) { return with_failures(s, "days*86400/(g*M_f)"); },
     "constant rate, independent devices", "--mtbf", failing},
    {"run.goodput", "goodput: fraction of the time spent on retained work", "",
     [](S s) { return with_failures(s, "tau_c/(M_f*e_1^(R_f/M_f)*(e_1^((tau_c + C)/M_f) - 1))"); },
     "the remainder is checkpoints, lost work and restarts", "Daly 2006", failing},
    {"run.effective_days", "days including failures", "days", [](S s) { return with_failures(s, "days/g"); }, "",
     "Daly 2006", failing},
    {"run.effective_days_low", "days including failures, low end of the 90 % interval", "days",
     least<"run.effective_days">, as_the_step, by_leaving_out, failing_estimated},
    {"run.effective_days_high", "days including failures, high end of the 90 % interval", "days",
     most<"run.effective_days">, as_the_step, by_leaving_out, failing_estimated},
    {"run.effective_gpu_hours", "GPU-hours including failures", "h",
     [](S s) { return with_failures(s, "gpus*days*24/g"); }, "", "Daly 2006", failing},
    {"run.effective_gpu_hours_low", "GPU-hours including failures, low end of the 90 % interval", "h",
     least<"run.effective_gpu_hours">, as_the_step, by_leaving_out, failing_estimated},
    {"run.effective_gpu_hours_high", "GPU-hours including failures, high end of the 90 % interval", "h",
     most<"run.effective_gpu_hours">, as_the_step, by_leaving_out, failing_estimated},
    {"run.gpus_needed", "GPUs needed to finish within a given number of days", "",
     [](S s) -> Formula {
       if (!keeps_rate(s.request()) || s.request().gave("--global-batch") || s.request().run.mtbf)
         return from_engine(s, "n_d", "minimum number of GPUs that meets the deadline, found by trial",
                            "run.gpus_needed");
       Formula f{"n_rep*ceil(ceil(D_run*gpus/(days_in*86400*" + rate(s) + "))/n_rep)", measured(s)};
       f.own.push_back({"days_in", "deadline, days", number_text(s.request().run.days.value_or(1))});
       f.own.push_back({"n_rep", "GPUs per model replica", number_text(replica_devices(s.layout()))});
       return f;
     },
     "whole replicas of the same layout, which share a specified global batch; predicted separately for each count, or "
     "at the per-GPU throughput of this plan if the throughput is measured or specified",
     "--days", "--tokens D and --days X, a deadline that some replica count meets"},
    {"run.gpus_needed_low", "GPUs needed, low end of the 90 % interval", "",
     [](S s) {
       return from_engine(s, "n_d", "GPUs that meet the deadline if the run is this much faster",
                          "run.gpus_needed_low");
     },
     as_the_step, by_leaving_out, deadline_met},
    {"run.gpus_needed_high", "GPUs needed, high end of the 90 % interval", "",
     [](S s) {
       return from_engine(s, "n_d", "GPUs that meet the deadline if the run is this much slower",
                          "run.gpus_needed_high");
     },
     as_the_step, by_leaving_out, deadline_met},
    {"run.energy_kwh", "energy", "kWh", [](S s) { return of_hours(s, "*watts*PUE/1000"); },
     "--watts, else the hardware file", "LLaMA (arXiv:2302.13971) §6", "--tokens D and a device of known power"},
    {"run.energy_kwh_low", "energy, low end of the 90 % interval", "kWh", least<"run.energy_kwh">, as_the_step,
     by_leaving_out, with_tokens},
    {"run.energy_kwh_high", "energy, high end of the 90 % interval", "kWh", most<"run.energy_kwh">, as_the_step,
     by_leaving_out, with_tokens},
    {"run.co2_kg", "carbon dioxide", "kg", fixed<"kWh*co2_per_kwh">, "grid carbon intensity is an input",
     "LLaMA (arXiv:2302.13971) §6", "--tokens D, --co2 KG/KWH and a device of known power"},
    {"run.co2_kg_low", "carbon dioxide, low end of the 90 % interval", "kg", least<"run.co2_kg">, as_the_step,
     by_leaving_out, "--tokens D, --co2 KG/KWH and an estimate with a known interval"},
    {"run.co2_kg_high", "carbon dioxide, high end of the 90 % interval", "kg", most<"run.co2_kg">, as_the_step,
     by_leaving_out, "--tokens D, --co2 KG/KWH and an estimate with a known interval"},
    {"run.cost_usd", "cost", "USD", [](S s) { return of_hours(s, "*price"); },
     "--price, else the first price in the hardware file", "the hardware file", "--tokens D and a price"},
};

}  // namespace

std::span<const Definition> run_definitions() { return run_table; }

}  // namespace llmcalc::explain
