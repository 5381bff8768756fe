// Each rule of the stand-in is broken in a child process. Two more tests show that allowed calls break no rule.

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <functional>
#include <optional>

#include "tests/catch.hpp"
#include "tests/model/environment.hpp"
#include "tests/standin/ended.hpp"
#include "tests/standin/rules.hpp"
#include "tests/standin/test_kernels.hpp"

using namespace llmcalc::standin;
using llmcalc::test::Environment;

namespace {

constexpr std::size_t bytes = 1024;

/// Resources for the tests: a stream, pool memory, pinned memory, an event.
struct Setup {
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  void *device = nullptr, *pinned = nullptr;
  Setup() {
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    cudaMallocAsync(&device, bytes, stream);
    cudaMallocHost(&pinned, bytes);
  }
  void end() const {
    cudaStreamSynchronize(stream);
    cudaFreeAsync(device, stream);
    cudaFreeHost(pinned);
    cudaEventDestroy(event);
    cudaStreamDestroy(stream);
  }
  void record(const std::function<void()>& f, cudaGraphExec_t* to) const {
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    f();
    cudaGraph_t graph = nullptr;
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(to, graph, 0);
    cudaGraphDestroy(graph);
  }
  void fill(void* p) const { cudaMemsetAsync(p, 0, bytes, stream); }
};

/// The message of the rule that f(setup) breaks; empty if it breaks no rule.
std::string broken_by(const std::function<void(Setup&)>& f) {
  const Ended e = ended([&] {
    Setup s;
    f(s);
  });
  const std::string begin = "stand-in for CUDA: ";
  if (e.code != broken_rule || e.err.rfind(begin, 0) != 0) return "";
  return e.err.substr(begin.size(), e.err.size() - begin.size() - 1);
}

std::string broken_in_recording(const std::function<void(Setup&)>& f) {
  return broken_by([&](Setup& s) {
    cudaGraphExec_t graph = nullptr;
    s.record([&] { f(s); }, &graph);
  });
}

/// The error that f returns in a new process, before any other CUDA call.
int error_of(const std::function<cudaError_t()>& f) {
  return ended([&] { std::_Exit(static_cast<int>(f())); }).code;
}

}  // namespace

TEST_CASE("valid calls break no runtime rule, whether recorded in a graph or not", "[rules]") {
  const Ended e = ended([] {
    Setup s;
    cudaGraphExec_t graph = nullptr;
    const auto some = [&] {
      void* p = nullptr;
      cudaMallocAsync(&p, bytes, s.stream);
      cudaMemcpyAsync(p, s.pinned, bytes, cudaMemcpyHostToDevice, s.stream);
      launch_small({.stream = s.stream, .pointer = static_cast<char*>(p) + 12});
      cudaFreeAsync(p, s.stream);
    };
    some();
    s.record(some, &graph);
    for (int i = 0; i < 2; ++i) cudaGraphLaunch(graph, s.stream);
    cudaStreamSynchronize(s.stream);
    cudaGraphExecDestroy(graph);
    s.end();
  });
  CHECK(e.err.empty());
  CHECK(e.code == 0);
}

TEST_CASE("an access past the end of an allocation is detected", "[rules]") {
  CHECK(broken_by([](Setup& s) { cudaMemsetAsync(s.device, 0, bytes + 3, s.stream); }) ==
        "the target of a memset ends 3 bytes past its allocation");
  CHECK(broken_by([](Setup& s) {
          cudaMemcpyAsync(static_cast<char*>(s.device) + 8, s.pinned, bytes, cudaMemcpyHostToDevice, s.stream);
        }) == "the target of a copy ends 8 bytes past its allocation");
  CHECK(broken_by([](Setup& s) { cudaMemcpyAsync(s.pinned, s.pinned, bytes, cudaMemcpyDeviceToHost, s.stream); }) ==
        "the source of a copy is not in live device memory");
}

