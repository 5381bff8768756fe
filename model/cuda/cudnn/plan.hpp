#pragma once
/// The plan of a graph on one kind of GPU: the engines that cuDNN proposes, and the first of them that it can build.

#include <span>
#include <string_view>
#include <vector>

#include "model/cuda/cudnn/graph.hpp"

namespace llmcalc::model::cuda::cudnn {

/// A GPU: the one of a handle, or, without one, one that is only described.
struct Target {
  cudnnHandle_t handle = nullptr;
  const Descriptor* properties = nullptr;
};

/// A GPU's description from cuDNN's own JSON.
Descriptor device_properties(std::string_view json);

/// Ways to run a graph, cuDNN's favourite first; none where it has no engine for it.
class Engines {
 public:
  Engines(const Target& target, const Graph& graph);
  std::size_t size() const { return configurations_.size(); }
  /// That way i asks for, in bytes.
  std::int64_t workspace(std::size_t i) const;
  const Descriptor& configuration(std::size_t i) const { return configurations_.at(i); }

 private:
  void suggest(const Target& target, cudnnBackendHeurMode_t mode);

  Descriptor graph_;
  std::vector<Descriptor> configurations_;
};

/// A compiled way. Compiling takes seconds.
class Plan {
 public:
  /// Throws Error: no engine, or none that could be built, and why the first could not.
  Plan(const Target& target, const Graph& graph);
  std::int64_t workspace() const;  ///< bytes
  /// Pointers to the tensors with these numbers.
  void run(cudnnHandle_t handle, std::span<const std::int64_t> ids, std::span<void* const> pointers,
           void* workspace) const;

 private:
  Engines engines_;
  Descriptor plan_;
};

}  // namespace llmcalc::model::cuda::cudnn
