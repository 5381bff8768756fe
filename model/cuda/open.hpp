#pragma once
/// The operators on a GPU, if this program was built for one and the machine has one.

#include <memory>

#include "model/cpu/make.hpp"

namespace llmcalc::model {

/// Opens the library that was built beside the program. Number::f32 or bf16; poison: as make_cpu's. Throws InputError:
/// built without CUDA, no library, no device, each in a sentence.
std::unique_ptr<Backend> make_cuda(Number number, bool poison = false);

}  // namespace llmcalc::model
