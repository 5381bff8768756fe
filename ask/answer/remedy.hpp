#pragma once
/// Command-line options that make a plan fit.

#include <string>
#include <vector>

#include "ask/request/request.hpp"
#include "search/reverse.hpp"

namespace llmcalc {

/// A change to the plan, and the request with that change typed as options.
struct TypedRemedy {
  Remedied change;
  Request request;
  std::string key;            ///< key of the changed option under `inputs`: "tp"
  std::string option;         ///< option with its value, "--tp 4", and other options that must change with it
  Count gpus = 1;             ///< GPUs of the run with the change
  bool changes_gpus = false;  ///< whether the number of GPUs changes
};
/// Single changes that each make the plan fit, evaluated as if the user had typed them; a change may also change the
/// default software. Sorted by device-seconds per step, lowest first. Precondition: the request's device is at its
/// achieved training rates (for_training()).
std::vector<TypedRemedy> typed_remedies(const Request& r);

}  // namespace llmcalc
