#include "presets/estimators/process_memory.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "calc/train.hpp"
#include "presets/estimators/training_estimator.hpp"

namespace llmcalc {

namespace {

constexpr Count mebibyte = Count{1} << 20;

Bytes share(double part, Bytes of) { return Bytes(std::llround(part * static_cast<double>(of.value))); }

/// A linear layer's matrix on one rank.
struct MatrixOfLayer {
  Count in = 0, out = 0;
  std::string_view role{};
  Count numbers() const { return mul(in, out); }
  auto operator<=>(const MatrixOfLayer&) const = default;
};

/// Role of a matrix: the last part of its name. "mlp.shared_up" has the role "up", like the same matrix of every
/// expert.
std::string_view role_of(std::string_view name) { return name.substr(name.find_last_of("._") + 1); }

/// Number of elements in a rank's part of the head's matrix, and in a micro-batch's logits.
struct HeadNumbers {
  Count matrix = 0, logits = 0;
};

class RankMemory {
 public:
  RankMemory(const TrainedProcess& p, MemoryKind kind, const MemoryParameters& fitted)
      : p_(p),
        plan_(p.plan),
        layout_(p.layout),
        kind_(kind),
        fitted_(fitted),
        prices_(price(p.arch, plan_, layout_, device())),
        partition_(partition(prices_, plan_, layout_, p.on.cluster)),
        head_(head_numbers()) {}

  ProcessMemory of_rank(Count rank) const { return of_stage(stage(prices_, plan_, layout_, partition_, rank)); }

 private:
  const Device& device() const { return p_.on.cluster.device; }

  ProcessMemory of_stage(const Stage& s) const {
    const Memory& m = s.memory;
    ProcessMemory out{.tensors = m.peak};
    if (p_.software == MemorySoftware::titan) use_titan(s, out);
    if (p_.software == MemorySoftware::transformer_engine) use_transformer_engine(m, out);
    if (p_.software == MemorySoftware::megatron) use_update(m, copies_of_megatron(m), out);
    if (p_.software == MemorySoftware::internevo) use_update(m, copies_of_internevo(m), out);
    if (p_.software == MemorySoftware::megatron_deepspeed) use_deepspeed(m, out);
    use_process(out);
    return out;
  }

  static Bytes states(const Memory& m) { return m.weights + m.gradients + m.optimizer; }
  static bool has_head(const Memory& m) { return m.logits != Bytes(); }
  static Bytes alive_beside_states(const Memory& m) { return m.peak - states(m); }

  HeadNumbers head_numbers() const {
    HeadNumbers n;
    for_each_operator(p_.arch, plan_, layout_, training_step(plan_), [&](const OperatorRow& row) {
      const Linear* l = std::get_if<Linear>(&row.op.shape);
      if (makes_logits(row.op)) n = {mul(l->in, l->out), mul(l->rows, l->out)};
    });
    return n;
  }

  /// Increase in the peak if another `extra` bytes are live during the head's backward pass.
  Bytes beyond(const Memory& m, Bytes extra) const {
    const Liveness& head = prices_.head().alive;
    const Bytes at_head = m.activations + (head.backward - head.saved) + extra;
    return at_head - std::min(at_head, activations_alive(m));
  }

  /// Bytes of live activations at the peak.
  static Bytes activations_alive(const Memory& m) {
    return alive_beside_states(m) - (m.gathered + m.buckets + m.collective_call + m.transit + m.process);
  }

  // ---- TransformerEngine (pytorch/module/base.py, get_dummy_wgrad): if matmuls accumulate weight gradients directly
  // in main_grad, autograd receives a dummy buffer in the weights' format, which is allocated once per shape and
  // never freed. Megatron-Core's head (core/tensor_parallel/layers.py) allocates its buffer in every backward pass.
  // The loss makes a float32 copy of the logits, which softmax overwrites (core/fusions/fused_cross_entropy.py).
  // Buffers of partially frozen models are unknown.

  void use_transformer_engine(const Memory& m, ProcessMemory& out) const {
    const DType format = working_format(plan_);
    if (!trains_part(plan_)) out.weight_gradients = bytes_of(format, numbers_of_shapes());
    if (!has_head(m)) return;
    const Bytes copy(plan_.logits.format == LogitFormat::compute ? mul(4, head_.logits) : 0);
    out.loss = beyond(m, std::max(copy, trains_part(plan_) ? Bytes() : bytes_of(format, head_.matrix)));
  }
  Count numbers_of_shapes() const {
    std::set<MatrixOfLayer> shapes;
    for_each_operator(p_.arch, plan_, layout_, training_step(plan_), [&](const OperatorRow& row) {
      const Linear* l = std::get_if<Linear>(&row.op.shape);
      if (l != nullptr && row.segment.kind == SegmentKind::block && row.op.component != Component::router)
        shapes.insert({l->in, l->out, role_of(row.op.name)});
    });
    Count numbers = 0;
    for (const MatrixOfLayer& one : shapes) numbers = add(numbers, one.numbers());
    return numbers;
  }

