#include "calc/textbook/weights.hpp"
#include "report/explain/clockwork.hpp"
#include "report/explain/definition.hpp"
#include "report/explain/sum.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

/// "m" where there is more than one micro-batch per step.
std::string repeats(S s) { return micro_batches(s.plan(), s.layout()) > 1 ? "m" : ""; }

/// States are read and written once; weights are read too where there is no master copy.
std::string optimizer_text(S s, bool bound) {
  const bool master = s.plan().master && training_weights(s.plan()).format().element_bits < 32;
  return ratio(std::string("2*M_o + M_g + ") + (master ? "M_w" : "2*M_w"), memory_rate(s, bound));
}

/// Numbers whose gradients the ranks sum once per step: norms that the heads share; under sequence parallelism also
/// what works on a shard of the tokens, and the biases added after the sum.
std::string summed_gradients(S s) {
  if (!s.tensor_parallel()) return "0";
  const bool sp = sequence_parallel(s.layout());
  const auto summed = [sp](const textbook::Weight<Expr>& w) {
    return sp ? w.place != textbook::Place::cut : w.place == textbook::Place::shared;
  };
  return textbook::parameters_of(s.arch(), s.rank_sizes(), summed).text();
}
std::string gradient_exchange(S s, bool bound) {
  const std::string numbers = summed_gradients(s);
  return numbers == "0" ? "" : product({exposed(s), ring_text(s, bound, "2", product({"p_g", numbers}))});
}
std::string added(const std::string& a, const std::string& b) { return b.empty() ? a : a + " + " + b; }

Formula step_time(S s, bool bound) {
  Formula f = pass_time(s, training_pass(s.plan()), bound);
  f.expression = product({repeats(s), f.expression});
  f.expression = added(f.expression + " + " + optimizer_text(s, bound), gradient_exchange(s, bound));
  return f;
}
Formula communication(S s) {
  Formula f = exchange_time(s, training_pass(s.plan()), repeats(s));
  f.expression = added(f.expression, gradient_exchange(s, false));
  return f;
}

Symbol part(S s, const char* name, const char* meaning, const std::string& path) {
  return {name, meaning, s.number("step.breakdown_s." + path)};
}
/// The largest part of the step time; the optimizer's pass is memory traffic.
Formula limiting(S s) {
  return {
      "max(compute, memory + optimizer, communication, launches)",
      {part(s, "compute", "time at the peak, s", "compute"), part(s, "memory", "time at the bandwidth, s", "memory"),
       part(s, "optimizer", "time of the optimizer, s", "optimizer"),
       part(s, "communication", "time of exchanges, s", "communication"),
       part(s, "launches", "time of launches, s", "latency")}};
}

constexpr std::string_view step_roofline =
    "per operator the larger of FLOPs/peak and bytes/bandwidth (--roofline op), or of the whole step (step)";
constexpr std::string_view step_sources = "Goon App. D; Williams 2009; Narayanan 2021 (arXiv:2104.04473)";
constexpr Definition step_table[] = {
    {"step.time_s", "time of one optimizer step", "s", [](S s) { return step_time(s, false); }, step_roofline,
     step_sources},
    {"step.bound_time_s", "time of one optimizer step at full efficiency", "s", [](S s) { return step_time(s, true); },
     step_roofline, step_sources},
    {"step.tokens", "tokens of one step, all GPUs", "tokens", fixed<"n_r*m*B*S">, "", "Goon §3"},
    {"step.tokens_per_s", "throughput of all GPUs", "tokens/s", fixed<"n_r*m*B*S/step_time">, "", "Goon (3.5)"},
    {"step.tokens_per_s_per_gpu", "throughput per GPU", "tokens/s", fixed<"n_r*m*B*S/(step_time*gpus)">, "",
     "Goon (3.5)"},
    {"step.mfu", "model FLOPs utilisation", "", fixed<"n_r*m*F_model/(step_time*gpus*pi)">,
     "no recomputation; dense peak of the compute format",
     "PaLM (arXiv:2204.02311) App. B; Goon (3.5) with FLOPs per token"},
    {"step.hfu", "hardware FLOPs utilisation", "", fixed<"n_r*m*F_hw/(step_time*gpus*pi)">, "recomputation counted",
     "Korthikanti 2022 (arXiv:2205.05198)"},
    {"step.bound", "what takes most of the step", "", limiting, slowest, step_sources, "", slowest},
    {"step.breakdown_s.compute", "time of the operators that the peak limits", "s",
     [](S s) { return compute_time(s, training_pass(s.plan()), repeats(s)); }, step_roofline, step_sources},
    {"step.breakdown_s.memory", "time of the operators that the bandwidth limits", "s",
     [](S s) { return memory_time(s, training_pass(s.plan()), repeats(s)); }, step_roofline, step_sources},
    {"step.breakdown_s.communication", "time of exchanges that compute does not hide", "s", communication,
     "ring collectives; --overlap says what is hidden",
     "Megatron (arXiv:1909.08053); Korthikanti 2022 (arXiv:2205.05198); Patarasuk & Yuan 2009"},
    {"step.breakdown_s.latency", "time of launches", "s",
     [](S s) { return launch_time(s, training_pass(s.plan()), repeats(s)); },
     "measured; 0 where the hardware file has none", "the hardware file"},
    {"step.breakdown_s.optimizer", "time of the optimizer's pass over the states", "s",
     [](S s) -> Formula { return {optimizer_text(s, false)}; },
     "states read and written, gradients read, weights written", "ZeRO (arXiv:1910.02054): bytes per parameter"},
};

