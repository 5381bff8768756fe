#pragma once
/// The software that times are estimated for: a stack in training, an engine in inference.

#include <optional>
#include <string>

#include "calc/train.hpp"
#include "report/report.hpp"
#include "report/request.hpp"

namespace llmcalc {

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

/// Adds a note that says what of the estimate was measured on the device, where anything was.
void note_measured_device(const Request& r, Report& report);

/// Adds a note where the interval is wider for the device's sake, in training or in inference: no row that the
/// estimator was fitted to was measured on it, or too few on devices of its kind.
void note_wider_training(const Request& r, Report& report);
void note_wider_inference(const Request& r, Report& report);

/// The class of the estimate of training, and its interval; nothing where no software stands behind it, or a part of it
/// was given by hand.
EstimateClass class_of(const Request& r);
std::optional<EstimateInterval> interval_of(const Request& r);
/// The same of a step: nothing is faster than its bound.
std::optional<EstimateInterval> interval_of(const Request& r, const TrainEstimate& e);
/// The same of inference, of that kind of figure; nothing of servers with drafts or with pools, whose times no source
/// measured.
InferenceClass class_of(const Request& r, InferenceClass kind);
std::optional<EstimateInterval> interval_of(const Request& r, InferenceClass kind);

/// "4.9 to 7.6 s"
std::string interval_text(double low, double high, Unit unit);
/// The ends of the interval around an estimated time, or around what is as many times as much.
std::string interval_text(const EstimateInterval& interval, double time, Unit unit);

/// Rows whose values have an interval: times and rates, by their keys.
using HasInterval = bool (*)(std::string_view key);
/// Adds the ends of the interval of such rows, which JSON alone shows: "time_s" has "time_low_s" and "time_high_s",
/// "mfu" has "mfu_low" and "mfu_high".
void add_ends(Section& s, const EstimateInterval& interval, HasInterval has_interval);

}  // namespace llmcalc
