#pragma once
/// A GPU's stand-in on the processor: the CUDA backend with its own kernels, each of their threads a fiber that runs
/// until the others must be waited for. Slow, and true to blocks, warps and shared memory; products are plain loops.

#include <cstdint>
#include <memory>
#include <vector>

#include "model/cpu/make.hpp"

namespace llmcalc::test {

/// Number::f32 or bf16.
std::unique_ptr<model::Backend> make_emulated(model::Number number, bool poison = false);

/// The same, with instruments.
std::unique_ptr<model::Backend> make_emulated_with(model::Number number, model::Instruments& instruments);
/// Whether the stand-in's products add their biases themselves; at first they leave them to a kernel.
void add_biases_in_epilogues(bool on);

/// Kernels that the stand-in was asked for since the program began.
std::int64_t launches();

/// What the stand-in's warps did since the program began.
struct WarpCounts {
  std::int64_t products = 0;   ///< of tensor cores, 16 x 8 x 16 multiply-adds each
  std::int64_t conflicts = 0;  ///< rows of ldmatrix that waited for a bank
  std::int64_t faults = 0;     ///< addresses that are not aligned, or outside a block's memory
};
const WarpCounts& warp_counts();

using MakeBackend = std::unique_ptr<model::Backend> (*)(model::Number, bool poison);

/// Where CUDA's kernels are tried: the stand-in; and a GPU, if the environment has LLMCALC_TEST_GPU, or that alone
/// where it is "only".
std::vector<MakeBackend> gpus();

}  // namespace llmcalc::test