  // ---- Copies of gradients in the optimizer step, which runs after activations are freed. Their size is
  // unknown if the host runs the step.

  void use_update(const Memory& m, Bytes copies, ProcessMemory& out) const {
    if (plan_.offload.optimizer.numerator > 0) return;
    const Bytes rest = alive_beside_states(m);
    if (copies > rest) out.update = copies - rest;
  }
  /// Megatron-LM's optimizer makes float32 copies of low-precision gradients (optimizer.py:
  /// _copy_model_grads_to_main_grads).
  Bytes copies_of_megatron(const Memory& m) const {
    return plan_.gradient_bytes == 2 ? Bytes(mul(4, m.trained)) : Bytes();
  }

  /// InternEvo's optimizers make float32 copies of the shard's gradients (internlm/solver/optimizer/fsdp_optimizer.py
  /// and hybrid_zero_optim.py, step). PyTorch's AdamW, unless fused (in InternEvo since March 2024), also allocates the
  /// square roots of all second moments (torch/optim/adamw.py, _multi_tensor_adamw).
  Bytes copies_of_internevo(const Memory& m) const {
    const Count shard = layout_.zero == Zero::none ? 1 : ranks(layout_, Group::shard);
    return plan_.gradient_bytes == 2 ? Bytes(ceil_div(mul(8, m.trained), shard)) : Bytes();
  }

  // ---- DeepSpeed

  /// bf16 (runtime/bf16_optimizer.py): float32 gradients of all weights on the rank, and autograd's bf16 gradients,
  /// which live until the next backward pass and are each added through a float32 copy. fp16 with ZeRO
  /// (runtime/zero/stage_1_and_2.py, step): the shard's gradients are flattened, then copied to float32. fp16 without
  /// ZeRO (runtime/fp16/fused_optimizer.py, step): a float32 copy of each gradient, and a flattened copy of all
  /// gradients. A bucket has 5e8 gradients. Buffers of ZeRO 2 and 3 are unknown.
  void use_deepspeed(const Memory& m, ProcessMemory& out) const {
    if (layout_.zero > Zero::optimizer) return;
    const Count shard = ranks(layout_, Group::data);
    if (plan_.gradient_bytes >= 4)  // the 6 bytes of a plan include autograd's gradients
      out.weight_gradients = Bytes(mul(plan_.gradient_bytes == 4 ? 2 : 0, m.trained)) + Bytes(mul(4, largest_matrix()));
    else if (layout_.zero == Zero::none)
      use_update(m, Bytes(mul(8, m.trained)), out);
    else
      use_update(m, Bytes(ceil_div(mul(6, m.trained), shard)), out);
    if (shard > 1) out.buckets = Bytes(mul(summed_gradient_bytes(plan_), std::min<Count>(m.trained, 500'000'000)));
  }
  Count largest_matrix() const {
    Count most = 0;
    for_each_operator(p_.arch, plan_, layout_, training_step(plan_), [&](const OperatorRow& row) {
      if (const Linear* l = std::get_if<Linear>(&row.op.shape)) most = std::max(most, mul(l->in, l->out));
    });
    return most;
  }

  // ---- torchtitan

