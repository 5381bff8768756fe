#include "model/cuda/cudnn/plan.hpp"

#include <optional>

namespace llmcalc::model::cuda::cudnn {
namespace {

Descriptor built(const Target& target, const Descriptor& configuration) {
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, "building a plan");
  if (target.handle != nullptr)
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, target.handle);
  else
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, target.properties->raw());
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration.raw());
  plan.finalize();
  return plan;
}

Descriptor first_built(const Target& target, const Engines& engines) {
  if (engines.size() == 0) throw Error(CUDNN_STATUS_NOT_SUPPORTED, "cuDNN has no engine for this shape");
  std::optional<Error> first;
  for (std::size_t i = 0; i < engines.size(); ++i) try {
      return built(target, engines.configuration(i));
    } catch (const Error& e) {
      if (!first) first = e;
    }
  throw *first;
}

}  // namespace

Descriptor device_properties(std::string_view json) {
  Descriptor d(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, "describing a device");
  d.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, static_cast<std::int64_t>(json.size()), json.data());
  d.finalize();
  return d;
}

Engines::Engines(const Target& target, const Graph& graph) : graph_(graph.finalized(target.handle)) {
  suggest(target, CUDNN_HEUR_MODE_A);
  suggest(target, CUDNN_HEUR_MODE_FALLBACK);
}

void Engines::suggest(const Target& target, cudnnBackendHeurMode_t mode) {
  constexpr const char* what = "asking for engines";
  Descriptor d(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, what);
  d.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_.raw());
  d.set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
  if (target.handle == nullptr) d.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, target.properties->raw());
  if (library().finalize(d.raw()) != CUDNN_STATUS_SUCCESS) return;  // its way to say that it has none
  std::vector<Descriptor> found;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t n = d.descriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS, 0, nullptr); n > 0; --n) {
    found.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, what);
    raw.push_back(found.back().raw());
  }
  const auto room = static_cast<std::int64_t>(raw.size());
  const std::int64_t there = room > 0 ? d.descriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS, room, raw.data()) : 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(there); ++i) configurations_.push_back(std::move(found.at(i)));
}

std::int64_t Engines::workspace(std::size_t i) const {
  return configurations_.at(i).number(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE);
}

Plan::Plan(const Target& target, const Graph& graph) : engines_(target, graph), plan_(first_built(target, engines_)) {}

std::int64_t Plan::workspace() const { return plan_.number(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE); }

void Plan::run(cudnnHandle_t handle, std::span<const std::int64_t> ids, std::span<void* const> pointers,
               void* workspace) const {
  constexpr const char* what = "running a plan";
  const auto count = static_cast<std::int64_t>(ids.size());
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, what);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, count, ids.data());
  pack.set_as(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, pointers.data());
  pack.set_as(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  pack.finalize();
  check(library().execute(handle, plan_.raw(), pack.raw()), what);
}

}  // namespace llmcalc::model::cuda::cudnn
