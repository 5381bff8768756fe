#pragma once
/// Runs a case on the reference transformer and compares it with its prediction.

#include <functional>
#include <span>

#include "model/cpu/make.hpp"
#include "model/storage/machine_memory.hpp"
#include "validate/compare.hpp"
#include "validate/suite.hpp"

namespace llmcalc::validate {

struct RunParts {
  bool training = true, inference = true;
  bool counted = false;  ///< also with counting values: slow, for small models
};

/// The device that runs the reference.
struct Where {
  std::function<std::unique_ptr<model::Backend>(model::Number)> make = [](model::Number n) {
    return model::make_cpu(n);
  };
  bool on_processor = true;
  /// The memory that it may use.
  model::AvailableMemory room() const;
};

/// The case as trained: absorbed latent attention is for inference only.
Case as_trained(Case c);
/// The case as it generates: adapters are for training only, and are merged into the matrices afterward.
Case as_generated(Case c);

/// Throws InputError if the reference does not run this plan, or if the run does not fit in memory, with the bytes.
void check_runnable(const Case& c, const RunParts& parts, const Where& where = {});

/// Throws InputError, with name and bytes, if any of these cases does not fit in memory. The cases run in sequence.
void check_room(std::span<const Case> cases, const RunParts& parts, const Where& where = {});

/// The number type in which the reference runs this format.
model::Number number_of(DType t);

/// Runs a case and compares it with the predictions. Counting runs always use the CPU.
CaseVerdict validated(const Case& c, const RunParts& parts, const Where& where);

}  // namespace llmcalc::validate
