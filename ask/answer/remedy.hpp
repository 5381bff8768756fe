#pragma once
/// What to type for a change that makes a plan fit.

#include <string>
#include <vector>

#include "ask/request/request.hpp"
#include "search/reverse.hpp"

namespace llmcalc {

/// A change, and the request that typing it makes.
struct TypedRemedy {
  Remedied change;
  Request request;
  std::string option;         ///< "--tp 4", and what has to be said differently with it
  Count gpus = 1;             ///< of the run with it
  bool changes_gpus = false;  ///< their number
};
/// The changes of which each by itself makes the plan fit, priced as if typed: the software that nobody gave can be
/// another one with it. First the one that costs the least device-seconds per step. The device of the request is priced
/// for training.
std::vector<TypedRemedy> typed_remedies(const Request& r);

}  // namespace llmcalc
