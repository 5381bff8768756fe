#include "calc/memory.hpp"

#include <algorithm>
#include <array>

#include "calc/cost.hpp"
#include "calc/liveness.hpp"
#include "calc/program.hpp"

namespace llmcalc {
namespace {

/// What one layer of this operator caches of one sequence: a token's bytes for every token, at most a window of them; a
/// linear layer keeps its float32 state.
Bytes operator_cache(const Op& op, const Plan& plan, Count context) {
  if (const Attention* a = std::get_if<Attention>(&op.shape)) {
    const Count tokens = a->window > 0 ? std::min(context, a->window) : context;
    return tokens * token_cache(*a, plan.kv_precision);
  }
  if (const LinearAttention* a = std::get_if<LinearAttention>(&op.shape))
    return Bytes(mul(4, a->heads, a->head_dim, a->head_dim));
  return {};
}

/// Any step that tells what a layer caches.
Step cache_step(const Plan& plan) { return {.training = true, .expanded_cache = plan.mla == Mla::expanded}; }

/// Learned numbers and stored weights of one device, and its cache of one sequence of `context` tokens.
struct Held {
  Learned learned{};
  Bytes weights{}, cache{};
};

Held held(const Arch& arch, const Plan& plan, Count context = 0) {
  Held h;
  for_each_segment(arch, cache_step(plan), {plan.tp, false}, [&](const Segment& s) {
    for (const Op& op : s.ops) {
      h.learned += s.repeats * learned(op.shape);
      h.weights += s.repeats * weight_bytes(op, plan.weight_precision, plan.precision);
      h.cache += s.repeats * operator_cache(op, plan, context);
    }
  });
  return h;
}

bool has_master(const Plan& plan) { return plan.master && plan.weight_precision.format().element_bits < 32; }

/// n logits during the loss: 4 bytes each (what log-softmax keeps), compute format, or compute format + float32 copy +
/// float32 gradient.
Bytes logits_bytes(const Plan& plan, Count n) {
  switch (plan.logits.format) {
    case LogitFormat::fp32:
      return Bytes(mul(n, 4));
    case LogitFormat::compute:
      return bytes_of(plan.precision, n);
    case LogitFormat::with_gradient:
      return Bytes(mul(n, plan.precision.format().element_bits / 8 + 8));
  }
  return {};
}
Bytes logits_bytes(const Arch& arch, const Plan& plan) {
  const Count vocabulary = ceil_div(arch.vocabulary, plan.tp);
  const Bytes all = logits_bytes(plan, mul(plan.micro_batch, plan.seq, vocabulary));
  return Bytes(ceil_div(all.value, plan.logits.chunks));
}

/// What every kind of layer keeps, in the order of layer_kinds().
struct Layers {
  std::array<Liveness, 8> alive{};
  std::size_t size = 0;
};

/// Walks the layers in order: bytes kept so far, and the worst moment in forward and backward of each. The embedding
/// is never the worst, since a layer's last sum has three tensors of its width too; nor is the head's forward run,
/// whose backward holds all of it and a gradient.
class StepPeak {
 public:
  StepPeak(const Arch& arch, const Plan& plan) : arch_(arch), plan_(plan) {
    const Pricing p = pricing(plan, Phase::training);
    for_each_segment(arch, training_step(plan), tensor_parallel(plan), [&](const Segment& s) {
      const Liveness l = liveness(s.ops, p, s.input_elements, plan.recompute == Recompute::selective,
                                  s.kind == SegmentKind::head ? logits_bytes(arch, plan) : Bytes());
      if (s.kind == SegmentKind::embedding) embedding_ = l;
      if (s.kind == SegmentKind::block) layers_.alive[layers_.size++] = l;
      if (s.kind == SegmentKind::head) head_ = l;
    });
  }

  void fill(Memory& m) const {
    m.logits = logits_bytes(arch_, plan_);
    const bool full = plan_.recompute == Recompute::full;
    Bytes kept = embedding_.kept, live;
    for (Count i = 0; i < arch_.layers; ++i) {
      const Liveness& l = layers_.alive[kind_index(kinds_, arch_, i)];
      const Bytes worst = full ? std::max(l.forward + l.output, l.backward) : std::max(l.forward, l.backward);
      live = std::max(live, kept + worst);
      kept += full ? l.input : l.kept;
    }
    live = std::max(live, kept + head_.backward);
    m.activations = kept + head_.kept;
    m.workspace = std::max(Bytes(), live - std::min(live, m.activations + m.logits));
    m.total = m.weights + m.gradients + m.optimizer + m.activations + m.logits + m.workspace;
    m.peak = m.weights + m.gradients + m.optimizer + live;
  }

