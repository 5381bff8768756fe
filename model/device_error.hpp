#pragma once
/// Errors that a device reports while it runs.

#include <stdexcept>

namespace llmcalc::model {

/// The failure of a device. The message is a full sentence that states failure, cause and remedy. main catches it and
/// exits with code 2.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The device has too little memory for an allocation.
struct DeviceMemoryError : DeviceError {
  using DeviceError::DeviceError;
};

}  // namespace llmcalc::model
