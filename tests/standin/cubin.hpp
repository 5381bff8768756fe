#pragma once
/// Compiled kernels as a fat binary holds them: what each needs to run.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace llmcalc::standin {

struct Parameter {
  unsigned offset, bytes;
};
/// A kernel's needs; per thread, per block.
struct Kernel {
  std::string name;
  unsigned registers = 0, most_threads = 1024;
  unsigned stack = 0;                    ///< in bytes: what registers do not hold, and arrays that are indexed
  std::uint64_t shared = 0;              ///< static, in bytes
  std::vector<Parameter> parameters;     ///< in order
  std::map<unsigned, int> instructions;  ///< how many of each opcode
};
using Kernels = std::map<std::string, Kernel>;  ///< by their mangled names

/// Kernels of a fat binary by architecture, 90 for sm_90. `wrapper` is what __cudaRegisterFatBinary is given.
std::map<int, Kernels> kernels_of(const void* wrapper);
/// Of all fat binaries of this program.
std::map<int, Kernels> registered_kernels();

}  // namespace llmcalc::standin
