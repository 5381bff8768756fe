// Reads the device code that nvcc generated for the kernels. Shows, without a GPU, that tensor cores are used and
// registers suffice.

#include <cxxabi.h>

#include <cstdlib>
#include <functional>
#include <memory>

#include "tests/catch.hpp"
#include "tests/standin/cubin.hpp"

using namespace llmcalc::standin;

namespace {

/// Opcodes, the same from sm_80 to sm_90: tensor core products, fragment loads, asynchronous copies, and local memory,
/// which is in DRAM.
constexpr unsigned hmma = 0x23c, ldsm = 0x83b, ldgsts = 0xfae, local_store = 0x387, local_load = 0x983;

std::string plain(const std::string& mangled) {
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, nullptr),
                                                    std::free);
  return text != nullptr ? text.get() : mangled;
}

/// Calls f(kernel, its C++ name) for every kernel of the backend and every architecture.
void each_kernel(const std::function<void(const Kernel&, const std::string&)>& f) {
  for (const auto& [architecture, kernels] : registered_kernels())
    for (const auto& [mangled, k] : kernels) {
      const std::string name = plain(mangled);
      if (name.find("llmcalc::model::cuda::") == std::string::npos) continue;
      INFO("sm_" << architecture << ", " << k.registers << " registers: " << name);
      f(k, name);
    }
}

int count(const Kernel& k, unsigned opcode) {
  const auto at = k.instructions.find(opcode);
  return at != k.instructions.end() ? at->second : 0;
}

bool has(const std::string& name, const char* part) { return name.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("tensor core kernels, and no others, are compiled to tensor core instructions", "[code]") {
  // Per unrolled tile of keys or queries: (16 m, 8 n) scores from `width` elements need m n width / 16 instructions,
  // and so does a product of 8 n elements with `width` columns.
  struct Expected {
    const char* name;
    int products, m, n, width, seen = 0;
  };
  Expected all[] = {{"MmaForward<64>", 2, 2, 8, 64},       {"MmaForward<96>", 2, 2, 8, 96},
                    {"MmaForward<128>", 2, 2, 8, 128},     {"MmaQueryGradient<64>", 3, 2, 8, 64},
                    {"MmaQueryGradient<96>", 3, 2, 4, 96}, {"MmaQueryGradient<128>", 3, 2, 4, 128},
                    {"MmaKeyGradient<64>", 4, 2, 4, 64},   {"MmaKeyGradient<96>", 4, 1, 8, 96},
                    {"MmaKeyGradient<128>", 4, 1, 8, 128}};
  each_kernel([&](const Kernel& k, const std::string& name) {
    int least = 0;
    for (Expected& e : all)
      if (has(name, e.name)) {
        least = e.products * e.m * e.n * e.width / 16;
        ++e.seen;
      }
    if (least == 0) {
      CHECK(count(k, hmma) == 0);
      return;
    }
    CHECK(count(k, hmma) >= least);
    CHECK(count(k, ldsm) > 0);
    CHECK(count(k, ldgsts) > 0);
  });
  for (const Expected& e : all) {
    INFO(e.name);
    CHECK(e.seen == static_cast<int>(registered_kernels().size()));
  }
}

TEST_CASE("two blocks of every kernel fit on a multiprocessor without unexpected register spills", "[code]") {
  constexpr unsigned all = 65536, warp = 32, unit = 256;
  // Kernels that need more registers than two blocks of 256 threads have are launched with 128 threads. Tensor core
  // attention uses all 255 registers of a thread for scores and sums and spills a few words to the stack (bytes). Tiles
  // of half the size would cost more.
  struct Large {
    const char* name;
    unsigned stack;
  };
  // The last match counts.
  constexpr Large large[] = {{"MatVec<", 0},     {"DecodeShare<", 0},     {"KeyGradient<", 0},
                             {"MmaForward<", 0}, {"MmaForward<128>", 16}, {"MmaQueryGradient<", 16}};
  each_kernel([&](const Kernel& k, const std::string& name) {
    unsigned threads = 256, stack = 0;
    for (const Large& l : large)
      if (has(name, l.name)) {
        threads = 128;
        stack = l.stack;
      }
    const unsigned of_warp = (k.registers * warp + unit - 1) / unit * unit;
    CHECK(k.registers > 0);
    CHECK(2 * threads / warp * of_warp <= all);
    CHECK(k.stack <= stack);
    if (stack == 0) CHECK(count(k, local_store) + count(k, local_load) == 0);
  });
}
