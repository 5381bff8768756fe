#pragma once
/// Measurements of a device during a run: counted work, energy, memory, clocks. Unreadable values are absent, never 0.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calc/operator/op.hpp"
#include "calc/plan.hpp"
#include "model/layers/attention_core.hpp"

namespace llmcalc::model {

/// Hardware counts of a range: executed work, including padded and masked tiles.
struct RangeCount {
  std::string range;                    ///< name of the range, such as "forward"
  double tensor_flops = 0;              ///< FLOPs of the tensor cores, in the backend's format; a multiply-add counts 2
  std::optional<double> read, written;  ///< bytes read from and written to DRAM, if the chip counts them
  Seconds time;                         ///< time while counting, which slows the run; not a speed measurement
};

struct Energy {
  double joules = 0;
  Seconds time;
  double watts() const { return joules / time.value; }
};

struct UsedMemory {
  std::string name;
  Bytes bytes;
  std::string note;
};

/// A device's memory. The terms add up to `used`; the last one is the unexplained remainder.
struct DeviceMemory {
  Bytes used;                          ///< bytes used by all processes, as reported by the driver
  Bytes overhead;                      ///< bytes outside the tensor pool: context, libraries, kernels
  std::vector<UsedMemory> workspaces;  ///< workspaces in the pool while the device is open
  std::vector<UsedMemory> terms;       ///< full breakdown, including workspaces
};

/// The board's current state. Clocks in Hz, power in W, temperature in degrees Celsius.
struct Board {
  std::optional<std::string> name, driver;
  std::optional<double> sm_clock, sm_clock_max, memory_clock, memory_clock_max;
  std::optional<double> watts, watts_limit, celsius;
  std::optional<std::vector<std::string>> throttled;  ///< reasons for clocks below the maximum, such as "power cap"
  std::optional<Bytes> reserved;                      ///< memory reserved by driver and firmware; unavailable to
                                                      ///< programs
  std::optional<int> other_processes;                 ///< number of other processes computing on the board
};

/// One run of an operator in bf16.
struct TensorOp {
  Shape shape;
  bool backward = false;
  Flops flops = {};  ///< FLOPs, 2 per multiply-add of its shape
  AttentionImpl attention = AttentionImpl::flash;
  std::optional<AttentionCore> core = {};  ///< the attention core that ran; absent: unknown
};

enum class WorkKind : std::uint8_t {
  products,  ///< matmuls whose work is known exactly: sizes that fill tiles, or too few rows for tensor cores
  padded,    ///< matmuls whose work depends on padding or data: other sizes, executed in whole tiles, and matmuls of
             ///< experts
  attention  ///< the attention core
};

/// Tensor-core work in one run of an operator.
struct TensorWork {
  WorkKind kind = WorkKind::products;
  double flops = 0;  ///< FLOPs; a lower bound for padded matmuls
};

struct Version {
  std::string of, version;  ///< component and version, such as "cuBLASLt" and "13.1.0"
};

class Instruments {
 public:
  virtual ~Instruments() = default;

  /// Why counting is impossible, as a sentence; empty if it is possible.
  virtual std::string counters_missing() = 0;
  /// Starts a session of up to 64 consecutive ranges. The caller waits for all work within a range before it ends.
  /// Counting slows the run. Throws std::runtime_error on failure.
  virtual void start_counting() = 0;
  virtual void begin(const std::string& range) = 0;
  virtual void end() = 0;
  virtual std::vector<RangeCount> stop_counting() = 0;

  /// Tensor-core work of an operator; absent if it has no FLOPs. The kind depends only on its shape and direction.
  virtual std::optional<TensorWork> tensor_work(const TensorOp& op) const = 0;

  virtual void start_energy() = 0;
  /// Energy since start_energy from the board's counter; absent without a counter.
  virtual std::optional<Energy> stop_energy() = 0;

  /// Frees unused memory of the tensor pool and of recorded steps, and resets the peak.
  virtual void reset_memory() = 0;
  /// To be called after everything has run once: memory added outside the pool since the device was opened is then
  /// attributed to kernels.
  virtual void kernels_loaded() = 0;
  /// `arena`: peak bytes of tensors since reset_memory.
  virtual DeviceMemory memory(Bytes arena) = 0;

  virtual Board board() = 0;
  virtual std::vector<Version> versions() = 0;
};

}  // namespace llmcalc::model
