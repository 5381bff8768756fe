// Attention's graphs as cuDNN takes them for an H200 that is only described: no GPU is needed, but cuDNN is, and a
// driver to be found, for which the toolkit's stand-in does (ctest has it in the test `cudnn`).

#ifdef LLMCALC_CUDNN

#include <dlfcn.h>

#include <fstream>
#include <iterator>

#include "model/cuda/cudnn/attention.hpp"
#include "model/cuda/cudnn/plan.hpp"
#include "model/cuda/cudnn/sdpa_graph.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::model::cuda;

namespace {

/// Why cuDNN's plans cannot be tried here; empty: they can.
std::string missing() {
  constexpr int stub_answers = 34;  // CUDA_ERROR_STUB_LIBRARY
  try {
    cudnn::library();
  } catch (const cudnn::Error& e) {
    return e.what();
  }
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return std::string("no driver, nor its stand-in: ") + ::dlerror();
  auto* const start = reinterpret_cast<int (*)(unsigned)>(::dlsym(driver, "cuInit"));
  return start != nullptr && start(0) == stub_answers ? "" : "libcuda.so.1 is not the toolkit's stand-in";
}

/// f(target): an H200, where it can be tried.
template <typename F>
void on_described_h200(F f) {
  const std::string why_not = missing();
  if (!why_not.empty()) {
    WARN("skipped: " << why_not);
    return;
  }
  std::ifstream file(LLMCALC_SOURCE_DIR "/tests/model/h200_device.json");
  const std::string json((std::istreambuf_iterator<char>(file)), {});
  const cudnn::Descriptor device = cudnn::device_properties(json);
  f(cudnn::Target{.handle = nullptr, .properties = &device});
}

/// 2 sequences of 8 heads; a token's queries, keys and values follow each other in memory.
SdpaShape shape(Count kv_heads, Count tokens, Count width) {
  constexpr Count heads = 8;
  const Count token = (heads + 2 * kv_heads) * width;
  const HeadStrides h{tokens * token, token, width};
  return {.sequences = 2,
          .heads = heads,
          .kv_heads = kv_heads,
          .tokens = tokens,
          .qk_dim = width,
          .v_dim = width,
          .q = h,
          .k = h,
          .v = h,
          .dq = h,
          .dk = h,
          .dv = h};
}

Count up(Count n, Count to) { return (n + to - 1) / to * to; }

/// What cuDNN 9.19's first engine asks for: 256 bytes; in backward the gradients of keys and values of every head of
/// the queries, if heads share them; and, to be deterministic, a bf16 per pair of tokens, in whole tiles.
Count workspace(const SdpaShape& s) {
  const Count pairs = up(s.tokens, 64) * up(s.tokens, 128), heads = s.sequences * s.heads;
  const Count shared = s.backward && s.kv_heads < s.heads ? 2 * 2 * s.rows() * s.qk_dim : 0;
  return 256 + shared + (s.deterministic ? 2 * heads * pairs : 0);
}

/// f(shape) for forward, backward and deterministic backward.
template <typename F>
void each_direction(SdpaShape s, F f) {
  for (const auto& [backward, deterministic] : {std::pair{false, false}, {true, false}, {true, true}}) {
    s.backward = backward;
    s.deterministic = deterministic;
    INFO(s.tokens << " tokens, " << s.kv_heads << " KV heads of " << s.qk_dim << ", backward " << backward
                  << ", deterministic " << deterministic);
    f(s);
  }
}

}  // namespace

TEST_CASE("cuDNN has engines for attention, which ask for the memory that is expected", "[cudnn]") {
  on_described_h200([](const cudnn::Target& h200) {
    for (const Count width : {64, 80, 96, 128})
      for (const Count kv_heads : {8, 2})
        for (const Count tokens : {160, 333, 1024})
          each_direction(shape(kv_heads, tokens, width), [&](const SdpaShape& s) {
            const cudnn::Graph graph = cudnn::sdpa_graph(s);
            const std::size_t reductions = kv_heads < 8 ? 2 : 0;
            const std::size_t operations = !s.backward ? 14 : reductions + (s.deterministic ? 21 : 22);
            CHECK(graph.operations() == operations);
            const cudnn::Engines engines(h200, graph);
            REQUIRE(engines.size() > 0);
            CHECK(engines.workspace(0) == workspace(s));
          });
  });
}

TEST_CASE("cuDNN has engines for heads of 256 numbers forward", "[cudnn]") {
  on_described_h200([](const cudnn::Target& h200) {
    for (const Count tokens : {333, 2048})
      CHECK(cudnn::Engines(h200, cudnn::sdpa_graph(shape(2, tokens, 256))).size() > 0);
  });
}

TEST_CASE("cuDNN compiles attention's kernels, which the driver's stand-in then does not load", "[cudnn]") {
  on_described_h200([](const cudnn::Target& h200) {
    each_direction(shape(2, 333, 64), [&](const SdpaShape& s) {
      try {
        const cudnn::Plan plan(h200, cudnn::sdpa_graph(s));
        FAIL("a plan without a driver");
      } catch (const cudnn::Error& e) {
        INFO(e.what());
        CHECK(e.status == CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER);
        CHECK(std::string(e.what()).find("cuLibraryLoadData") != std::string::npos);
      }
    });
  });
}

TEST_CASE("what cuDNN has no engine for is refused in a sentence", "[cudnn]") {
  on_described_h200([](const cudnn::Target& h200) {
    try {
      const cudnn::Plan plan(h200, cudnn::sdpa_graph(shape(8, 333, 20)));
      FAIL("a plan for heads of 20 numbers");
    } catch (const cudnn::Error& e) {
      CHECK(std::string(e.what()) == "cuDNN has no engine for this shape");
    }
  });
}

TEST_CASE("without a GPU cuDNN's attention says that it could not start", "[cudnn]") {
  on_described_h200([](const cudnn::Target&) {
    CudnnAttention attention(nullptr);
    CHECK(attention.name() == "cuDNN " + cudnn::library().version_text());
    CHECK(attention.prepare(shape(8, 333, 64)).rfind("cuDNN, starting: CUDNN_STATUS_NOT_INITIALIZED", 0) == 0);
  });
}

#endif
