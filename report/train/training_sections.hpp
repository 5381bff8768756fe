#pragma once
/// Sections about training: memory, activations, one optimizer step, utilization.

#include "ask/answer/inference.hpp"
#include "ask/answer/training.hpp"
#include "ask/request/request.hpp"
#include "report/report.hpp"

namespace llmcalc {

Section training_memory_section(const TrainingAnswer& a);
Section inference_memory_section(const InferenceAnswer& a);
/// Activations by operator group, and the break-even points of recomputation and precision.
Section activations_section(const Request& r);

/// Label of a part of the step time: "tensor parallel".
std::string_view part_label(Part p);
/// Class, software and parameters of the training estimate. Precondition: the request has software.
Section estimate_section(const TrainingAnswer& a);
Section step_section(const TrainingAnswer& a);
/// The step's throughput as a share of the peak, under each convention.
Section utilization_section(const TrainingAnswer& a);

}  // namespace llmcalc
