#pragma once
/// The operators on a GPU, if this program was built for one and the machine has one.

#include <memory>

#include "model/cpu/make.hpp"

namespace llmcalc::model {

/// Opens the library that was built beside the program. Number::f32 or bf16; poison: as make_cpu's; `index`: of the
/// devices that the driver shows, the first call's for the whole process. Throws InputError: built without CUDA, a
/// library that cannot be opened, no such device, one that is too old, a driver that fails, each in a sentence.
std::unique_ptr<Backend> make_cuda(Number number, bool poison = false, int index = 0);

}  // namespace llmcalc::model