  /// Sets torchtitan's terms. FSDP gathers weights in 16 bits. With one micro-batch per step, gradients do not exist
  /// yet when the head runs; later, a layer's gradients are in transit to the ranks that shard them. In a pipeline,
  /// gradients are reduced once per step. Until then, every rank stores them in float32, the format of the reduction
  /// (torch/distributed/pipelining/stage.py: backward_maybe_with_nosync; fsdp/_fully_shard/_fsdp_param.py:
  /// to_accumulated_grad_if_needed).
  void use_titan(const Stage& s, ProcessMemory& out) const {
    const Memory& m = s.memory;
    const bool low_precision = training_weights(plan_) == dtypes::fp32 && plan_.precision != dtypes::fp32;
    out.tensors -= m.buckets;
    if (low_precision) out.tensors -= Bytes(m.gathered.value / 2);
    if (micro_batches(plan_, layout_) == 1) out.tensors -= m.gradients;
    const bool shards = layout_.zero == Zero::weights;
    if (shards && ranks(layout_, Group::pipeline) > 1) out.weight_gradients = Bytes(mul(4, m.trained));
    if (p_.keeps_alternate) out.products = Bytes(mul(s.in_flight, s.layers, saved_products().value) / p_.arch.layers);
    const Bytes loss = has_head(m) ? beyond(m, loss_of_titan()) : Bytes();
    const Bytes bucket(shards ? mul(summed_gradient_bytes(plan_), largest_layer()) : 0);
    if (loss < bucket)
      out.buckets = bucket;
    else
      out.loss = loss;
  }
  /// Bytes that per-operator recomputation saves in all layers in addition to layer inputs: the results of every second
  /// matmul and of the attention kernel, and its log-sum-exps (torchtitan/distributed/activation_checkpoint.py).
  Bytes saved_products() const {
    const DType format = working_format(plan_);
    Bytes saved;
    Count nth = 0;
    for_each_operator(p_.arch, plan_, layout_, training_step(plan_), [&](const OperatorRow& row) {
      if (row.segment.kind != SegmentKind::block) return;
      if (row.index == 0) nth = 0;
      const Count layers = row.segment.repeats;
      if (const Linear* l = std::get_if<Linear>(&row.op.shape); l != nullptr && ++nth % 2 == 1)
        saved += layers * bytes_of(format, mul(l->rows, l->out));
      if (const Attention* a = std::get_if<Attention>(&row.op.shape))
        saved += layers * (bytes_of(format, mul(a->rows(), a->heads, a->v_dim)) + Bytes(mul(4, a->rows(), a->heads)));
    });
    return saved;
  }
  /// Bytes of the loss in addition to 16-bit logits; 0 if the plan already counts more. In eager mode, these are the
  /// log-softmax of a float32 copy, its gradient and the copy's gradient, minus the logits, which have been freed by
  /// then. If the loss is compiled, they are the gradient of the logits.
  Bytes loss_of_titan() const {
    if (plan_.logits.format != LogitFormat::compute) return {};
    return Bytes(mul(head_.logits, p_.compiles_loss ? 2 : 10));
  }
  Count largest_layer() const {
    Count most = 0;
    for (std::size_t k = 0; k < prices_.kinds.size(); ++k) most = std::max(most, prices_.layer(k).learned.total);
    return most;
  }

  // ---- The whole process

  /// Adds the cuBLAS workspaces. PyTorch's has 32 MiB on Hopper and later or 8.125 MiB on earlier devices
  /// (aten/src/ATen/cuda/CublasHandlePool.cpp: 4096:8, 4096:2:16:8); TransformerEngine's has 32 MiB or 4 MiB
  /// (pytorch/module/base.py, get_cublas_workspace_size_bytes).
  void use_process(ProcessMemory& out) const {
    const Silicon silicon = silicon_of(p_.on);
    const bool recent = silicon == Silicon::hopper || silicon == Silicon::blackwell;
    Bytes workspaces(recent ? 32 * mebibyte : 8 * mebibyte + mebibyte / 8);
    if (p_.software == MemorySoftware::transformer_engine) workspaces += Bytes((recent ? 32 : 4) * mebibyte);
    out.workspaces = workspaces;
    if (kind_ == MemoryKind::reserved) out.slack = share(fitted_.reserved, total(out));
    if (kind_ != MemoryKind::process) return;
    out.slack = share(fitted_.fragmented, total(out));
    const Bytes measured = device().achieved.overhead;
    out.process = measured != Bytes() ? measured : Bytes(std::llround(fitted_.process));
  }

  const TrainedProcess& p_;
  const Plan& plan_;
  const Layout& layout_;
  MemoryKind kind_;
  MemoryParameters fitted_;
  Prices prices_;
  Partition partition_;
  HeadNumbers head_;
};

}  // namespace

Bytes total(const ProcessMemory& m) {
  Bytes all = m.tensors;
  for (const ProcessTerm& t : memory_terms)
    if (const std::optional<Bytes>& bytes = m.*t.bytes) all += *bytes;
  return all;
}

Bytes needed(const ProcessMemory& m) { return total(m) - m.slack.value_or(Bytes()); }

MemoryClass memory_class(MemoryKind kind) {
  return kind == MemoryKind::process ? MemoryClass::process : MemoryClass::allocator;
}

bool has_known_process(const HardwareCard& card) {
  return card.vendor == "NVIDIA" && card.architecture.find("Neoverse") == std::string::npos;
}

std::vector<ProcessMemory> process_memories(const TrainedProcess& p, Count stages, MemoryKind kind,
                                            const MemoryParameters& fitted) {
  const RankMemory ranks_of(p, kind, fitted);
  std::vector<ProcessMemory> all;
  for (Count r = 0; r < stages; ++r) all.push_back(ranks_of.of_rank(r));
  return all;
}

const ProcessMemory& fullest(const std::vector<ProcessMemory>& all) {
  return *std::max_element(all.begin(), all.end(),
                           [](const ProcessMemory& a, const ProcessMemory& b) { return total(a) < total(b); });
}

}  // namespace llmcalc