TEST_CASE("use after free and double free are detected", "[rules]") {
  CHECK(broken_by([](Setup& s) {
          cudaFreeAsync(s.device, s.stream);
          s.fill(s.device);
        }) == "the target of a memset is not in live device memory");
  CHECK(broken_by([](Setup& s) {
          cudaFreeAsync(s.device, s.stream);
          cudaFreeAsync(s.device, s.stream);
        }) == "cudaFreeAsync is given memory that is not allocated, or no longer");
  CHECK(broken_by([](Setup& s) { cudaFree(s.device); }) == "cudaFree is given memory of cudaMallocAsync");
  CHECK(broken_by([](Setup& s) {
          cudaFreeHost(s.pinned);
          cudaFreeHost(s.pinned);
        }) == "cudaFreeHost is given memory that is not pinned, or no longer");
}

TEST_CASE("unreleased memory and handles are detected", "[rules]") {
  const std::string left = broken_by([](Setup&) {});
  CHECK(left == "1 allocations of device memory are never released, the first of 1024 bytes by cudaMallocAsync");
  CHECK(broken_by([](Setup& s) {
          s.end();
          cudaEventCreate(&s.event);
        }) == "1 of events are never destroyed");
}

TEST_CASE("synchronization during graph capture is detected", "[rules]") {
  CHECK(broken_in_recording([](Setup& s) { cudaStreamSynchronize(s.stream); }) ==
        "cudaStreamSynchronize waits, but is called while a stream is recorded");
  CHECK(broken_in_recording([](Setup& s) { cudaEventSynchronize(s.event); }) ==
        "cudaEventSynchronize waits, but is called while a stream is recorded");
  CHECK(broken_in_recording([](Setup& s) { cudaEventQuery(s.event); }) ==
        "cudaEventQuery waits, but is called while a stream is recorded");
  CHECK(broken_in_recording([](Setup&) { cudaFree(nullptr); }) ==
        "cudaFree waits, but is called while a stream is recorded");
}

TEST_CASE("an access to host memory in a recorded graph is detected", "[rules]") {
  CHECK(broken_in_recording([](Setup& s) {
          cudaMemcpyAsync(s.pinned, s.device, bytes, cudaMemcpyDeviceToHost, s.stream);
        }) == "the host reads results in a recording");
  CHECK(broken_in_recording([](Setup& s) {
          const std::string pageable(bytes, 'x');
          cudaMemcpyAsync(s.device, pageable.data(), bytes, cudaMemcpyHostToDevice, s.stream);
        }) == "a recorded copy reads host memory that is not pinned");
}

TEST_CASE("memory allocated during graph capture must be released in the same graph", "[rules]") {
  CHECK(broken_in_recording([](Setup& s) { cudaFreeAsync(s.device, s.stream); }) ==
        "cudaFreeAsync in a recording is given memory of cudaMallocAsync");
  CHECK(broken_in_recording([](Setup& s) {
          void* p = nullptr;
          cudaMallocAsync(&p, bytes, s.stream);
        }) == "1 allocations of a recording are not released in it");
}

TEST_CASE("a graph that runs after its memory was released is detected", "[rules]") {
  CHECK(broken_by([](Setup& s) {
          cudaGraphExec_t graph = nullptr;
          s.record([&] { s.fill(s.device); }, &graph);
          cudaFreeAsync(s.device, s.stream);
          cudaGraphLaunch(graph, s.stream);
        }) == "the target of a memset is not in live device memory");
}

TEST_CASE("pinned memory that changes during a copy is detected", "[rules]") {
  const auto changed = [](const std::function<void(Setup&)>& before) {
    return broken_by([&](Setup& s) {
      cudaMemcpyAsync(s.device, s.pinned, bytes, cudaMemcpyHostToDevice, s.stream);
      cudaEventRecord(s.event, s.stream);
      before(s);
      ++*static_cast<char*>(s.pinned);
      s.end();
    });
  };
  CHECK(changed([](Setup&) {}) == "the host changed pinned memory while a copy read it");
  CHECK(changed([](Setup& s) { cudaEventQuery(s.event); }) != "");  // not ready on the first query
  CHECK(changed([](Setup& s) { cudaEventSynchronize(s.event); }).empty());
  CHECK(broken_by([](Setup& s) {
          cudaMemcpyAsync(s.device, s.pinned, bytes, cudaMemcpyHostToDevice, s.stream);
          cudaFreeHost(s.pinned);
        }) == "pinned memory is released while a copy reads it");
}