// ---- The whole run.

/// Tokens per second of all GPUs: measured, or predicted.
std::string rate(S s) { return s.request().run.measured_tokens_per_s ? "r" : "R"; }
std::vector<Symbol> measured(S s) {
  const auto& r = s.request().run.measured_tokens_per_s;
  return r ? std::vector<Symbol>{{"r", "measured tokens/s of all GPUs", number_text(*r)}} : std::vector<Symbol>{};
}
Formula utilisation(S s, const char* flops) { return {std::string(flops) + "*r/(gpus*pi)", measured(s)}; }

constexpr std::string_view tokens = "--tokens D";
constexpr std::string_view throughput = "--measured-tokens-per-s X";
constexpr Definition run_table[] = {
    {"run.measured_tokens_per_s", "measured throughput", "tokens/s",
     [](S s) -> Formula {
       return {"r", measured(s)};
     },
     "an input", "--measured-tokens-per-s", throughput},
    {"run.mfu", "model FLOPs utilisation of the measured run", "", [](S s) { return utilisation(s, "F_model/(B*S)"); },
     "model FLOPs per token x tokens/s over all peaks",
     "Goon (3.5) with FLOPs per token; PaLM (arXiv:2204.02311) App. B", throughput},
    {"run.hfu", "hardware FLOPs utilisation of the measured run", "", [](S s) { return utilisation(s, "F_hw/(B*S)"); },
     "recomputation counted", "Korthikanti 2022 (arXiv:2205.05198)", throughput},
    {"run.mfu_6nd", "utilisation by 6 N", "", [](S s) { return utilisation(s, "6*N_act"); },
     "active parameters, no attention", "Goon (3.4), (3.5)", throughput},
    {"run.tokens", "tokens of the run", "tokens", fixed<"D_run">, "an input", "--tokens", tokens},
    {"run.words", "words of the run", "", fixed<"D_run/1.3">, "English, on average", "Goon §1, footnote 1", tokens},
    {"run.flops", "model FLOPs of the run", "FLOP", fixed<"floor(F_model*D_run/(B*S))">, "rounded down", "Goon (3.4)",
     tokens},
    {"run.days", "days", "days",
     [](S s) -> Formula {
       return {ratio("D_run", rate(s)) + "/86400", measured(s)};
     },
     "at the measured or the predicted throughput", "Goon (3.4)", tokens},
    {"run.gpu_hours", "GPU-hours", "h",
     [](S s) -> Formula {
       return {ratio("gpus*D_run", rate(s)) + "/3600", measured(s)};
     },
     "", "Goon (3.4)", tokens},
    {"run.energy_kwh", "energy", "kWh", fixed<"gpu_hours*watts*PUE/1000">, "watts and PUE are inputs",
     "LLaMA (arXiv:2302.13971) §6", "--tokens D and --watts W"},
    {"run.co2_kg", "carbon dioxide", "kg", fixed<"kWh*co2_per_kwh">, "the grid's intensity is an input",
     "LLaMA (arXiv:2302.13971) §6", "--tokens D, --watts W and --co2 KG/KWH"},
    {"run.cost_usd", "cost", "USD", fixed<"gpu_hours*price">, "the price is an input", "--price",
     "--tokens D and --price USD/H"},
};

}  // namespace

std::span<const Definition> step_definitions() { return step_table; }
std::span<const Definition> run_definitions() { return run_table; }

}  // namespace llmcalc::explain
