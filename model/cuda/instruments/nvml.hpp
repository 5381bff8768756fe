#pragma once
/// Readings of a board by the driver's management library (NVML).

#include <chrono>

#include "model/cuda/shared_library.hpp"
#include "model/instruments.hpp"

namespace llmcalc::model::cuda {

class Nvml {
 public:
  /// Opens the board at this PCI address, "0000:1b:00.0".
  explicit Nvml(const std::string& pci, const std::string& library = "libnvidia-ml.so.1");
  /// Why nothing can be read, in a sentence; empty: what follows asks the board.
  const std::string& missing() const { return missing_; }

  Board board() const;
  std::optional<double> watts() const;
  std::optional<double> joules() const;  ///< since the driver was loaded
  std::optional<Bytes> used() const;     ///< of the board's memory, by every process

 private:
  struct Memory;
  /// function(device, &value) or function(device, which, &value): the value, if there is such a function and it works.
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

/// Energy that a board takes, by its own counter.
class EnergyMeter {
 public:
  explicit EnergyMeter(const Nvml& board) : board_(board) {}
  void start();
  /// Since start; absent: the board has no such counter.
  std::optional<Energy> stop() const;

 private:
  const Nvml& board_;
  std::chrono::steady_clock::time_point begin_;
  std::optional<double> joules_;
};

}  // namespace llmcalc::model::cuda
