#pragma once
/// The destination of a gradient.

namespace llmcalc::model {

/// A gradient is written to `to` or, if `add` is set, added to it.
struct GradientPlace {
  void* to = nullptr;
  bool add = false;
};

}  // namespace llmcalc::model
