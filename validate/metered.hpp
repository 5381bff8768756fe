#pragma once
/// Counter and sensor readings of a device for a case, next to the predictions: executed FLOPs and bytes, energy, and
/// all memory in use.

#include <optional>

#include "validate/probe.hpp"
#include "validate/run.hpp"
#include "validate/tensor_count.hpp"

namespace llmcalc::validate {

bool near(double predicted, double measured);

struct PhaseCount {
  PhaseWork predicted;
  model::RangeCount counted;
  std::vector<TensorCount> parts = {};  ///< breakdown of the phase's FLOPs
};

struct EnergyUse {
  std::string what;  ///< "training step", "prefill", "decode"
  Count tokens = 0;  ///< number of tokens in one run
  int runs = 0;
  model::Energy energy;
  double joules_per_run() const { return energy.joules / runs; }
  double joules_per_token() const { return joules_per_run() / static_cast<double>(tokens); }
};

/// Upper bound on rounding by drivers: the tensor pool and the memory of recorded steps each grow in blocks of 32 MiB
/// (assumed; not documented). For a small model this exceeds the tolerance.
inline constexpr Bytes rounding{Count{64} << 20};

struct MemoryUse {
  std::string part;  ///< "training", "inference"
  Bytes tensors;     ///< predicted peak of tensor bytes
  Bytes overhead;    ///< measured by calibration, excluding tensors and workspaces; 0: unknown
  model::DeviceMemory measured;
  /// Predicted total of tensors, overhead and workspaces.
  Bytes predicted() const;
  /// Whether the measured memory is near the prediction, or exceeds it by at most the drivers' rounding.
  bool within() const;
};

/// The readings of one case. A missing reading is replaced by a sentence that gives the reason.
struct Metered {
  bool tensor_cores = false;  ///< whether matmuls use tensor cores; in float32 they do not, and are not counted
  std::vector<PhaseCount> phases;
  std::optional<double> product;  ///< counted FLOPs of one large matmul, relative to its actual FLOPs
  std::string no_counts, no_parts;
  std::vector<EnergyUse> energy;
  std::string no_energy;
  std::vector<MemoryUse> memory;
  std::string no_memory;
  model::Board board;  ///< readings of the board under load
  std::vector<model::Version> versions;
};

struct Metering {
  Bytes overhead;      ///< overhead, as in MemoryUse
  double seconds = 2;  ///< minimum duration of energy measurements
  MatmulSize product{4096, 4096, 4096};
};

/// Returns the readings; absent if the backend has no instruments. Counting slows execution, so no times are measured.
std::optional<Metered> metered(const Case& c, const RunParts& parts, const Metering& how, const Where& where);

}  // namespace llmcalc::validate
