#pragma once
/// A GPU's memory, broken down term by term.

#include "model/instruments.hpp"

namespace llmcalc::model::cuda {

/// Readings at fixed points. "Outside" is memory in use that belongs neither to the tensor pool nor to recorded steps.
struct MemoryPoints {
  std::optional<Bytes> before;         ///< in use by the driver and others before this process had a context
  Bytes context;                       ///< outside, once there is a context
  Bytes libraries;                     ///< outside, once the libraries are open
  Bytes kernels;                       ///< outside, once all kernels have run
  std::vector<UsedMemory> workspaces;  ///< in the pool
  Bytes graphs;                        ///< used by recorded steps, outside the pool
  Bytes used;                          ///< now, by every process
  Bytes pool;                          ///< the part of `used` that belongs to the pool
  Bytes pool_most;                     ///< peak use of the pool
};

/// The terms of all memory in use; `arena`: peak of the tensors.
DeviceMemory explained(const MemoryPoints& p, Bytes arena);

}  // namespace llmcalc::model::cuda
