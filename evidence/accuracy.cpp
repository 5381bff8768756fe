#include "evidence/accuracy.hpp"
#include "evidence/names/device_name.hpp"

#include <fmt/format.h>

#include <cmath>

#include "evidence/case_check.hpp"
#include "evidence/profile/table_passes.hpp"
#include "evidence/trained_process.hpp"
#include "presets/estimators/training_estimator.hpp"

namespace llmcalc {

namespace {

/// Quantity name for a kind of memory peak.
std::string memory_key(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::allocated:
      return "peak_allocated_bytes";
    case MemoryKind::reserved:
      return "peak_reserved_bytes";
    case MemoryKind::process:
      return "peak_process_bytes";
    case MemoryKind::peak:
      return "peak_bytes";
  }
  return "peak_bytes";
}

std::vector<PredictedPart> parts_of(const ProcessMemory& m) {
  std::vector<PredictedPart> all{{"tensors", static_cast<double>(m.tensors.value)}};
  for (const ProcessTerm& t : memory_terms)
    if (const std::optional<Bytes>& bytes = m.*t.bytes)
      all.push_back({std::string(t.name), static_cast<double>(bytes->value)});
  return all;
}

Prediction divided(Prediction p, double unit) {
  p.value /= unit;
  if (p.low) *p.low /= unit;
  if (p.high) *p.high /= unit;
  return p;
}

/// Reason that a device has no rate for a format: it does not support matmuls in that format. Empty if it has a rate.
std::string no_rate(const HardwareCard& hardware, DType precision) {
  if (hardware.cluster.device.peak(precision).value > 0) return "";
  return fmt::format("{} does not support matmuls in {}", hardware.name, precision.name());
}

std::string device_told(const OperatorTables& t) { return t.origin.device.empty() ? t.device_folder : t.origin.device; }

constexpr const char* unmeasured =
    "rates from devices of the same kind: the fit has no row measured on this device, so the interval is wider";

constexpr const char* measured_too_seldom =
    "rates from other devices: the fit has too few rows measured on this kind of device, so the interval is wider";

class Predictor {
 public:
  Predictor(Accuracy& out, const ReplayBasis& basis) : out_(out), basis_(basis) {}

  void add(const TrainingCase& c) {
    if (out_.kind == AccuracyKind::memory && !c.states_memory) return;
    if (!c.skip.empty()) return skip(c.head.id, c.skip);
    if (const std::string why = no_rate(c.on.hardware, c.plan.precision); !why.empty()) return skip(c.head.id, why);
    if (out_.kind != AccuracyKind::memory && (out_.kind || c.step || !c.states_memory))
      guarded(c.head.id, "", [&] { add_step(c); });
    if (out_.kind != AccuracyKind::training && c.states_memory) guarded(c.head.id, "", [&] { add_memories(c); });
  }

  void add(const RunCase& run) {
    RunCase c = basis_.hardware ? on_device(run, *basis_.hardware) : run;
    if (!c.skip.empty()) return skip(c.head.id, c.skip);
    const ReplayBasis basis = basis_of(c);
    guarded(c.head.id, "", [&] { add_run(c, basis); });
  }

  void add(const InferenceCase& c) {
    if (!c.skip.empty()) return skip(c.head.id, c.skip);
    if (const std::string why = no_rate(c.on.hardware, c.plan.precision); !why.empty()) return skip(c.head.id, why);
    const PredictedCase predicted(c);
    for (const Figure& f : c.figures)
      guarded(c.head.id, f.key + ": ", [&] {
        check_figure(c, f);
        add_figure(c, f, predicted);
      });
  }

 private:
  void skip(const std::string& id, std::string reason) { out_.skipped.push_back({id, std::move(reason)}); }

  void guarded(const std::string& id, const std::string& what, const std::function<void()>& predict) {
    try {
      predict();
    } catch (const Overflow&) {
      skip(id, what + "a product of its numbers exceeds 2^63");
    }
  }

  /// Basis for replaying a run. If all tables are for other devices, the run is replayed at datasheet rates, which is
  /// noted as an assumption.
  ReplayBasis basis_of(RunCase& c) const {
    if (basis_.tables.empty() || basis_.hardware) return basis_;
    ReplayBasis own{.tables = tables_of_device(c.on.hardware, basis_.tables, devices_)};
    if (!own.tables.empty()) return own;
    c.assumed.push_back(fmt::format("the datasheet of {}, without --tables, which were measured on {}",
                                    c.on.hardware.title, device_told(basis_.tables[0])));
    c.input_assumed = true;
    return own;
  }

