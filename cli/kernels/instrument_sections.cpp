#include "cli/kernels/instrument_sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ask/answer/conventions.hpp"
#include "calc/run.hpp"
#include "presets/builtin.hpp"
#include "presets/load.hpp"
#include "text/format.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

using validate::metered_tolerance;

std::string whole_text(double x) { return exact_text(static_cast<Count>(std::llround(x))); }
std::string whole_text(std::optional<double> x) { return x ? whole_text(*x) : "-"; }
std::string verdict(bool within) { return within ? "within" : "outside"; }

json::Value phase_json(const validate::PhaseCount& p, bool flops) {
  json::Value row{{"phase", p.predicted.name}};
  if (flops) {
    row["predicted_flops"] = p.predicted.flops;
    row["counted_flops"] = p.counted.tensor_flops;
    if (p.predicted.flops > 0) row["ratio"] = p.counted.tensor_flops / p.predicted.flops;
  }
  row["predicted_bytes"] = p.predicted.moved;
  if (p.counted.read) row["dram_read_bytes"] = *p.counted.read;
  if (p.counted.written) row["dram_written_bytes"] = *p.counted.written;
  row["counted_s"] = p.counted.time.value;
  return row;
}

std::vector<std::string> phase_text(const validate::PhaseCount& p, bool flops) {
  const double predicted = p.predicted.flops, counted = p.counted.tensor_flops;
  std::vector<std::string> row{p.predicted.name};
  if (flops) {
    row.insert(row.end(), {whole_text(predicted), whole_text(counted),
                           predicted > 0 ? fmt::format("{:.4f}", counted / predicted) : ""});
  }
  row.insert(row.end(), {whole_text(p.predicted.moved), whole_text(p.counted.read), whole_text(p.counted.written)});
  return row;
}

const char* name(model::WorkKind k) {
  constexpr std::array names{"products", "padded products", "attention"};
  return names[static_cast<std::size_t>(k)];
}

json::Value core_json(const model::CoreRun& run) {
  json::Value row{{"core", name(run.core)}};
  if (run.obstacle) row["obstacle"] = name(*run.obstacle);
  return row;
}

json::Value work_json(const std::string& phase, const validate::TensorCount& t) {
  json::Value row{
      {"phase", phase}, {"of", name(t.kind)}, {"predicted_flops", t.predicted}, {"counted_flops", t.counted}};
  if (t.core) row.update(core_json(*t.core));
  if (t.judged) {
    row["tolerance"] = metered_tolerance;
    row["within"] = t.within();
  }
  return row;
}

std::vector<std::string> work_text(const std::string& phase, const validate::TensorCount& t) {
  const bool some = t.predicted > 0;
  const std::string core(t.core ? name(t.core->core) : ""), where = some ? core : "non-tensor cores";
  const std::string ratio = some ? fmt::format("{:.4f}", t.counted / t.predicted) : "";
  return {phase,
          name(t.kind),
          where,
          whole_text(t.predicted),
          whole_text(t.counted),
          ratio,
          t.judged ? verdict(t.within()) : "none"};
}

/// Adds FLOPs by execution unit.
void add_tensor_work(Report& report, const validate::Metered& m) {
  if (!m.no_parts.empty()) report.notes.push_back({"flops_not_split", "FLOPs are not split by unit: " + m.no_parts});
  Grid g{.key = "tensor_work",
         .title = fmt::format("tensor-core FLOPs, including padding to whole tiles; the tolerance is {:.0f} %",
                              100 * metered_tolerance),
         .columns = {"phase", "of", "by", "predicted", "counted", "ratio", "verdict"},
         .left = 3,
         .rows = {}};
  bool padded = false;
  for (const validate::PhaseCount& p : m.phases)
    for (const validate::TensorCount& t : p.parts) {
      g.rows.push_back(work_text(p.predicted.name, t));
      g.json.push_back(work_json(p.predicted.name, t));
      padded = padded || !t.judged;
    }
  if (g.rows.empty()) return;
  report.grids.push_back(std::move(g));
  if (padded)
    report.notes.push_back(
        {"padded_products",
         "no verdict for products whose sizes are not multiples of 128, which are padded, and for experts, whose rows "
         "depend on the data"});
}

