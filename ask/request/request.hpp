#pragma once
/// The user's request: a model, optional hardware, a plan, and the costs of a run.

#include <optional>
#include <string_view>
#include <vector>

#include "ask/request/serving_inputs.hpp"
#include "ask/request/target.hpp"
#include "ask/request/weight_precision.hpp"
#include "ask/request/what_if.hpp"
#include "calc/layout.hpp"
#include "calc/pipeline/chunk.hpp"
#include "calc/plan.hpp"
#include "presets/hardware_file.hpp"
#include "presets/model_card.hpp"
#include "presets/software_file.hpp"

namespace llmcalc {

/// Inputs for a whole training run. Results that depend on an absent input are absent.
struct RunInputs {
  std::optional<Count> tokens;
  std::optional<double> measured_tokens_per_s;  ///< measured throughput of all GPUs together
  double measured_scale = 1;  ///< ratio of estimated to measured throughput of another plan on this machine; 1: unknown
  std::optional<double> price, watts, co2;  ///< USD per device-hour, W per device, kg per kWh
  double pue = 1;
  std::optional<double> mfu;              ///< achieved MFU, which replaces the prediction
  std::optional<double> days;             ///< deadline of the run in days
  std::optional<double> mtbf;             ///< hours between failures of one GPU
  std::optional<BytesPerSecond> storage;  ///< rate at which all GPUs together write a checkpoint
  double restart = 0;                     ///< seconds from a failure until training resumes
};

/// Parts of an answer, as bits. A command has some of these parts and an option affects some: the option is accepted
/// if the two sets intersect, else rejected.
using Parts = unsigned;
namespace part {
inline constexpr Parts training = 1;      ///< memory of a training micro-batch
inline constexpr Parts step = 2;          ///< optimizer step over all micro-batches
inline constexpr Parts inference = 4;     ///< memory of prefill and decode
inline constexpr Parts formulas = 8;      ///< FLOPs of a micro-batch compared with the named formulas
inline constexpr Parts model_flops = 16;  ///< which FLOPs count as work
inline constexpr Parts time = 32;
inline constexpr Parts run = 64;  ///< days, energy, cost
inline constexpr Parts hardware = 128;
inline constexpr Parts operators = 256;  ///< an extra line per operator
inline constexpr Parts halves = 512;     ///< a choice between only training and only inference
inline constexpr Parts fit = 1024;       ///< models that fit on a device for serving
inline constexpr Parts json = 2048, markdown = 4096, exact = 8192, help = 16384;
inline constexpr Parts target = 32768;       ///< changes that would reach a target speed
inline constexpr Parts process = 65536;      ///< memory of a training process other than its tensors
inline constexpr Parts one_batch = 131072;   ///< a single batch on one engine
inline constexpr Parts serving = 262144;     ///< a server under traffic
inline constexpr Parts simulated = 524288;   ///< simulation of that server, request by request
inline constexpr Parts full = 1048576;       ///< full or short text; for answers that have a short form
inline constexpr Parts records = 2097152;    ///< lists that can be printed as CSV or JSONL
inline constexpr Parts recorded = 4194304;   ///< memory of a recorded run
inline constexpr Parts launch = 8388608;     ///< commands and files that launch a plan
inline constexpr Parts files = 16777216;     ///< files that the command writes
inline constexpr Parts machine = 33554432;   ///< several devices of one machine
inline constexpr Parts pictures = 67108864;  ///< charts and pages
inline constexpr Parts of_training = training | step | formulas | run | process,
                       of_inference = inference | one_batch | fit;
inline constexpr Parts styles = json | markdown | help;
}  // namespace part

/// --require-fit: `likely`: a plan must be expected to fit; `yes`: it must fit at the high end of its interval.
enum class RequiredFit : std::uint8_t { none, likely, yes };

struct Request {
  ModelCard model;
  std::optional<HardwareCard> hardware;
  std::vector<HardwareCard> machine;     ///< devices of --hardware A+B, one per pipeline stage; empty: only `hardware`
  std::optional<ModelChunk> stage;       ///< layers on this device; absent: all layers, or as the layout assigns them
  std::optional<SoftwareCard> software;  ///< software of the training estimate, if any
  std::optional<SoftwareCard> engine;    ///< engine of the inference estimate, if any
  bool without_software = false;         ///< whether --software is none: times use measured rates, else the bound
  bool any_software = false;             ///< whether to also estimate plans that the software cannot run
  Plan plan;
  WeightsGiven weights_given;  ///< formats specified by --weight-precision; settle() derives the plan's formats from
                               ///< them
  Layout layout;
  std::optional<Count> gpus;  ///< number of GPUs of the run; absent: one replica of the model
  RunInputs run;
  std::optional<BytesPerSecond> offload_rate;  ///< rate of offload transfers, if below the host link's
  std::optional<HardwareCard> host;            ///< processor and memory of the host; absent: as in the hardware file
  std::optional<Bytes> host_memory;            ///< capacity of the host's memory, for all devices of a replica
  WhatIf what_if;                              ///< changes to the hardware
  std::optional<SpeedTarget> target;           ///< desired speed of generation or of a training step
  ServingInputs serving;
  Parts parts = 0;                    ///< parts of the command, without the half that --train or --infer excludes
  bool train = false, infer = false;  ///< whether the answer has only training, or only inference
  bool ops = false;                   ///< whether to add a line per operator
  bool stages = false;                ///< whether to add a line per pipeline stage
  RequiredFit require_fit = RequiredFit::none;  ///< verdict below which the command fails
  std::vector<std::string_view> given;          ///< options chosen by the user
  bool searches_layouts = false;                ///< whether the layout is searched instead of specified
  Count usual_seq = 8192;                       ///< default tokens per sequence; the model's context if that is shorter
  std::optional<DType> usual_precision;         ///< default precision; absent: derived from the hardware
  bool loads_media_encoders = true;             ///< whether vision and audio encoders are loaded

  bool gave(std::string_view option) const;
  /// Whether a search tries several values of an option.
  bool searches(std::string_view option) const;
  bool has(Parts some) const { return (parts & some) != 0; }
};

/// The request for an inference batch on a single engine. Keeps the layout's tensor-parallel ranks. Also keeps its
/// pipeline stages, unless they apply to training.
Request of_one_engine(Request r);

/// Measured device memory that a process uses before it allocates any tensor; 0 if unknown.
Bytes process_bytes(const Request& r);

}  // namespace llmcalc
