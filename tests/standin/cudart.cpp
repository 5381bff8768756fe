// Stand-in for the CUDA runtime (with devices.cpp): memory, streams, events and graphs of one device, simulated in
// host memory. Forbidden calls end the program.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>

#include "tests/standin/handles.hpp"
#include "tests/standin/memory.hpp"
#include "tests/standin/stream.hpp"

namespace llmcalc::standin {
namespace {

struct Event {
  std::uint64_t position = 0;
  bool timed, recorded = false, in_recording = false, asked = false;
};
struct Graph {
  Recorded recorded;
};

// Never destroyed: the program's last calls come after the destruction of statics.
auto& streams = *new Handles<Stream>("streams");
auto& events = *new Handles<Event>("events");
auto& graphs = *new Handles<Graph>("graphs");
auto& executables = *new Handles<Graph>("executable graphs");
int pool = 0;

/// Whether the stream is being recorded.
bool recording = false;
void require_no_recording(const std::string& name) {
  require(!recording, name + " waits, but is called while a stream is recorded");
}

std::optional<std::uint64_t> of_pool(cudaMemPoolAttr what) {
  switch (what) {
    case cudaMemPoolAttrReservedMemCurrent:
      return budget().pool_reserved();
    case cudaMemPoolAttrUsedMemCurrent:
      return budget().pool_used();
    case cudaMemPoolAttrUsedMemHigh:
      return budget().pool_most();
    default:
      return std::nullopt;
  }
}
void require_pool(const void* p) { require(p == &pool, "a call is given a handle that is not the memory pool"); }

Event& waited_for(cudaEvent_t e, const char* name) {
  Event& one = events.of(e);
  require(one.recorded && !one.in_recording, std::string(name) + " is given an event that was not recorded");
  return one;
}

void check_copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const bool to_device = kind != cudaMemcpyDeviceToHost, from_device = kind != cudaMemcpyHostToDevice;
  if (to_device) memory().require_live(to, bytes, "the target of a copy");
  if (from_device) memory().require_live(from, bytes, "the source of a copy");
  require(to_device || !memory().is_device(to), "a copy to the host writes the device's memory");
  require(from_device || !memory().is_device(from), "a copy from the host reads the device's memory");
  require(from_device || !recording || memory().is_pinned(from),
          "a recorded copy reads host memory that is not pinned");
  require(to_device || !recording, "the host reads results in a recording");
}

cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, Stream& s) {
  const auto check = [=] { check_copy(to, from, bytes, kind); };
  const auto run = [=, &s] {
    std::memmove(memory().contents(to), memory().contents(from), bytes);
    if (memory().is_pinned(from)) s.reads(from, bytes);
  };
  s.submit({check, run});
  return cudaSuccess;
}

cudaError_t record(Event& e, Stream& s) {
  s.submit({[] {}, [] {}});
  e.position = s.position();
  e.recorded = true;
  e.in_recording = s.captures();
  e.asked = false;
  return cudaSuccess;
}

cudaError_t wait(Stream& s, std::uint64_t position) {
  s.wait_until(position);
  return cudaSuccess;
}

/// The only stream. A program with several needs a stand-in that tracks the stream of each event.
Stream* only = nullptr;

cudaError_t make_event(cudaEvent_t* e, bool timed) {
  Event one;
  one.timed = timed;
  events.make(e, one);
  return cudaSuccess;
}

}  // namespace

Stream& stream_of(const void* handle) { return streams.of(handle); }

void require_no_handles() {
  streams.require_none();
  events.require_none();
  graphs.require_none();
  executables.require_none();
}

}  // namespace llmcalc::standin

using namespace llmcalc::standin;

