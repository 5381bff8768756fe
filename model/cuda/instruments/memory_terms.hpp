#pragma once
/// A GPU's memory explained term by term.

#include "model/instruments.hpp"

namespace llmcalc::model::cuda {

/// What was read at fixed points. Outside: what is used, and neither in the pool from which tensors come nor held by
/// recorded steps.
struct MemoryPoints {
  std::optional<Bytes> before;         ///< used before this process had a context, by the driver and others
  Bytes context;                       ///< outside, once there is a context
  Bytes libraries;                     ///< outside, once the libraries are open
  Bytes kernels;                       ///< outside, once all that runs has run
  std::vector<UsedMemory> workspaces;  ///< in the pool
  Bytes graphs;                        ///< that recorded steps hold, outside the pool
  Bytes used;                          ///< now, by every process
  Bytes pool;                          ///< of it what the pool holds
  Bytes pool_most;                     ///< the most of the pool that was in use at once
};

/// The terms of all that is used; `arena`: the most that tensors took.
DeviceMemory explained(const MemoryPoints& p, Bytes arena);

}  // namespace llmcalc::model::cuda
