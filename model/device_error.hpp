#pragma once
/// What a device refuses or fails at while it runs.

#include <stdexcept>

namespace llmcalc::model {

/// A device failed: one finished sentence says at what, why, and what to do. Caught in main, exit code 2.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The device has no room for what it was asked to hold.
struct DeviceMemoryError : DeviceError {
  using DeviceError::DeviceError;
};

}  // namespace llmcalc::model
