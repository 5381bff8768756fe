#pragma once
/// The operators on this machine's cores, in the best instruction set that it has.

#include <memory>

#include "model/backend.hpp"

namespace llmcalc::model {

enum class Number : std::uint8_t { f32, bf16, f64, counted };

/// poison: memory begins as NaN, so that reading what was never written shows.
std::unique_ptr<Backend> make_cpu(Number number, bool poison = false);

}  // namespace llmcalc::model
