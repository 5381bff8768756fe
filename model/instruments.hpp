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

/// Hardware counts of a range: executed work, padded and masked tiles included.
struct RangeCount {
  std::string range;                    ///< "forward"
  double tensor_flops = 0;              ///< of the tensor cores, in the backend's format; a multiply-add is 2
  std::optional<double> read, written;  ///< bytes from and to DRAM, where the chip counts them
  Seconds time;                         ///< while counting, which slows the run: no measure of speed
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

/// A device's memory: the terms add up to `used`; the last is the unexplained rest.
struct DeviceMemory {
  Bytes used;                          ///< by every process, as the driver says
  Bytes overhead;                      ///< used outside the pool of tensors: context, libraries, kernels
  std::vector<UsedMemory> workspaces;  ///< in the pool, for as long as the device is open
  std::vector<UsedMemory> terms;       ///< all of it; workspaces once more
};

/// The board's current state. Clocks in Hz, power in W, temperature in degrees Celsius.
struct Board {
  std::optional<std::string> name, driver;
  std::optional<double> sm_clock, sm_clock_max, memory_clock, memory_clock_max;
  std::optional<double> watts, watts_limit, celsius;
  std::optional<std::vector<std::string>> throttled;  ///< why the clocks are below their greatest: "power cap"
  std::optional<Bytes> reserved;                      ///< by driver and firmware, in nobody's reach
  std::optional<int> other_processes;                 ///< that compute on it
};

/// One run of an operator in bf16.
struct TensorOp {
  Shape shape;
  bool backward = false;
  Flops flops = {};  ///< 2 per multiply-add of its sizes
  AttentionImpl attention = AttentionImpl::flash;
  std::optional<AttentionCore> core = {};  ///< that attention runs in; absent: not known
};

enum class WorkKind : std::uint8_t {
  products,  ///< of sizes that fill tiles, or of so few rows that they run outside the tensor cores: known exactly
  padded,    ///< products of other sizes, of which whole tiles are executed, and experts', whose rows data decides
  attention  ///< its core
};

/// The work of tensor cores in one run of an operator.
struct TensorWork {
  WorkKind kind = WorkKind::products;
  double flops = 0;  ///< the least, where products are padded
};

struct Version {
  std::string of, version;  ///< "cuBLASLt", "13.1.0"
};

class Instruments {
 public:
  virtual ~Instruments() = default;

  /// Why nothing can be counted, in a sentence; empty: it can.
  virtual std::string counters_missing() = 0;
  /// One session: up to 64 ranges one after the other, everything in them waited for by the caller. Counting slows what
  /// runs. Throws std::runtime_error.
  virtual void start_counting() = 0;
  virtual void begin(const std::string& range) = 0;
  virtual void end() = 0;
  virtual std::vector<RangeCount> stop_counting() = 0;

  /// The tensor-core work of an operator; none if it has no FLOPs. The kind follows from its sizes and direction alone.
  virtual std::optional<TensorWork> tensor_work(const TensorOp& op) const = 0;

  virtual void start_energy() = 0;
  /// Energy since start_energy by the board's counter; absent: it has none.
  virtual std::optional<Energy> stop_energy() = 0;

  /// Frees unused memory of the tensor pool and of recorded steps, and resets the peak.
  virtual void reset_memory() = 0;
  /// Call when everything has run once: memory added outside the pool since the device was opened is its kernels'.
  virtual void kernels_loaded() = 0;
  /// `arena`: the most bytes that tensors took since reset_memory.
  virtual DeviceMemory memory(Bytes arena) = 0;

  virtual Board board() = 0;
  virtual std::vector<Version> versions() = 0;
};

}  // namespace llmcalc::model
