#pragma once
/// The operators on a GPU, if the program was built with CUDA and the machine has a GPU.

#include <memory>

#include "model/cpu/make.hpp"

namespace llmcalc::model {

/// Opens the library that is built with the program. `number`: f32 or bf16. `poison`: as in make_cpu(). `index`: the
/// device's index in the driver's list; the first call fixes it for the whole process. Throws InputError with a
/// sentence if the program was built without CUDA, the library cannot be opened, the device does not exist or is too
/// old, or the driver fails.
std::unique_ptr<Backend> make_cuda(Number number, bool poison = false, int index = 0);

}  // namespace llmcalc::model
