#pragma once
/// Runs a case on the reference transformer and compares the result with the prediction.

#include <functional>
#include <span>

#include "model/cpu/make.hpp"
#include "model/storage/machine_memory.hpp"
#include "validate/compare.hpp"
#include "validate/suite.hpp"

namespace llmcalc::validate {

struct RunParts {
  bool training = true, inference = true;
  bool counted = false;  ///< whether to run with counting values too, which is slow; intended for small models
};

/// The device on which the reference runs.
struct Where {
  std::function<std::unique_ptr<model::Backend>(model::Number)> make = [](model::Number n) {
    return model::make_cpu(n);
  };
  bool on_processor = true;
  /// The memory that the reference may use.
  model::AvailableMemory room() const;
};

/// The case as trained: without absorbed latent attention, which is for inference only.
Case as_trained(Case c);
/// The case as run in inference: adapters, which exist only in training, are merged into the matrices.
Case as_generated(Case c);

/// Throws InputError if the reference does not support this plan, or if the run does not fit in memory; the message
/// then states the bytes.
void check_runnable(const Case& c, const RunParts& parts, const Where& where = {});

/// Throws an InputError with the case's name and bytes if any of these cases does not fit in memory. The cases run in
/// sequence.
void check_room(std::span<const Case> cases, const RunParts& parts, const Where& where = {});

/// The number type in which the reference computes this format.
model::Number number_of(DType t);

/// Runs a case and compares it with the predictions. Runs with counting values always use the CPU.
CaseVerdict validated(const Case& c, const RunParts& parts, const Where& where);

}  // namespace llmcalc::validate