void add_counters(Report& report, const validate::Metered& m) {
  if (!m.no_counts.empty()) report.notes.push_back({"no_counters", "no hardware counters: " + m.no_counts});
  if (m.phases.empty()) return;
  Grid g{.key = "counters",
         .title = "work measured by the device's counters; bytes are predicted without caches",
         .columns = {"phase"},
         .left = 1,
         .rows = {}};
  if (m.tensor_cores) {
    g.title += ", FLOPs without padding to tiles";
    g.columns.insert(g.columns.end(), {"FLOPs predicted", "counted", "ratio"});
  }
  g.columns.insert(g.columns.end(), {"bytes predicted", "DRAM read", "DRAM written"});
  for (const validate::PhaseCount& p : m.phases) {
    g.rows.push_back(phase_text(p, m.tensor_cores));
    g.json.push_back(phase_json(p, m.tensor_cores));
  }
  report.grids.push_back(std::move(g));
  if (m.tensor_cores) add_tensor_work(report, m);
  if (m.product)
    report.notes.push_back(
        {"counted_product",
         fmt::format("the counters measured {:.6f} of the FLOPs of a 4096 x 4096 x 4096 matmul", *m.product)});
  if (!m.tensor_cores)
    report.notes.push_back(
        {"float32_off_tensor_cores", "float32 matmuls do not run on tensor cores; their FLOPs are not counted"});
}

void add_energy(Report& report, const validate::Metered& m) {
  if (!m.no_energy.empty()) report.notes.push_back({"no_energy", "no energy: " + m.no_energy});
  if (m.energy.empty()) return;
  Grid g{.key = "energy",
         .title = "energy, measured by the board's counter",
         .columns = {"phase", "J", "J per token", "W", "runs", "s"},
         .left = 1,
         .rows = {}};
  for (const validate::EnergyUse& e : m.energy) {
    g.rows.push_back({e.what, fmt::format("{:.4g}", e.joules_per_run()), fmt::format("{:.4g}", e.joules_per_token()),
                      fmt::format("{:.1f}", e.energy.watts()), fmt::format("{}", e.runs),
                      fmt::format("{:.3g}", e.energy.time.value)});
    g.json.push_back({{"what", e.what},
                      {"joules", e.joules_per_run()},
                      {"joules_per_token", e.joules_per_token()},
                      {"watts", e.energy.watts()},
                      {"runs", e.runs},
                      {"seconds", e.energy.time.value}});
  }
  report.grids.push_back(std::move(g));
}

/// Adds the total device memory and, if calibration measured the non-tensor overhead, its prediction.
void add_memory_in_all(Grid& g, const validate::MemoryUse& u) {
  const Bytes used = u.measured.used;
  json::Value row{{"part", u.part}, {"term", "in all"}, {"bytes", used.value}};
  std::vector<std::string> text{u.part, "total", "reported by the driver", "", exact_text(used.value)};
  if (u.overhead != Bytes()) {
    const double predicted = static_cast<double>(u.predicted().value), measured = static_cast<double>(used.value);
    const bool within = u.within();
    row["predicted_bytes"] = u.predicted().value;
    row["ratio"] = measured / predicted;
    row["tolerance"] = metered_tolerance;
    row["rounding_bytes"] = validate::rounding.value;
    row["within"] = within;
    text[3] = exact_text(u.predicted().value);
    text[2] = fmt::format("tensors, workspaces and {} of non-tensor memory; ratio {:.4f}, {}",
                          human_text(u.overhead.value, Unit::bytes), measured / predicted, verdict(within));
  }
  g.rows.push_back(text);
  g.json.push_back(row);
}

void add_memory(Report& report, const validate::Metered& m) {
  if (!m.no_memory.empty()) report.notes.push_back({"no_device_memory", "no total memory: " + m.no_memory});
  if (m.memory.empty()) return;
  Grid g{.key = "device_memory",
         .title = fmt::format("device memory, bytes; the tolerance of the total is {:.0f} %", 100 * metered_tolerance),
         .columns = {"part", "term", "contents", "predicted", "measured"},
         .left = 3,
         .rows = {}};
  for (const validate::MemoryUse& u : m.memory) {
    for (const model::UsedMemory& t : u.measured.terms) {
      const bool tensors = t.name == "arena";
      g.rows.push_back({u.part, t.name, t.note, tensors ? exact_text(u.tensors.value) : "", exact_text(t.bytes.value)});
      g.json.push_back({{"part", u.part}, {"term", t.name}, {"bytes", t.bytes.value}, {"what", t.note}});
      if (tensors) g.json.back()["predicted_bytes"] = u.tensors.value;
    }
    add_memory_in_all(g, u);
  }
  report.grids.push_back(std::move(g));
}

