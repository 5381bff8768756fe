#pragma once
/// What the user asks: a model, perhaps hardware, a plan, and what a run costs.

#include <optional>

#include "calc/layout.hpp"
#include "calc/plan.hpp"
#include "presets/hardware_file.hpp"
#include "presets/model_card.hpp"

namespace llmcalc {

/// About a whole training run; what is absent makes what depends on it absent.
struct RunInputs {
  std::optional<Count> tokens;
  std::optional<double> measured_tokens_per_s;  ///< of all GPUs together
  std::optional<double> price, watts, co2;      ///< USD per device-hour, W per device, kg per kWh
  double pue = 1;
};

/// Which of training and inference the memory command shows.
enum class Parts : std::uint8_t { both, training, inference };

struct Request {
  ModelCard model;
  std::optional<HardwareCard> hardware;
  Plan plan;
  Layout layout;
  RunInputs run;
  Parts parts = Parts::both;
  bool ops = false;
  Count usual_seq = 8192;                ///< tokens per sequence where neither user nor context says fewer
  std::optional<DType> usual_precision;  ///< else what the hardware multiplies in
};

/// Measured bytes that a process takes of a device before any tensor; 0 where they are not known.
Bytes process_bytes(const Request& r);

/// Which values the user gave.
struct Given {
  bool seq = false, global_batch = false, prompt = false;
  std::optional<Count> gpus;
  bool precision = false, weight_precision = false, kv_precision = false, state_precision = false;
};
/// Fills in the defaults that depend on model and hardware: seq, global_batch, precisions, replicas.
void settle(Request& r, const Given& given);

/// Which parts of the plan a command uses.
struct Uses {
  bool training = false, inference = false, time = false;
};
/// Throws InputError where the plan cannot be: ranks that do not divide the heads, sequences longer than a learned
/// position table, a precision without a peak on the hardware, ranks without a link.
void check(const Request& r, const Uses& uses);

}  // namespace llmcalc
