#pragma once
/// The user's request: a model, perhaps hardware, a plan, and the costs of a run.

#include <optional>
#include <string_view>
#include <vector>

#include "ask/request/serving_inputs.hpp"
#include "ask/request/target.hpp"
#include "ask/request/weight_precision.hpp"
#include "calc/layout.hpp"
#include "calc/plan.hpp"
#include "presets/hardware_file.hpp"
#include "presets/model_card.hpp"
#include "presets/software_file.hpp"

namespace llmcalc {

/// About a whole training run; what is absent makes what depends on it absent.
struct RunInputs {
  std::optional<Count> tokens;
  std::optional<double> measured_tokens_per_s;  ///< of all GPUs together
  double measured_scale = 1;  ///< of another plan on the machine: estimated over measured throughput; 1: none measured
  std::optional<double> price, watts, co2;  ///< USD per device-hour, W per device, kg per kWh
  double pue = 1;
  std::optional<double> mfu;              ///< reached, instead of the predicted one
  std::optional<double> days;             ///< in which the run should end
  std::optional<double> mtbf;             ///< hours between failures of one GPU
  std::optional<BytesPerSecond> storage;  ///< rate at which all GPUs together write a checkpoint
  double restart = 0;                     ///< seconds from a failure until work goes on
};

/// The parts of an answer, as bits. A question has some of these parts and an option concerns some: it is taken
/// where they meet, and refused elsewhere.
using Parts = unsigned;
namespace part {
inline constexpr Parts training = 1;      ///< a training micro-batch: what it holds
inline constexpr Parts step = 2;          ///< the optimizer step of all its micro-batches
inline constexpr Parts inference = 4;     ///< prefill and decode: what they hold
inline constexpr Parts formulas = 8;      ///< FLOPs of a micro-batch beside the named formulas
inline constexpr Parts model_flops = 16;  ///< what counts as work
inline constexpr Parts time = 32;
inline constexpr Parts run = 64;  ///< days, energy, cost
inline constexpr Parts hardware = 128;
inline constexpr Parts operators = 256;  ///< a line per operator
inline constexpr Parts halves = 512;     ///< training or inference alone
inline constexpr Parts fit = 1024;       ///< what fits in a device when serving
inline constexpr Parts json = 2048, markdown = 4096, exact = 8192, help = 16384;
inline constexpr Parts target = 32768;      ///< what would reach a speed
inline constexpr Parts process = 65536;     ///< what a training process takes beside its tensors
inline constexpr Parts one_batch = 131072;  ///< a batch that is served by itself
inline constexpr Parts serving = 262144;    ///< a server under traffic
inline constexpr Parts simulated = 524288;  ///< a run of that server, request by request
inline constexpr Parts of_training = training | step | formulas | run | process,
                       of_inference = inference | one_batch | fit;
inline constexpr Parts styles = json | markdown | help;
}  // namespace part

struct Request {
  ModelCard model;
  std::optional<HardwareCard> hardware;
  std::optional<SoftwareCard> software;  ///< that a training step is estimated for; absent: none
  std::optional<SoftwareCard> engine;    ///< the same of inference
  bool without_software = false;         ///< --software none: at the device's measured rates, or the bound
  Plan plan;
  WeightsGiven weights_given;  ///< by --weight-precision; settle() makes the plan's formats of it
  Layout layout;
  std::optional<Count> gpus;  ///< of the run; absent: those that hold the model once
  RunInputs run;
  std::optional<BytesPerSecond> offload_rate;  ///< at which what is offloaded comes, where it is below the host's link
  std::optional<SpeedTarget> target;           ///< speed that a generation, or a training step, should reach
  ServingInputs serving;
  Parts parts = 0;                       ///< the question's, without the half that --train or --infer leaves out
  bool train = false, infer = false;     ///< that half alone
  bool ops = false;                      ///< a line per operator too
  bool stages = false;                   ///< a line per stage of the pipeline too
  bool require_fit = false;              ///< a plan that does not fit is a failure
  std::vector<std::string_view> given;   ///< the options that the user chose
  bool searches_layouts = false;         ///< the layout is not given, but searched
  Count usual_seq = 8192;                ///< tokens per sequence where neither user nor context says fewer
  std::optional<DType> usual_precision;  ///< else what the hardware multiplies in
  bool loads_towers = true;              ///< for images and sounds, with the model

  bool gave(std::string_view option) const;
  /// Whether a search tries the values of an option.
  bool searches(std::string_view option) const;
  bool has(Parts some) const { return (parts & some) != 0; }
};

/// The request of the batch that an answer with both halves serves: the training run's layout without all but its
/// tensor-parallel ranks, which are an engine.
Request of_one_engine(Request r);

/// Measured bytes that a process takes of a device before any tensor; 0 where they are not known.
Bytes process_bytes(const Request& r);

}  // namespace llmcalc
