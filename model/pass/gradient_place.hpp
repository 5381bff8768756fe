#pragma once
/// The destination of a gradient.

namespace llmcalc::model {

/// A gradient is written there, or added.
struct GradientPlace {
  void* to = nullptr;
  bool add = false;
};

}  // namespace llmcalc::model
