#pragma once
/// Placement of a model's layers on the devices of an engine that runs them in stages (--pp, --hardware A+B).
///
/// llama.cpp and its relatives split by free memory: with free bytes f_i of device i and L layers, device i holds the
/// layers l = 0 .. L - 1 with  sum_{j < i} f_j <= l / (L + 1) * sum_j f_j < sum_{j <= i} f_j;  the head is layer L
/// (llama.cpp, src/llama-model.cpp, load_tensors: upper_bound over the cumulated free memory). f_i is the memory that a
/// process sees. Every device gets at least one layer. If a device cannot hold its share, layers move. Let x (in 64ths)
/// be the smallest share of memory for which some placement fills no device beyond x. Of these placements, the one with
/// the most layers on the first devices is used; --tensor-split realizes it. Other engines split evenly (served_stage).
/// Layers specified by --stage-layers are not moved.

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "ask/answer/serving/engine_capacity.hpp"
#include "ask/request/request.hpp"
#include "calc/infer.hpp"
#include "calc/pass/stages.hpp"

namespace llmcalc {

/// A stage of an engine.
struct EngineStage {
  Request request;  ///< the request, for the stage's device and layers only
  EngineCapacity capacity;
};

class Placement {
 public:
  /// Precondition: has_stages(r), and `r` has passed check(). Throws InputError if the engine splits layers evenly over
  /// different devices and this split does not fit.
  explicit Placement(const Request& r);

  const std::vector<EngineStage>& stages() const { return stages_; }
  StageLayers layers() const;
  /// The stage that fills the largest share of its memory.
  const EngineStage& fullest() const;
  /// Peak bytes of all devices together.
  Bytes peak() const;
  /// Whether every stage fits on its device.
  bool fits() const;
  /// The largest batch and context for which there is a placement.
  Limits limits() const;
  /// Placement with a faster decode step: the fastest device gets as many layers as fit, then the next fastest, and
  /// so on. Empty if layers are specified, if the plan does not fit, or if the placement is already this one.
  StageLayers fastest_first() const;
  /// The stages of a pass; only the first waits for the engine's loop.
  PassStages pass_stages() const;

 private:
  using Key = std::tuple<Count, Count, Count, Count>;  ///< level, stage, first layer, last layer

  Count size() const { return static_cast<Count>(devices_.size()); }
  Request on(Count stage, const ModelChunk& chunk, Count level) const;
  const EngineCapacity& capacity(Count stage, const ModelChunk& chunk, Count level) const;
  template <typename Accepts>
  Count most_layers(Count stage, Count first, Count level, const Accepts& accepts) const;
  template <typename Accepts>
  StageLayers filled(Count level, const Accepts& accepts) const;
  Seconds seconds_per_layer(Count stage) const;
  std::vector<Count> by_speed() const;
  StageLayers moved(const StageLayers& layers, Count from, Count to) const;
  StageLayers by_free_memory() const;
  StageLayers evenly() const;
  StageLayers leveled() const;
  StageLayers placed() const;
  bool hold(const StageLayers& layers) const;
  bool moves_layers() const;
  void refuse_uneven() const;

  std::string hardware_;
  Count all_layers_;
  StageLayers stated_;
  bool splits_by_memory_;
  std::vector<Request> devices_;
  mutable std::map<Key, EngineCapacity> known_;
  std::vector<EngineStage> stages_;
};

}  // namespace llmcalc
