#include "validate/metered.hpp"

#include <chrono>
#include <cmath>
#include <stdexcept>

#include "calc/memory.hpp"
#include "validate/case_model.hpp"
#include "validate/measure.hpp"

namespace llmcalc::validate {
namespace {

using model::Instruments;
using Wall = std::chrono::steady_clock;

/// Models for training and for generation. Each is built once and run for every measurement.
struct Training : CaseModel {
  std::vector<model::Batch> batches;
  Training(const Case& c, const Where& where)
      : CaseModel(c, number_of(c.plan.precision), where, false), batches(random_step(c.arch, c.plan, 1)) {
    t.weights().make_trainable(c.plan);
  }
  void step() { t.train(batches, {.clip = 0}); }
  /// Runs a step operator by operator rather than from a graph, which would use separate memory.
  void plain_step() {
    t.weights().zero_gradients();
    for (const model::Batch& b : batches) t.gradients(b, 1, nullptr);
    t.update({.clip = 0});
  }
};

struct GenerationCase : CaseModel {
  Plan plan;
  Count context;
  std::vector<std::int64_t> ids;
  std::optional<model::Cache> cache;
  GenerationCase(const Case& c, const Where& where)
      : CaseModel(c, number_of(c.plan.precision), where, true),
        plan(c.plan),
        context(add(c.plan.prompt, c.plan.generate)),
        ids(random_batch(c.arch, mul(c.plan.batch, context), 1).ids),
        cache(cache_of(t, context)) {}
  /// Uses the same ids at every position.
  void pass(Count queries, Count past, model::Trace* trace = nullptr) {
    t.logits(std::span(ids).first(static_cast<std::size_t>(mul(plan.batch, queries))), plan.batch, past,
             cache ? &*cache : nullptr, trace);
  }
  void prefill() { pass(plan.prompt, 0); }
  /// Runs the token at this position, counted from 0.
  void token(Count place, model::Trace* trace = nullptr) {
    plan.kv_cache ? pass(1, place, trace) : pass(place + 1, 0, trace);
  }
  void decode() { token(context - 1); }
  void all() {
    prefill();
    for (Count i = plan.prompt; i < context; ++i) token(i);
  }
};

/// Memory in use during a second run. The first run also allocates memory to search for the fastest matmul
/// algorithms.
template <typename Run>
MemoryUse memory_of(Instruments& device, model::Arena& arena, const MemoryUse& predicted, const Run& run) {
  run();
  device.kernels_loaded();
  device.reset_memory();
  arena.reset_peak();
  run();
  MemoryUse m = predicted;
  m.measured = device.memory(arena.peak());
  return m;
}

template <typename Run>
void add_energy(Metered& m, Instruments& device, const std::string& what, Count tokens, double seconds,
                const Run& run) {
  constexpr int fewest = 3;
  run();
  device.start_energy();
  int runs = 0;
  for (const auto start = Wall::now();
       runs < fewest || std::chrono::duration<double>(Wall::now() - start).count() < seconds; ++runs)
    run();
  m.board = device.board();
  if (const auto energy = device.stop_energy())
    m.energy.push_back({what, tokens, runs, *energy});
  else
    m.no_energy = "not reported by this board";
}

/// Collects hardware counters over run() in one session. The counter ranges correspond to `phases`, in order.
template <typename Run>
void add_counts(Metered& m, Instruments& device, const std::vector<PhaseWork>& phases, const Run& run) {
  if (!m.no_counts.empty()) return;
  try {
    device.start_counting();
    run();
    const std::vector<model::RangeCount> counted = device.stop_counting();
    for (const PhaseWork& p : phases)
      for (const model::RangeCount& c : counted)
        if (c.range == p.name) m.phases.push_back({p, c});
  } catch (const std::runtime_error& e) {
    m.no_counts = e.what();
  }
}

/// Repeats the counted phases with run(trace) to break down their FLOPs.
template <typename Run>
void add_parts(Metered& m, model::Backend& backend, AttentionImpl how, std::size_t first, const Run& run) {
  if (!m.tensor_cores || !m.no_counts.empty()) return;
  try {
    const std::vector<ApartCount> apart = counted_apart(backend, run);
    for (std::size_t i = first; i < m.phases.size(); ++i)
      m.phases[i].parts =
          tensor_counts(*backend.instruments(), m.phases[i].predicted, m.phases[i].counted.tensor_flops, apart, how);
  } catch (const std::runtime_error& e) {
    m.no_parts = e.what();
  }
}

template <typename Run>
void range(Instruments& device, const char* name, const Run& run) {
  device.begin(name);
  run();
  device.end();
}

void add_product(Metered& m, model::Backend& backend, const MatmulSize& size) {
  if (!m.tensor_cores || !m.no_counts.empty()) return;
  try {
    m.product = counted_share(backend, size);
  } catch (const std::runtime_error& e) {
    m.no_counts = e.what();
  }
}

void meter_training(Metered& m, const Case& c, const Metering& how, const Where& where) {
  Training run(c, where);
  Instruments& device = *run.backend->instruments();
  const auto step = [&] { run.step(); };
  m.memory.push_back(memory_of(device, run.t.arena(),
                               {"training", training_memory(c.arch, c.plan).peak, how.overhead, {}},
                               [&] { run.plain_step(); }));
  const Count tokens = static_cast<Count>(run.batches.size() * run.batches[0].ids.size());
  add_energy(m, device, "training step", tokens, how.seconds, step);
  m.no_counts = device.counters_missing();
  add_product(m, *run.backend, how.product);
  add_counts(m, device, training_phases(c.arch, c.plan), [&] {
    run.t.weights().zero_gradients();
    device.begin("forward");
    run.t.gradients(run.batches[0], 1, nullptr, [&] {
      device.end();
      device.begin("backward");
    });
    device.end();
    range(device, "optimizer", [&] { run.t.update({.clip = 0}); });
  });
  add_parts(m, *run.backend, c.plan.attention, 0, [&](model::Trace* trace) {
    run.t.weights().zero_gradients();
    run.t.gradients(run.batches[0], 1, trace);
  });
}

void meter_inference(Metered& m, const Case& c, const Metering& how, const Where& where) {
  GenerationCase run(c, where);
  Instruments& device = *run.backend->instruments();
  m.memory.push_back(memory_of(device, run.t.arena(),
                               {"inference", inference_memory(c.arch, c.plan).peak, how.overhead, {}},
                               [&] { run.all(); }));
  const std::size_t first = m.phases.size();
  const auto prefill = [&] { run.prefill(); };
  const auto decode = [&] { run.decode(); };
  add_energy(m, device, "prefill", mul(c.plan.batch, c.plan.prompt), how.seconds, prefill);
  add_energy(m, device, "decode", c.plan.batch, how.seconds, decode);
  if (m.no_counts.empty()) m.no_counts = device.counters_missing();
  if (!m.product) add_product(m, *run.backend, how.product);
  add_counts(m, device, inference_phases(c.arch, c.plan), [&] {
    range(device, "prefill", prefill);
    range(device, "decode", decode);
  });
  add_parts(m, *run.backend, c.plan.attention, first, [&](model::Trace* trace) {
    run.pass(c.plan.prompt, 0, trace);
    run.token(run.context - 1, trace);
  });
}

}  // namespace

bool near(double predicted, double measured) {
  return std::fabs(measured - predicted) <= metered_tolerance * std::fabs(predicted);
}

Bytes MemoryUse::predicted() const {
  Bytes all = tensors + overhead;
  for (const model::UsedMemory& w : measured.workspaces) all += w.bytes;
  return all;
}

bool MemoryUse::within() const {
  const Bytes more = measured.used - predicted();
  return near(static_cast<double>(predicted().value), static_cast<double>(measured.used.value)) ||
         (more >= Bytes() && more <= rounding);
}

std::optional<Metered> metered(const Case& c, const RunParts& parts, const Metering& how, const Where& where) {
  const model::Number number = number_of(c.plan.precision);
  const std::unique_ptr<model::Backend> backend = where.make(number);
  Instruments* const device = backend->instruments();
  if (device == nullptr) return std::nullopt;
  Metered m;
  m.tensor_cores = number == model::Number::bf16;
  m.versions = device->versions();
  if (parts.training) meter_training(m, as_trained(c), how, where);
  if (parts.inference) meter_inference(m, c, how, where);
  if (const auto others = m.board.other_processes; others && *others > 0) {
    m.memory.clear();
    m.no_memory = std::to_string(*others) +
                  " other processes use the device, which reports only the total memory of all processes";
  }
  return m;
}

}  // namespace llmcalc::validate