 private:
  const Arch& arch_;
  const Plan& plan_;
  LayerKinds kinds_ = layer_kinds(arch_);
  Liveness embedding_, head_;
  Layers layers_;
};

/// The most that one inference pass holds besides weights and cache.
Bytes pass_workspace(const Arch& arch, const Plan& plan, const Step& step, Phase phase) {
  const Pricing p = pricing(plan, phase);
  Bytes most;
  for_each_segment(arch, step, tensor_parallel(plan), [&](const Segment& s) {
    most = std::max(most, liveness(s.ops, p, s.input_elements, false).forward);
  });
  return most;
}

}  // namespace

Bytes optimizer_bytes(const Plan& plan, Count n, Count factored) {
  const Bytes master = has_master(plan) ? Bytes(mul(4, n)) : Bytes();
  switch (plan.optimizer) {
    case Optimizer::sgd:
      return master;
    case Optimizer::momentum:
    case Optimizer::lion:
      return master + bytes_of(plan.state_precision, n);
    case Optimizer::adam:
      return master + bytes_of(plan.state_precision, mul(2, n));
    case Optimizer::adam8bit:
      return master + Bytes(add(mul(2, n), mul(8, ceil_div(n, 256))));
    case Optimizer::adafactor:
      return master + Bytes(mul(4, factored));
  }
  return master;
}

States training_states(const Arch& arch, const Plan& plan) {
  const Held h = held(arch, plan);
  return {.weights = h.weights,
          .gradients = Bytes(mul(plan.gradient_bytes, h.learned.total)),
          .optimizer = optimizer_bytes(plan, h.learned.total, h.learned.factored),
          .parameters = h.learned.total};
}

Bytes weights_bytes(const Arch& arch, const Plan& plan) { return held(arch, plan).weights; }

Memory training_memory(const Arch& arch, const Plan& plan) {
  const States s = training_states(arch, plan);
  Memory m{.weights = s.weights, .gradients = s.gradients, .optimizer = s.optimizer, .parameters = s.parameters};
  StepPeak(arch, plan).fill(m);
  return m;
}

Memory inference_memory(const Arch& arch, const Plan& plan) {
  const Count context = add(plan.prompt, plan.generate);
  const Held h = held(arch, plan, context);
  Memory m{.weights = h.weights, .parameters = h.learned.total};
  if (plan.kv_cache) m.kv_cache = plan.batch * h.cache;
  const Step last = plan.kv_cache ? decode_step(plan, context) : prefill_step(plan, context);
  m.workspace = std::max(pass_workspace(arch, plan, prefill_step(plan, plan.prompt), Phase::prefill),
                         pass_workspace(arch, plan, last, plan.kv_cache ? Phase::decode : Phase::prefill));
  m.total = m.peak = m.weights + m.kv_cache + m.workspace;
  return m;
}

Bytes cache_bytes(const Arch& arch, const Plan& plan, Count context) {
  Bytes b;
  for_each_segment(arch, cache_step(plan), {plan.tp, false}, [&](const Segment& s) {
    for (const Op& op : s.ops) b += s.repeats * operator_cache(op, plan, context);
  });
  return b;
}

Bytes cache_bytes_per_token(const Arch& arch, const Plan& plan) {
  Bytes b;
  for_each_segment(arch, cache_step(plan), {plan.tp, false}, [&](const Segment& s) {
    for (const Op& op : s.ops)
      if (const Attention* a = std::get_if<Attention>(&op.shape)) b += s.repeats * token_cache(*a, plan.kv_precision);
  });
  return b;
}

Bytes optimizer_traffic(const States& s, const Plan& plan) {
  const Bytes weights_read = has_master(plan) ? Bytes() : s.weights;
  return 2 * s.optimizer + s.gradients + s.weights + weights_read;
}

}  // namespace llmcalc
