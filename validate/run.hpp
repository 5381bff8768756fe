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
  bool counted = false;  ///< once more with numbers that count what is done to them: slow, for small models
};

/// Where the reference runs.
struct Where {
  std::function<std::unique_ptr<model::Backend>(model::Number)> make = [](model::Number n) {
    return model::make_cpu(n);
  };
  bool on_processor = true;
  /// The memory that it may use there.
  model::MemoryRoom room() const;
};

/// The case as it is trained: absorbed latent attention is for inference.
Case as_trained(Case c);
/// The case as it generates: adapters are for training, and what they have learned is added to the matrices.
Case as_generated(Case c);

/// Throws InputError where the reference does not run this plan, or where memory does not hold it: with the bytes.
void check_runnable(const Case& c, const RunParts& parts, const Where& where = {});

/// Throws InputError where memory does not hold one of these cases, which run in turn: with its name and the bytes.
void check_room(std::span<const Case> cases, const RunParts& parts, const Where& where = {});

/// The number type in which the reference runs this format.
model::Number number_of(DType t);

/// Numbers that count run on the processor always.
CaseVerdict validated(const Case& c, const RunParts& parts, const Where& where);

}  // namespace llmcalc::validate
