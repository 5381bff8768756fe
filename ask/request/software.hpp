#pragma once
/// Software for which times are estimated: a stack in training, an engine in inference.

#include <optional>
#include <string>

#include "ask/request/request.hpp"

namespace llmcalc {

/// Whether the user specifies efficiencies, which replace the software's.
bool has_stated_efficiency(const Request& r);

/// Whether the device is a CPU.
bool is_processor(const HardwareCard& card);

/// Default training software: megatron-lm if tensor or pipeline parallelism is used or searched, otherwise torch-fsdp;
/// if it lacks a capability that the request requires, the first capable stack. Throws InputError if no stack is
/// capable, unless --any-software is set.
std::string usual_software(const Request& r);
/// Default engine: llama.cpp on a single GeForce or Radeon card, Apple chip, CPU or device with unified memory; the
/// vendor's engine on Neuron, Gaudi and TPU; otherwise vllm. Capabilities count as in usual_software().
std::string usual_engine(const Request& r);

/// Whether the specified training software, or any known software if none is specified, can launch the plan. Always
/// true with --any-software.
bool is_launchable(const Request& r);

/// Sets default software. The default engine follows the layout and replaces an earlier default. Leaves the software
/// unset for user-specified efficiencies and for "--software none". Training software also stays unset for answers
/// without times. Rates measured on a device apply with any software.
void choose_software(Request& r);
/// Throws InputError if the specified software is for training and these parts of the answer are for inference, or vice
/// versa, or if it lacks a required capability and --any-software is not set.
void check_software(const Request& r, Parts parts);

/// Multiple to which the training software, specified or default, pads a rank's vocabulary rows. 1 with user-specified
/// efficiencies or --software none.
Count vocabulary_multiple(const Request& r);
/// The request with its device at the training rates achieved with its software.
Request for_training(Request r);
/// Whether the hardware file has a benchmark of the request's engine.
bool has_run_of_engine(const Request& r);
/// Rates of the request's device in inference with its engine, under these parameters. A benchmark of the engine sets
/// the pace.
Achieved achieved_in_inference(const InferenceParameters& p, const Request& r);
/// The request with its device at the inference rates achieved with its engine, and the engine's default for
/// --memory-utilization.
Request for_inference(Request r);

/// Multiplies every peak of the device, and its measured arithmetic rates, by `times`.
void scale_peaks(HardwareCard& card, double times);

}  // namespace llmcalc
