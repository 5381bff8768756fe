#pragma once
/// A GPU's stand-in on the processor: the CUDA backend with its own kernels, each of their threads a fiber that runs
/// until the others must be waited for. Slow, and true to blocks, warps and shared memory; products are plain loops.

#include <memory>
#include <vector>

#include "model/cpu/make.hpp"

namespace llmcalc::test {

/// Number::f32 or bf16.
std::unique_ptr<model::Backend> make_emulated(model::Number number, bool poison = false);

/// The same, with instruments.
std::unique_ptr<model::Backend> make_emulated_with(model::Number number, model::Instruments& instruments);

using MakeBackend = std::unique_ptr<model::Backend> (*)(model::Number, bool poison);

/// Where CUDA's kernels are tried: the stand-in; and a GPU, if the environment has LLMCALC_TEST_GPU.
std::vector<MakeBackend> gpus();

}  // namespace llmcalc::test
