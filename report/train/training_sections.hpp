#pragma once
/// Sections about training: memory, activations, one optimizer step, utilization.

#include "ask/answer/inference.hpp"
#include "ask/answer/training.hpp"
#include "ask/request/request.hpp"
#include "report/report.hpp"

namespace llmcalc {

Section training_memory_section(const TrainingAnswer& a);
Section inference_memory_section(const InferenceAnswer& a);
/// The activations by operator group, and where recomputation and precision pay.
Section activations_section(const Request& r);

/// "tensor parallel": a part of a step's breakdown as tables name it.
std::string_view part_label(Part p);
/// The same of training. Precondition: the request has software.
Section estimate_section(const TrainingAnswer& a);
Section step_section(const TrainingAnswer& a);
/// The step's throughput as a share of the peak, by every convention.
Section utilization_section(const TrainingAnswer& a);

}  // namespace llmcalc
