#pragma once
/// The software that a training step is estimated for.

#include <optional>
#include <string>

#include "report/report.hpp"
#include "report/request.hpp"

namespace llmcalc {

/// The software where none is given: megatron-lm where tensor or pipeline parallelism is used, or may be, else
/// torch-fsdp. A device whose file states what was measured on it, and efficiencies given by hand, go without, and so
/// do answers that are not about a step's time.
void choose_software(Request& r);
std::string_view usual_software(const Request& r);

/// The request with its device priced at what it reaches in training under the software.
Request for_training(Request r);

/// The class of the estimate, and its interval; nothing where no software stands behind it, or a part of it was given
/// by hand.
EstimateClass class_of(const Request& r);
std::optional<EstimateInterval> interval_of(const Request& r);

/// "4.9 to 7.6 s"
std::string interval_text(double low, double high, Unit unit);

}  // namespace llmcalc
