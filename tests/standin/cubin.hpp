#pragma once
/// Compiled kernels in a fat binary, and their resource needs.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace llmcalc::standin {

struct Parameter {
  unsigned offset, bytes;
};
/// Resource needs of a kernel, per thread and per block.
struct Kernel {
  std::string name;
  unsigned registers = 0, most_threads = 1024;
  unsigned stack = 0;                    ///< in bytes: register spills and indexed arrays
  std::uint64_t shared = 0;              ///< static, in bytes
  std::vector<Parameter> parameters;     ///< in order
  std::map<unsigned, int> instructions;  ///< number of instructions per opcode
};
using Kernels = std::map<std::string, Kernel>;  ///< by mangled name

/// Kernels of a fat binary by architecture (90 for sm_90). `wrapper` is the argument of __cudaRegisterFatBinary.
std::map<int, Kernels> kernels_of(const void* wrapper);
/// Kernels of all fat binaries of this program.
std::map<int, Kernels> registered_kernels();

}  // namespace llmcalc::standin