  void add_step(const TrainingCase& c) {
    if (!c.step) return skip(c.head.id, c.no_step);
    check_step(c);
    PredictedRow r{.id = c.head.id, .of = subject_of(c), .quantity = std::string(step_quantity)};
    const PredictedStep step = predicted_step(c);
    r.predicted = step.estimate;
    r.bound = step.bound;
    r.measured = c.step->value;
    r.measured_as = c.measured_as;
    r.assumed = c.assumed;
    if (!training_estimator().measured(c.on.hardware.name))
      r.assumed.push_back(unmeasured);
    else if (silicon_of(c.on.hardware) == Silicon::other)
      r.assumed.push_back(measured_too_seldom);
    keep(std::move(r));
  }

  void add_memories(const TrainingCase& c) {
    if (!c.no_memory.empty()) return skip(c.head.id, c.no_memory);
    check_memories(c);
    for (const MeasuredMemory& m : c.memory) {
      PredictedRow r{.id = c.head.id, .of = subject_of(c), .quantity = memory_key(m.kind)};
      const ProcessMemory held = process_memory(c, m, memory_estimate().parameters);
      r.predicted = predicted_memory(held, m.kind);
      r.parts = parts_of(held);
      r.measured = m.bytes;
      r.assumed = c.assumed;
      keep(std::move(r));
    }
  }

  void add_figure(const InferenceCase& c, const Figure& f, const PredictedCase& of_row) {
    if (f.value <= 0) return skip(c.head.id, fmt::format("{}: {}", f.key, f.doubt));
    const auto predicted = of_row.figure(f);
    if (!predicted) return skip(c.head.id, fmt::format("{}: no prediction is available", f.key));
    PredictedRow r{.id = c.head.id, .of = subject_of(c, f), .quantity = f.key};
    r.predicted = divided(*predicted, f.unit);
    if (const auto bound = of_row.bound(f)) r.bound = *bound / f.unit;
    r.measured = f.value / f.unit;
    r.repeats = f.repeats;
    r.doubt = f.doubt;
    r.assumed = c.assumed;
    if (!inference_estimator().measured(c.on.hardware.name)) r.assumed.push_back(unmeasured);
    keep(std::move(r));
  }

  /// Adds a row, or skips it if its relative error is undefined because of a zero or infinite value.
  void keep(PredictedRow r) {
    if (std::isfinite(r.predicted.value) && r.predicted.value > 0 && std::isfinite(r.measured))
      return out_.rows.push_back(std::move(r));
    skip(r.id, fmt::format("{}: predicted {:g}, measured {:g}: no relative error exists", r.quantity, r.predicted.value,
                           r.measured));
  }

  /// Adds each figure predicted for a run, paired with its recorded value. Both lists have the same keys in the same
  /// order.
  void add_run(const RunCase& c, const ReplayBasis& basis) {
    const Replay served = replay(c, passes_of(c, basis));
    const std::vector<RunFigure> predicted = run_figures(served.times), recorded = run_figures(recorded_times(c));
    for (std::size_t i = 0; i < predicted.size(); ++i) {
      PredictedRow r{.id = c.head.id, .of = subject_of(c), .quantity = predicted[i].key};
      r.predicted = {predicted[i].value};
      r.measured = recorded[i].value;
      r.assumed = c.assumed;
      keep(std::move(r));
    }
    out_.runs.push_back({c.head.id, served.rates});
  }

  Accuracy& out_;
  const ReplayBasis& basis_;
  Devices devices_;
};

}  // namespace

Accuracy accuracy(const MeasurementFile& file, std::optional<AccuracyKind> kind, const AccuracyWatch& watch,
                  const ReplayBasis& basis) {
  Accuracy out;
  out.kind = kind;
  Predictor predictor(out, basis);
  const auto asks = [&](MeasurementKind rows) { return !kind || rows_for(*kind) == rows; };
  Count all = 0, done = 0;
  const auto each = [&](const auto& visit) {
    if (asks(MeasurementKind::training)) visit(file.training);
    if (asks(MeasurementKind::inference)) visit(file.inference);
    if (asks(MeasurementKind::serving)) visit(file.serving);
  };
  each([&](const auto& rows) { all += static_cast<Count>(rows.size()); });
  each([&](const auto& rows) {
    for (const auto& row : rows) {
      if (watch) watch(done++, all);
      predictor.add(row);
    }
  });
  return out;
}

}  // namespace llmcalc