extern "C" {

// ---- memory

cudaError_t cudaMalloc(void** p, std::size_t bytes) {
  return call("cudaMalloc", [&] {
    if (!budget().take_driver(bytes)) return cudaErrorMemoryAllocation;
    *p = memory().place(bytes);
    memory().take(*p, bytes, Owner::runtime);
    return cudaSuccess;
  });
}
cudaError_t cudaFree(void* p) {
  return release("cudaFree", [&] {
    require_no_recording("cudaFree");
    if (p != nullptr) budget().give_driver(memory().give_back(p, Owner::runtime, "cudaFree"));
    return cudaSuccess;
  });
}
cudaError_t cudaMallocAsync(void** p, std::size_t bytes, cudaStream_t stream) {
  return call("cudaMallocAsync", [&] {
    *p = stream_of(stream).allocate(bytes);
    return *p != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
  });
}
cudaError_t cudaFreeAsync(void* p, cudaStream_t stream) {
  return release("cudaFreeAsync", [&] {
    stream_of(stream).release(p);
    return cudaSuccess;
  });
}
cudaError_t cudaMallocHost(void** p, std::size_t bytes) {
  return call("cudaMallocHost", [&] {
    *p = memory().pin(bytes);
    return cudaSuccess;
  });
}
cudaError_t cudaFreeHost(void* p) {
  return release("cudaFreeHost", [&] {
    if (p == nullptr) return cudaSuccess;
    if (only != nullptr) only->require_unread(p, 1);
    memory().unpin(p);
    return cudaSuccess;
  });
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* all) {
  return call("cudaMemGetInfo", [&] {
    *free = budget().free();
    *all = total_memory();
    return cudaSuccess;
  });
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return call("cudaMemcpyAsync", [&] { return copy(to, from, bytes, kind, stream_of(stream)); });
}
cudaError_t cudaMemsetAsync(void* p, int byte, std::size_t bytes, cudaStream_t stream) {
  return call("cudaMemsetAsync", [&] {
    const auto check = [=] { memory().require_live(p, bytes, "the target of a memset"); };
    stream_of(stream).submit({check, [=] { std::memset(memory().contents(p), byte, bytes); }});
    return cudaSuccess;
  });
}

// ---- the memory pool, and graphs' memory

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* to, int) {
  return call("cudaDeviceGetDefaultMemPool", [&] {
    *to = reinterpret_cast<cudaMemPool_t>(&pool);
    return cudaSuccess;
  });
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t p, cudaMemPoolAttr what, void*) {
  return call("cudaMemPoolSetAttribute", [&] {
    require_pool(p);
    if (what == cudaMemPoolAttrUsedMemHigh) budget().forget_pool_most();
    return cudaSuccess;
  });
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t p, cudaMemPoolAttr what, void* value) {
  return call("cudaMemPoolGetAttribute", [&] {
    require_pool(p);
    const std::optional<std::uint64_t> bytes = of_pool(what);
    if (!bytes) return cudaErrorInvalidValue;
    *static_cast<std::uint64_t*>(value) = *bytes;
    return cudaSuccess;
  });
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t p, std::size_t) {
  return call("cudaMemPoolTrimTo", [&] {
    require_pool(p);
    budget().trim_pool();
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGetGraphMemAttribute(int, cudaGraphMemAttributeType what, void* value) {
  return call("cudaDeviceGetGraphMemAttribute", [&] {
    if (what != cudaGraphMemAttrReservedMemCurrent) return cudaErrorInvalidValue;
    *static_cast<std::uint64_t*>(value) = budget().graphs();
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGraphMemTrim(int) {
  return call("cudaDeviceGraphMemTrim", [&] {
    budget().trim_graphs();
    return cudaSuccess;
  });
}

// ---- streams and events

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) {
  return call("cudaStreamCreateWithFlags", [&] {
    require(only == nullptr, "a second stream is created, but the stand-in supports only one");
    streams.make(s, Stream());
    only = &stream_of(*s);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamDestroy(cudaStream_t s) {
  return release("cudaStreamDestroy", [&] {
    require(!stream_of(s).captures(), "a stream is destroyed while it is recorded");
    streams.destroy(s);
    only = nullptr;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamSynchronize(cudaStream_t s) {
  return call("cudaStreamSynchronize", [&] {
    require_no_recording("cudaStreamSynchronize");
    return wait(stream_of(s), stream_of(s).position());
  });
}
cudaError_t cudaEventCreate(cudaEvent_t* e) {
  return call("cudaEventCreate", [&] { return make_event(e, true); });
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned flags) {
  return call("cudaEventCreateWithFlags", [&] { return make_event(e, (flags & cudaEventDisableTiming) == 0); });
}
cudaError_t cudaEventDestroy(cudaEvent_t e) {
  return release("cudaEventDestroy", [&] {
    events.destroy(e);
    return cudaSuccess;
  });
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {
  return call("cudaEventRecord", [&] { return record(events.of(e), stream_of(s)); });
}
/// Not ready on the first query, unless the host has waited for the event.
cudaError_t cudaEventQuery(cudaEvent_t e) {
  return call("cudaEventQuery", [&] {
    require_no_recording("cudaEventQuery");
    Event& one = waited_for(e, "cudaEventQuery");
    if (one.position > only->done() && !one.asked) {
      one.asked = true;
      return cudaErrorNotReady;
    }
    return wait(*only, one.position);
  });
}
cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  return call("cudaEventSynchronize", [&] {
    require_no_recording("cudaEventSynchronize");
    const Event& one = events.of(e);
    if (!one.recorded) return cudaSuccess;  // no work to wait for
    return wait(*only, waited_for(e, "cudaEventSynchronize").position);
  });
}
/// 10 microseconds per operation between the two events.
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to) {
  return call("cudaEventElapsedTime", [&] {
    const Event &a = waited_for(from, "cudaEventElapsedTime"), &b = waited_for(to, "cudaEventElapsedTime");
    require(a.timed && b.timed, "cudaEventElapsedTime is given an event without timing");
    require(b.position <= only->done(), "cudaEventElapsedTime is given an event that nobody has waited for");
    *ms = 0.01f * static_cast<float>(b.position - a.position);
    return cudaSuccess;
  });
}

// ---- stream capture

cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode) {
  return call("cudaStreamBeginCapture", [&] {
    stream_of(s).begin();
    recording = true;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t* graph) {
  return release("cudaStreamEndCapture", [&] {
    recording = false;
    const std::unique_ptr<Recorded> recorded(stream_of(s).end());
    graphs.make(graph, Graph{std::move(*recorded)});
    return cudaSuccess;
  });
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* to, cudaGraph_t graph, unsigned long long) {
  return call("cudaGraphInstantiate", [&] {
    const Graph& g = graphs.of(graph);
    require(g.recorded.unreleased.empty(),
            std::to_string(g.recorded.unreleased.size()) + " allocations of a recording are not released in it");
    executables.make(to, g);
    return cudaSuccess;
  });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return release("cudaGraphDestroy", [&] {
    graphs.destroy(graph);
    return cudaSuccess;
  });
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t e) {
  return release("cudaGraphExecDestroy", [&] {
    executables.destroy(e);
    return cudaSuccess;
  });
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t e, cudaStream_t s) {
  return call("cudaGraphLaunch", [&] {
    const Recorded& r = executables.of(e).recorded;
    require(!recording, "a graph is launched in a recording");
    if (!budget().reserve_graph(r.most)) return cudaErrorMemoryAllocation;
    stream_of(s).launch(r);
    return cudaSuccess;
  });
}
}
