#pragma once
/// A GPU emulator on the CPU: the CUDA backend with its own kernels, whose threads are fibers that run until they must
/// wait for others. Slow, but faithful to blocks, warps and shared memory. Matmuls are plain loops.

#include <cstdint>
#include <memory>
#include <vector>

#include "model/cpu/make.hpp"

namespace llmcalc::test {

/// An emulated backend in Number::f32 or bf16.
std::unique_ptr<model::Backend> make_emulated(model::Number number, bool poison = false);

/// An emulated backend with instruments.
std::unique_ptr<model::Backend> make_emulated_with(model::Number number, model::Instruments& instruments);
/// Sets whether the emulator's matmuls add their biases; by default a separate kernel does.
void add_biases_in_epilogues(bool on);

/// Number of kernel launches since the program started.
std::int64_t launches();

/// Counts of warp operations since the program started.
struct WarpCounts {
  std::int64_t products = 0;   ///< tensor core products of 16 x 8 x 16 multiply-adds
  std::int64_t conflicts = 0;  ///< rows of ldmatrix delayed by bank conflicts
  std::int64_t faults = 0;     ///< addresses that are misaligned or outside a block's memory
};
const WarpCounts& warp_counts();

using MakeBackend = std::unique_ptr<model::Backend> (*)(model::Number, bool poison);

/// Backends for tests of CUDA kernels: the emulator, plus a GPU if LLMCALC_TEST_GPU is set; only the GPU if it is
/// "only".
std::vector<MakeBackend> gpus();

}  // namespace llmcalc::test
