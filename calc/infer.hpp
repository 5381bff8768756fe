#pragma once
/// Inference: prefill, a decode step, a whole generation, and the largest batch and context.

#include <optional>

#include "calc/memory.hpp"
#include "calc/pass/stages.hpp"
#include "calc/stretch.hpp"

namespace llmcalc {

/// Prefill: the prompts of all sequences in one pass; the head runs only for each sequence's last position.
PassEstimate prefill(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster, Count tokens);

/// A decode step: one new token per sequence, included in `context`. Without a KV cache the whole sequence is
/// recomputed.
PassEstimate decode(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster, Count context);

/// A step in which the model verifies the drafts of the previous step, and each of the plan's MTP modules drafts a
/// token. It processes 1 + modules tokens per sequence. Precondition: a KV cache and at least one module.
PassEstimate drafted(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster, Count context);

/// prefill() and decode() in a pipeline.
PassEstimate prefill(const Arch& arch, const Plan& plan, const Layout& layout, const PassStages& stages, Count tokens);
PassEstimate decode(const Arch& arch, const Plan& plan, const Layout& layout, const PassStages& stages, Count context);
PassEstimate drafted(const Arch& arch, const Plan& plan, const Layout& layout, const PassStages& stages, Count context);

/// The decode steps of a plan's generation, which produce the second and later tokens.
class DecodeSteps {
 public:
  DecodeSteps(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster);
  DecodeSteps(const Arch& arch, const Plan& plan, const Layout& layout, PassStages stages);
  DecodeSteps(const DecodeSteps&) = delete;
  DecodeSteps& operator=(const DecodeSteps&) = delete;

  /// The step that generates token number `context` of each sequence; without a KV cache, a prefill of `context`
  /// tokens.
  PassEstimate at(Count context) const;
  /// Peak bytes of the last step, excluding weights and cache.
  Bytes workspace() const;
  /// Calls visit(Stretch) for the context intervals over which the step time is linear.
  template <typename Visit>
  void for_each_stretch(const Visit& visit) const {
    llmcalc::for_each_stretch(
        plan_.prompt + 1, end_ - 1, arch_.local.reach, [&](Count c) { return seconds(c); }, visit);
  }

 private:
  BothSeconds seconds(Count context) const;

  const Arch& arch_;
  const Plan& plan_;
  const Layout& layout_;
  std::optional<PassStages> stages_;  ///< stages of a pipeline; absent for a single stage, to avoid allocation
  const Cluster& cluster_;            ///< cluster of the first stage
  Count end_;                         ///< length of a finished sequence in tokens
  PassCurve first_;
  std::vector<PassCurve> more_;  ///< curves of the later stages
};

/// Time of a generation.
struct Generation {
  Seconds first_token;  ///< time of the prefill
  Seconds total;        ///< prefill plus one decode step per additional token, each at its context length
};
struct InferEstimate {
  Memory memory;
  PassEstimate prefill;
  PassEstimate middle;   ///< decode step at context prompt + generate/2
  PassTime first, last;  ///< decode steps at context prompt + 1 and prompt + generate
  Generation bound, estimate;
  bool estimated = false;
};
InferEstimate infer(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster);
/// infer() in a pipeline. `memory` covers all stages together, with one workspace and one process.
InferEstimate infer(const Arch& arch, const Plan& plan, const Layout& layout, const PassStages& stages);

/// The plan with a different batch.
Plan with_batch(Plan plan, Count batch);
/// The plan with sequences of `context` tokens; generates fewer tokens if the prompt would be empty.
Plan with_context(Plan plan, Count context);

/// The largest batch and context that fit into the usable fraction of device memory (Plan::memory_utilization). Both
/// are absent without a KV cache.
struct Limits {
  std::optional<Count> max_batch;    ///< number of sequences of prompt + generate tokens; 0: not even one fits
  std::optional<Count> max_context;  ///< tokens at the plan's batch, limited by learned positions; 0: not even one fits
};
Limits limits(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device);

/// Context at which the cache of the plan's batch is as large as the weights: ceil(weights / (batch x bytes per
/// token)). Absent if every layer's cache is bounded.
std::optional<Count> cache_equals_weights_context(const Arch& arch, const Plan& plan, const Layout& layout = {});

/// The smallest batch at which a decode step at this context is compute-bound. Absent if there is no such batch,
/// because the cache grows with the batch.
std::optional<Count> compute_bound_batch(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device,
                                         Count context);

}  // namespace llmcalc
