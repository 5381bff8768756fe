#pragma once
/// The software that times are estimated for: a stack in training, an engine in inference.

#include <optional>
#include <string>

#include "ask/request/request.hpp"

namespace llmcalc {

/// Whether efficiencies are stated, which replace those of the software.
bool has_stated_efficiency(const Request& r);

/// The software where none is given: megatron-lm where tensor or pipeline parallelism is used, or may be, else
/// torch-fsdp.
std::string_view usual_software(const Request& r);
/// The engine where none is given: llama.cpp on one GeForce or Radeon card, chip of Apple, processor or device that
/// shares a processor's memory; that of the vendor on Neuron, Gaudi and TPU; else vllm.
std::string_view usual_engine(const Request& r);

/// Puts in what is not given; the engine as the layout has it, though it was another's before. Efficiencies given by
/// hand and --software none go without, and so do answers that are not about times. What was measured on a device stays
/// under any software.
void choose_software(Request& r);
/// Throws InputError where the software that was given is of the half that these parts of the answer lack.
void check_software(const Request& r, Parts parts);

/// The multiple to which the software that trains pads a rank's rows of the vocabulary: the software that is given,
/// else the usual one; 1 where efficiencies are given by hand or --software none leaves it out.
Count vocabulary_multiple(const Request& r);
/// The request with its device priced at what it reaches in training under the software.
Request for_training(Request r);
/// The same in inference under the engine.
Request for_inference(Request r);

/// Every peak of the device `times` as high, and the rates that were measured of its arithmetic.
void scale_peaks(HardwareCard& card, double times);

}  // namespace llmcalc
