#pragma once
/// Runs a case on the reference transformer and lays what it did beside what was predicted.

#include <atomic>
#include <functional>

#include "model/cpu/make.hpp"
#include "validate/compare.hpp"
#include "validate/suite.hpp"

namespace llmcalc::validate {

struct Parts {
  bool training = true, inference = true;
  bool counted = false;  ///< once more with numbers that count what is done to them: slow, for small models
};

/// The same case as it is trained: absorbed latent attention is for inference.
Case as_trained(Case c);

/// Throws InputError where the reference does not run this plan, or where memory does not hold it: with the bytes.
void check_runnable(const Case& c, const Parts& parts);

/// In which numbers the reference runs this format.
model::Number number_of(DType t);

Verdict validated(const Case& c, const Parts& parts, const std::atomic<bool>* stop);

}  // namespace llmcalc::validate
