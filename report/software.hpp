#pragma once
/// The software that a training step is estimated for.

#include <optional>
#include <string>

#include "report/report.hpp"
#include "report/request.hpp"

namespace llmcalc {

/// Prices the request's device at what it reaches under the software: that of --software, else megatron-lm where
/// tensor or pipeline parallelism is used, else torch-fsdp. A device whose file states what was measured on it, and
/// efficiencies given by hand, are priced without software, unless some is given. Nothing in answers that are not about
/// a step's time.
void use_software(Request& r);

/// The same of a request about inference too, for its part about training.
Request for_training(Request r);

/// The class of the estimate, and its interval; nothing where no software stands behind it, or a part of it was given
/// by hand.
EstimateClass class_of(const Request& r);
std::optional<EstimateInterval> interval_of(const Request& r);

/// "4.9 to 7.6 s"
std::string interval_text(double low, double high, Unit unit);

}  // namespace llmcalc
