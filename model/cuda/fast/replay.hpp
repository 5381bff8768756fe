#pragma once
/// Gain: one launch per step or token instead of one per operator. Measure: gpu-check's decode_124m relative to
/// decode_124m_unrecorded, and calibrate's recorded_s relative to launch_s.
///
/// Replays operators from a recording: their launches become one, and values that change across runs are read from
/// memory that is filled before each run. A device records into its `Graph`: begin() and end() enclose the launches,
/// room() provides memory for changing values, and launch() runs the recording.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "model/backend.hpp"
#include "model/cuda/workspace.hpp"
#include "model/device_error.hpp"
#include "model/math/host_device.hpp"

namespace llmcalc::model::cuda {

/// A kernel's parameter: its value or, in a recording, its address.
template <typename X>
struct Moved {
  X value{};
  const X* at = nullptr;
  LLMCALC_HD X now() const { return at != nullptr ? *at : value; }
};

/// Elements that kernels read. Their memory exists for one operator or, in a recording, is filled before every run.
template <typename Device, typename X>
class Fed {
 public:
  explicit Fed(const X* data) : data_(data) {}
  Fed(Device& device, const std::vector<X>& from)
      : room_(std::make_unique<DeviceWorkspace<Device, X>>(device, from)), data_(room_->data()) {}
  const X* data() const { return data_; }

 private:
  std::unique_ptr<DeviceWorkspace<Device, X>> room_;
  const X* data_;
};

/// Host memory that a recording reads: part of an array whose contents change across runs, or a fixed array.
class Source {
 public:
  Source(const Moving* recorded, const std::int64_t* from) : from_(from) {
    for (std::size_t i = 0; recorded != nullptr && i < recorded->tokens.size(); ++i) {
      const auto all = recorded->tokens[i];
      if (std::less_equal<>()(all.data(), from) && std::less<>()(from, all.data() + all.size())) {
        array_ = i;
        offset_ = from - all.data();
        moves_ = true;
      }
    }
  }
  bool moves() const { return moves_; }
  const std::int64_t* of(const Moving& m) const { return moves_ ? m.tokens[array_].data() + offset_ : from_; }

 private:
  const std::int64_t* from_;
  std::size_t array_ = 0;
  std::ptrdiff_t offset_ = 0;
  bool moves_ = false;
};

/// Whether LLMCALC_GRAPHS enables graphs: 1 (the default) or 0. Throws std::runtime_error for any other value.
inline bool graphs_wanted(const char* said = std::getenv("LLMCALC_GRAPHS")) {
  const std::string_view s = said != nullptr ? said : "1";
  if (s != "0" && s != "1")
    throw std::runtime_error("LLMCALC_GRAPHS is " + std::string(s) + "; valid values are 0 and 1");
  return s == "1";
}

template <typename Device>
class Replays {
 public:
  explicit Replays(Device& device) : device_(device) {}

  /// The first run is not recorded, because libraries choose algorithms and compile kernels during it.
  void run(std::unique_ptr<Recording>& held, const Moving& m, const std::function<void()>& f) {
    if (held == nullptr) {
      held = std::make_unique<Held>();
      if (!wanted_) static_cast<Held&>(*held).refused = "LLMCALC_GRAPHS is 0";
      return f();
    }
    auto& h = static_cast<Held&>(*held);
    if (h.graph == nullptr && h.refused.empty()) record(h, m, f);
    if (h.graph == nullptr) return f();
    h.graph->fill([&] {
      for (const auto& each : h.moved) each(m);
    });
    try {
      h.graph->launch();
    } catch (const DeviceMemoryError&) {  // the graph's memory is separate from the pool
      h.refused = "not enough GPU memory";
      h.graph.reset();
      h.moved.clear();
      h.counted.clear();
      return f();
    }
    for (const auto& each : h.counted) flops_ += each(m);
  }

  /// Counts FLOPs of operators; `later` computes the FLOPs of a replay.
  template <typename F>
  void count(Flops flops, const F& later) {
    if (now_ != nullptr)
      now_->counted.push_back(later);
    else
      flops_ += flops;
  }
  void count(Flops flops) {
    count(flops, [flops](const Moving&) { return flops; });
  }
  Flops counted() const { return flops_; }