template <typename X, typename F>
void add_known(Section& s, const char* key, const char* label, const std::optional<X>& value, const F& text) {
  if (value) s.add(key, label, text(*value));
}

/// Adds a number to JSON, and to the text with its unit.
void add_number(Section& s, const std::string& key, const char* label, const std::optional<double>& value, double unit,
                const char* unit_name) {
  if (!value) return;
  s.add(key, "", *value);
  s.add("", label, fmt::format("{:.4g} {}", *value / unit, unit_name));
}

std::string joined(const std::vector<std::string>& all) {
  return all.empty() ? "no" : fmt::format("{}", fmt::join(all, ", "));
}

/// Adds the attention kernel that ran in one direction, and why a faster kernel did not run; adds no row if no kernel
/// ran.
void add_core(Section& s, const std::string& part, const std::string& direction,
              const std::optional<model::CoreRun>& run) {
  if (!run) return;
  const std::string key = part + "." + direction, obstacle(run->obstacle ? name(*run->obstacle) : "");
  s.add(key + ".core", part + ", " + direction, std::string(name(run->core)), Unit::none,
        obstacle.empty() ? "" : "not mma: " + obstacle);
  if (!obstacle.empty()) s.add(key + ".obstacle", "", obstacle);
}

Section machine_section(const validate::Metered& m) {
  const model::Board& b = m.board;
  Section s{"machine", "machine under load", {}};
  const auto same = [](const std::string& text) { return text; };
  add_known(s, "name", "device", b.name, same);
  add_known(s, "driver", "driver", b.driver, same);
  add_number(s, "sm_clock_hz", "clock", b.sm_clock, 1e6, "MHz");
  add_number(s, "sm_clock_max_hz", "maximum clock", b.sm_clock_max, 1e6, "MHz");
  add_number(s, "memory_clock_hz", "memory clock", b.memory_clock, 1e6, "MHz");
  add_number(s, "memory_clock_max_hz", "maximum memory clock", b.memory_clock_max, 1e6, "MHz");
  add_known(s, "held_back_by", "throttled", b.throttled, joined);
  add_number(s, "power_w", "power", b.watts, 1, "W");
  add_number(s, "power_limit_w", "power limit", b.watts_limit, 1, "W");
  add_number(s, "temperature_c", "temperature", b.celsius, 1, "C");
  if (b.reserved) s.add("reserved_bytes", "reserved memory", *b.reserved, "for driver and firmware");
  if (b.other_processes) s.add("other_processes", "other processes", Quantity(Count{*b.other_processes}));
  for (const model::Version& v : m.versions) s.add("versions." + v.of, v.of, v.version);
  return s;
}

}  // namespace

void add_instruments(Report& report, const validate::Metered& m) {
  report.sections.push_back(machine_section(m));
  add_counters(report, m);
  add_energy(report, m);
  add_memory(report, m);
}

void add_attention_cores(Report& report, const validate::CaseVerdict& v) {
  if (v.cores.empty()) return;
  Section s{"attention_core", "attention implementation", {}};
  for (const validate::CoreUse& u : v.cores) {
    add_core(s, u.part, "forward", u.cores.forward);
    add_core(s, u.part, "backward", u.cores.backward);
  }
  report.sections.push_back(std::move(s));
}

json::Value attention_core_json(const validate::CoreUse& u) {
  json::Value row;
  if (u.cores.forward) row["forward"] = core_json(*u.cores.forward);
  if (u.cores.backward) row["backward"] = core_json(*u.cores.backward);
  return row;
}

Section mfu_section(const validate::Case& c, double step_seconds, const std::string& board,
                    const HardwareCard& measured) {
  const Builtin* preset = find_meant(builtin_hardware(), board);
  const HardwareCard card = preset != nullptr ? load_hardware(preset->name) : measured;
  const FlopsPerSecond peak = card.cluster.device.peak(c.plan.precision);
  const double rate = static_cast<double>(mul(c.plan.global_batch, c.plan.seq)) / step_seconds;
  Section s{"utilization", "training step utilization, by convention", {}};
  s.add("tokens_per_s", "throughput", rate, Unit::tokens_per_second);
  s.add("peak_flops_per_s", "", peak.value);
  s.add("", "peak", fmt::format("{:.4g} TFLOP/s", peak.value / 1e12), Unit::none, card.title);
  for (const Convention& v : conventions(c.arch, c.plan))
    s.add(std::string(v.key), std::string(v.key), mfu(v.flops_per_token, rate, 1, peak), Unit::ratio,
          std::string(v.formula));
  return s;
}

}  // namespace llmcalc
