#pragma once
/// Repeated work that a backend may replay from a recording, and memory for its results.

#include "model/backend.hpp"
#include "model/pass/pass.hpp"

namespace llmcalc::model {

struct OptimizerSettings {
  double rate = 1e-3, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, decay = 0.1, momentum = 0.9;
  double clip = 1.0;  ///< maximum norm of the whole gradient; 0: no clipping
  bool operator==(const OptimizerSettings&) const = default;
};

/// Work that a backend may replay from a recording. A replay reports the arena peak of a normal run.
class Replayed {
 public:
  void run(Backend& backend, Arena& arena, const Moving& moving, const std::function<void()>& f) {
    const Bytes before = arena.live();
    backend.replay(recording_, moving, [&] {
      const Bytes peak = arena.peak();
      arena.reset_peak();
      f();
      rise_ = arena.peak() - before;
      arena.raise_peak(peak);
    });
    arena.raise_peak(before + rise_);
  }
  /// See Recording::how. Empty if the backend does not record, or before the first run.
  std::string how() const { return recording_ != nullptr ? recording_->how() : ""; }

 private:
  std::unique_ptr<Recording> recording_;
  Bytes rise_;  ///< growth of the arena's live bytes up to the peak of a run
};

/// Backend memory that the arena does not count.
class Apart {
 public:
  Apart(Backend& backend, Bytes bytes) : backend_(backend), bytes_(bytes), data_(backend.allocate(bytes)) {}
  ~Apart() { backend_.release(data_, bytes_); }
  Apart(const Apart&) = delete;
  Apart& operator=(const Apart&) = delete;
  void* data() const { return data_; }
  Bytes bytes() const { return bytes_; }

 private:
  Backend& backend_;
  Bytes bytes_;
  void* data_;
};

/// Results of a training step: the loss of each micro-batch, the squared norm of each parameter's gradient, the total
/// norm and the clipping factor.
class StepReport {
 public:
  StepReport(Backend& backend, std::size_t batches, std::size_t parameters)
      : backend_(backend),
        batches_(batches),
        parameters_(parameters),
        memory_(backend, Bytes(static_cast<Count>((batches + parameters + 3) * sizeof(double)))) {}

  double* loss(std::size_t batch) const { return numbers() + batch; }
  double* square(std::size_t parameter) const { return numbers() + batches_ + parameter; }
  double* norm() const { return square(parameters_); }
  double* factor() const { return norm() + 1; }
  double* last_loss() const { return norm() + 2; }  ///< written by every micro-batch, then copied to loss(batch)
  std::span<const double> losses() const { return {loss(0), batches_}; }
  std::span<const double> squares() const { return {square(0), parameters_}; }

  struct Numbers {
    std::vector<double> losses, squares;
    double norm = 0;
  };
  /// Waits for the results and reads them.
  Numbers read() const {
    std::vector<double> all(batches_ + parameters_ + 3);
    backend_.download(all.data(), memory_.data(), memory_.bytes());
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(batches_);
    return {{all.begin(), middle}, {middle, all.end() - 3}, all[batches_ + parameters_]};
  }

 private:
  double* numbers() const { return static_cast<double*>(memory_.data()); }
  Backend& backend_;
  std::size_t batches_, parameters_;
  Apart memory_;
};

/// A training step, and the settings with which it was recorded.
struct TrainingStep {
  Settings settings;  ///< settings, with `steps` set to 0
  OptimizerSettings optimizer;
  std::weak_ptr<Buffer> gradient;  ///< gradient of the first parameter
  StepReport report;
  Replayed first, more, update;  ///< the first micro-batch overwrites gradients, later ones add to them
};

/// A step that appends one token to every sequence.
struct DecodingStep {
  Settings settings;
  Count sequences = 0;
  Apart logits;
  Replayed step;
};

}  // namespace llmcalc::model
