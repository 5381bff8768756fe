#pragma once
/// Readings of a board through the driver's management library (NVML).

#include <chrono>

#include "model/cuda/shared_library.hpp"
#include "model/instruments.hpp"

namespace llmcalc::model::cuda {

class Nvml {
 public:
  /// Opens the board at this PCI address, such as "0000:1b:00.0".
  explicit Nvml(const std::string& pci, const std::string& library = "libnvidia-ml.so.1");
  /// Why readings are impossible, in a sentence; empty if the board can be queried.
  const std::string& missing() const { return missing_; }

  Board board() const;
  std::optional<double> watts() const;
  std::optional<double> joules() const;  ///< energy since the driver was loaded
  std::optional<Bytes> used() const;     ///< board memory used by all processes

 private:
  struct Memory;
  /// function(device, &value) or function(device, which, &value): the value; absent if the function does not exist or
  /// fails.
  template <typename T>
  std::optional<T> ask(const char* function) const;
  template <typename T>
  std::optional<T> ask(const char* function, int which) const;
  std::optional<double> clock(const char* function, int which) const;
  std::optional<std::string> text(const char* function) const;
  std::optional<std::string> driver() const;
  std::optional<std::vector<std::string>> throttled() const;
  std::optional<Memory> memory() const;
  std::optional<int> other_processes() const;

  SharedLibrary library_;
  void* device_ = nullptr;
  std::string missing_;
};

/// Energy that a board uses, from the board's counter.
class EnergyMeter {
 public:
  explicit EnergyMeter(const Nvml& board) : board_(board) {}
  void start();
  /// Energy used since start(); absent if the board has no such counter.
  std::optional<Energy> stop() const;

 private:
  const Nvml& board_;
  std::chrono::steady_clock::time_point begin_;
  std::optional<double> joules_;
};

}  // namespace llmcalc::model::cuda
