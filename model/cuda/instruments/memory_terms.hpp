#pragma once
/// A GPU's memory, broken down term by term.

#include "model/instruments.hpp"

namespace llmcalc::model::cuda {

/// Readings at fixed points. "Bytes outside" are in use, but belong neither to the tensor pool nor to recorded steps.
struct MemoryPoints {
  std::optional<Bytes> before;         ///< bytes in use by the driver and other processes before this process had a
                                       ///< context
  Bytes context;                       ///< bytes outside once there is a context
  Bytes libraries;                     ///< bytes outside once the libraries are open
  Bytes kernels;                       ///< bytes outside once all kernels have run
  std::vector<UsedMemory> workspaces;  ///< workspaces in the pool
  Bytes graphs;                        ///< bytes used by recorded steps, outside the pool
  Bytes used;                          ///< bytes in use now by all processes
  Bytes pool;                          ///< bytes of `used` that belong to the pool
  Bytes pool_most;                     ///< peak bytes used in the pool
};

/// The terms of all memory in use; `arena`: peak bytes of the tensors.
DeviceMemory explained(const MemoryPoints& p, Bytes arena);

}  // namespace llmcalc::model::cuda
