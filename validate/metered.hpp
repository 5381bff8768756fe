#pragma once
/// Readings of a device's own instruments for a case, next to predictions: executed FLOPs and bytes by its counters,
/// energy, and all of its memory.

#include <optional>

#include "validate/probe.hpp"
#include "validate/run.hpp"
#include "validate/tensor_count.hpp"

namespace llmcalc::validate {

bool near(double predicted, double measured);

struct PhaseCount {
  PhaseWork predicted;
  model::RangeCount counted;
  std::vector<TensorCount> parts = {};  ///< of its FLOPs
};

struct EnergyUse {
  std::string what;  ///< "training step", "prefill", "decode"
  Count tokens = 0;  ///< of one run
  int runs = 0;
  model::Energy energy;
  double joules_per_run() const { return energy.joules / runs; }
  double joules_per_token() const { return joules_per_run() / static_cast<double>(tokens); }
};

/// What drivers round up at most: the pool of tensors and the memory of recorded steps each grow by blocks of 32 MiB
/// (as assumed; not documented). Of a small model it is more than the tolerance.
inline constexpr Bytes rounding{Count{64} << 20};

struct MemoryUse {
  std::string part;  ///< "training", "inference"
  Bytes tensors;     ///< predicted, at the worst moment
  Bytes overhead;    ///< what calibration found outside tensors and workspaces; 0: not known
  model::DeviceMemory measured;
  /// Tensors, overhead and workspaces.
  Bytes predicted() const;
  /// Whether the measured memory is near it, or more by no more than what drivers round up.
  bool within() const;
};

/// The readings of one case; those that could not be taken have a sentence with the reason instead.
struct Metered {
  bool tensor_cores = false;  ///< of the format's products: float32's run elsewhere, where nothing counts them
  std::vector<PhaseCount> phases;
  std::optional<double> product;  ///< FLOPs counted of one large product over those that it has
  std::string no_counts, no_parts;
  std::vector<EnergyUse> energy;
  std::string no_energy;
  std::vector<MemoryUse> memory;
  std::string no_memory;
  model::Board board;  ///< at work
  std::vector<model::Version> versions;
};

struct Metering {
  Bytes overhead;      ///< as MemoryUse's
  double seconds = 2;  ///< that what is measured in joules runs at least
  MatmulSize product{4096, 4096, 4096};
};

/// Nothing, where the backend has no instruments. Counting slows: nothing here is timed.
std::optional<Metered> metered(const Case& c, const RunParts& parts, const Metering& how, const Where& where);

}  // namespace llmcalc::validate
