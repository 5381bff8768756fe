#pragma once
/// Errors that a device reports while it runs.

#include <stdexcept>

namespace llmcalc::model {

/// A device failed. The message is a full sentence with failure, cause and remedy. Caught in main; exit
/// code 2.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The device has too little memory for an allocation.
struct DeviceMemoryError : DeviceError {
  using DeviceError::DeviceError;
};

}  // namespace llmcalc::model
