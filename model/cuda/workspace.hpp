#pragma once
/// Workspace of an operator while it runs, in addition to the tensors that the arena counts.

#include <algorithm>
#include <vector>

#include "calc/units.hpp"

namespace llmcalc::model::cuda {

/// Device memory that exists while an operator runs.
template <typename Device, typename X>
class DeviceWorkspace {
 public:
  DeviceWorkspace(Device& d, Count n) : device_(d), bytes_(std::max<Count>(n, 1) * static_cast<Count>(sizeof(X))) {
    data_ = static_cast<X*>(device_.allocate(bytes_));
  }
  DeviceWorkspace(Device& d, const std::vector<X>& from) : DeviceWorkspace(d, static_cast<Count>(from.size())) {
    if (!from.empty()) device_.upload(data_, from.data(), static_cast<Count>(from.size() * sizeof(X)));
  }
  ~DeviceWorkspace() { device_.release(data_, bytes_); }
  DeviceWorkspace(const DeviceWorkspace&) = delete;
  DeviceWorkspace& operator=(const DeviceWorkspace&) = delete;
  X* data() const { return data_; }

 private:
  Device& device_;
  Count bytes_;
  X* data_ = nullptr;
};

}  // namespace llmcalc::model::cuda