TEST_CASE("a kernel argument that points to host or released memory is detected", "[rules]") {
  const std::vector<float> host(1 << 20);
  const auto given = [](const std::function<const void*(Setup&)>& pointer) {
    const std::string said = broken_by([&](Setup& s) { launch_small({.stream = s.stream, .pointer = pointer(s)}); });
    return said.substr(said.find(" is given") + 1);
  };
  CHECK(given([&](Setup&) { return host.data(); }) == "is given, at byte 8 of its parameters, host memory");
  CHECK(given([](Setup& s) { return s.pinned; }) == "is given, at byte 8 of its parameters, host memory");
  CHECK(given([](Setup& s) {
          cudaFreeAsync(s.device, s.stream);
          return static_cast<const char*>(s.device) + 64;
        }) == "is given, at byte 8 of its parameters, device memory that is not live");
}

TEST_CASE("a launch beyond the device's limits is detected", "[rules]") {
  const auto ends_with = [](const std::string& said, const std::string& end) {
    return said.size() >= end.size() && said.substr(said.size() - end.size()) == end;
  };
  const auto launch = [](Launch l, cudaError_t (*kernel)(const Launch&) = launch_small) {
    return broken_by([&](Setup& s) {
      l.stream = s.stream;
      kernel(l);
      s.end();
    });
  };
  CHECK(launch({.threads = 1024}).empty());
  CHECK(ends_with(launch({.threads = 1025}), "is launched with 1025 threads per block"));
  CHECK(ends_with(launch({.blocks = 0}), "is launched with 0 blocks"));
  CHECK(launch({.shared = 48 * 1024}).empty());
  CHECK(ends_with(launch({.shared = 48 * 1024 + 1}), "more shared memory than it has requested: 49153"));
  CHECK(launch({.shared = 227 * 1024, .asked_shared = 227 * 1024}).empty());
  CHECK(launch({.threads = 256}, launch_large).empty());
  CHECK(ends_with(launch({.threads = 1024}, launch_large), "with more registers than a multiprocessor has"));
}

TEST_CASE("the shared memory limit depends on the described device", "[rules]") {
  const auto asked = [](const char* capability, std::size_t kilobytes) {
    const Environment described("LLMCALC_STANDIN_CAPABILITY", capability);
    return error_of([&] {
      const Setup s;
      return launch_small({.stream = s.stream, .shared = 1, .asked_shared = kilobytes * 1024});
    });
  };
  CHECK(asked("9.0", 227) == cudaSuccess);
  CHECK(asked("9.0", 228) == cudaErrorInvalidValue);
  if (asked("8.6", 1) == cudaErrorNoKernelImageForDevice) return;  // compiled only for a later architecture
  CHECK(asked("8.6", 99) == cudaSuccess);
  CHECK(asked("8.6", 100) == cudaErrorInvalidValue);
}

TEST_CASE("a device without a compiled image runs no kernel", "[rules]") {
  const Environment described("LLMCALC_STANDIN_CAPABILITY", "7.5");
  CHECK(error_of([] {
          const Setup s;
          return launch_small({.stream = s.stream});
        }) == cudaErrorNoKernelImageForDevice);
}

TEST_CASE("allocations beyond the described device's memory fail", "[rules]") {
  const Environment described("LLMCALC_STANDIN_MEMORY", "1073741824");  // the context uses half
  const auto allocated = [](std::size_t n) {
    return error_of([&] {
      void* p = nullptr;
      return cudaMalloc(&p, n);
    });
  };
  CHECK(allocated(std::size_t{512} << 20) == cudaSuccess);
  CHECK(allocated((std::size_t{512} << 20) + 1) == cudaErrorMemoryAllocation);
}

TEST_CASE("an injected failure affects one call, or all later calls after a device error", "[rules]") {
  const auto errors = [](const char* plan) {
    const Environment planned("LLMCALC_STANDIN_FAIL", plan);
    return error_of([] {
      void* p = nullptr;
      int failed = 0;
      for (int i = 0; i < 4; ++i) failed += cudaMalloc(&p, 1) != cudaSuccess ? 1 << i : 0;
      return static_cast<cudaError_t>(failed);
    });
  };
  CHECK(errors("2:2") == 0b0010);
  CHECK(errors("2:700") == 0b1110);
  CHECK(errors("2") == 0b1110);
}