  /// A kernel parameter with this value or, in a replay, with the value that found() returns.
  template <typename X, typename F>
  Moved<X> moved(const X& value, const F& found) {
    if (now_ == nullptr) return {value};
    auto [host, device] = room<X>(1);
    now_->moved.push_back([host = host, found](const Moving& m) { *host = found(m); });
    return {value, device};
  }
  Moved<Count> past(Count now) {
    return moved(now, [](const Moving& m) { return m.past; });
  }
  /// Key of a dropout mask. In a replay, it is derived from the current Moving::steps.
  Moved<std::uint64_t> key(const Dropout& d) {
    if (now_ == nullptr) return {d.key};
    return moved(d.key, [d, later = d.steps - moving_->steps](const Moving& m) {
      return dropout_key(d.seed, m.steps + later, d.stream);
    });
  }
  /// n elements that fill(tokens, elements) computes from token ids.
  template <typename X, typename F>
  Fed<Device, X> fed(Count n, const std::int64_t* ids, const F& fill) {
    if (now_ == nullptr) {
      std::vector<X> made(static_cast<std::size_t>(n));
      fill(ids, made.data());
      return Fed<Device, X>(device_, made);
    }
    auto [host, device] = room<X>(n);
    now_->moved.push_back(
        [host = host, from = Source(moving_, ids), fill](const Moving& m) { fill(from.of(m), host); });
    return Fed<Device, X>(device);
  }
  Fed<Device, std::int64_t> ids(Count n, const std::int64_t* from) {
    return fed<std::int64_t>(n, from, [n](const std::int64_t* f, std::int64_t* to) { std::copy_n(f, n, to); });
  }
  /// Uploads an array. If its contents change across runs, every replay uploads the current contents.
  void upload(void* to, const void* from, Count bytes) {
    const auto* const numbers = static_cast<const std::int64_t*>(from);
    if (now_ == nullptr || !Source(moving_, numbers).moves()) return device_.upload(to, from, bytes);
    const auto there = ids(bytes / static_cast<Count>(sizeof(std::int64_t)), numbers);
    device_.copy(to, there.data(), bytes);
  }

 private:
  using Graph = typename Device::Graph;
  struct Held final : Recording {
    std::unique_ptr<Graph> graph;
    std::vector<std::function<void(const Moving&)>> moved;
    std::vector<std::function<Flops(const Moving&)>> counted;
    std::string refused;
    std::string how() const override {
      if (graph != nullptr) return "from a recording";
      return "not from a recording: " + (refused.empty() ? "it is the first run" : refused);
    }
  };

  /// Leaves the graph null if a part of f cannot be recorded.
  void record(Held& h, const Moving& m, const std::function<void()>& f) {
    Count tokens = 0;
    for (const auto& t : m.tokens) tokens += static_cast<Count>(t.size());
    constexpr Count parameters = Count{1} << 20, each_token = 8 * sizeof(std::int64_t);
    moving_ = &m;
    now_ = &h;
    try {
      auto graph = std::make_unique<Graph>(device_, parameters + tokens * each_token);
      graph->begin();
      f();
      graph->end();
      h.graph = std::move(graph);
    } catch (const std::runtime_error& e) {
      h.refused = e.what();
    } catch (...) {
      now_ = nullptr;
      h.moved.clear();
      h.counted.clear();
      throw;
    }
    now_ = nullptr;
    if (h.graph == nullptr) {
      h.moved.clear();
      h.counted.clear();
    }
  }
  template <typename X>
  std::pair<X*, const X*> room(Count n) {
    const auto [host, device] = device_.recording()->room(std::max<Count>(n, 1) * static_cast<Count>(sizeof(X)));
    return {reinterpret_cast<X*>(host), reinterpret_cast<const X*>(device)};
  }

  Device& device_;
  bool wanted_ = graphs_wanted();
  Flops flops_;
  Held* now_ = nullptr;  ///< the recording in progress, with inputs *moving_; null if there is none
  const Moving* moving_ = nullptr;
};

}  // namespace llmcalc::model::cuda
