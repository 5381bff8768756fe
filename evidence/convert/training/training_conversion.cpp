#include "evidence/convert/training/training_conversion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calc/operator/pricing.hpp"
#include "calc/pipeline/chunk.hpp"
#include "calc/pipeline/schedule.hpp"
#include "evidence/capacity.hpp"
#include "evidence/case_check.hpp"
#include "evidence/convert/row_arch.hpp"
#include "evidence/convert/training/stage_split.hpp"
#include "evidence/convert/training/training_formats.hpp"
#include "evidence/convert/training/training_layout.hpp"
#include "evidence/convert/training/training_offload.hpp"
#include "evidence/convert/training/training_row.hpp"
#include "evidence/convert/words/adapter_words.hpp"
#include "evidence/convert/words/attention_words.hpp"
#include "evidence/convert/words/cluster_words.hpp"
#include "evidence/convert/words/flops_convention.hpp"
#include "evidence/convert/words/recompute_words.hpp"
#include "evidence/convert/words/stack_words.hpp"
#include "evidence/names/training_stack.hpp"
#include "evidence/names/words.hpp"
#include "text/date.hpp"
#include "text/leading_number.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

bool contains(const std::string& text, std::string_view word) { return text.find(word) != std::string::npos; }

/// Number of MTP modules that "mtp" states. Empty if the text is not understood.
std::optional<Count> further_tokens(const TrainingRow& row) {
  const std::string& said = row.model.mtp;
  if (said.empty()) return 0;
  if (said == "true") return 1;
  const bool number = said.size() <= 2 && said.find_first_not_of("0123456789") == std::string::npos;
  return number ? std::optional<Count>(leading_whole(said)) : std::nullopt;
}

/// Reason that a row's time does not cover a full step; empty if it does.
std::string part_of_step(const TrainingRow& row) {
  const Words scope(row.scope);
  if (scope.silent()) return "";
  if (scope.affirms_any({"layer", "layers", "block"})) return "the time is of one layer, not of a step";
  const bool forward = scope.affirms_any({"forward", "fwd"}), backward = scope.affirms_any({"backward", "bwd"});
  const bool update = scope.affirms_any({"optimizer", "optimiser", "update", "step", "iteration"});
  if (forward && !backward) return "the time covers only the forward pass, not a step";
  if (backward && !forward) return "the time covers only the backward pass, not a step";
  if ((forward && !update) || scope.has_any({"without optimizer", "excluding optimizer", "no optimizer"}) ||
      scope.denies("optimizer"))
    return "the time covers a step without the optimizer";
  return "";
}

/// Whether notes mention optimizer states or weights in host memory or on disk.
bool is_offloaded(const Words& notes) {
  return notes.affirms_any({"cpu offload", "cpu offloading", "offload to cpu", "offloaded to cpu", "zero offload",
                            "zero infinity", "zeroinfinity", "nvme offload", "offload to nvme"});
}

/// Reason that a plan cannot express the row; empty if it can.
std::string not_expressed(const TrainingRow& row) {
  const Words recompute(row.recompute), notes(row.notes), attention(row.attention);
  if (const std::string part = part_of_step(row); !part.empty()) return part;
  if (recompute.affirms_any({"offload", "offloading", "offloaded"}) || row.offload_alpha.value_or(0) > 0 ||
      notes.affirms_any({"activation offload", "activation offloading", "offload opt", "offload master",
                         "offload quants", "offload residual", "offload gradients", "offload weights"}) ||
      (row.parallelism.offload.empty() && is_offloaded(notes)))
    return "something is offloaded to the host";
  if (attention.affirms("packed") || notes.affirms_any({"packed data", "packed sequences", "sequence packing"}))
    return "sequences are packed, and attention is computed inside of documents";
  if (notes.affirms_any({"dpo", "rlhf", "ppo", "grpo"}))
    return "a step of preference learning runs more than one model or generates tokens";
  if (row.model.mtp.empty() && notes.affirms_any({"mtp depth", "mtp 1", "multi token prediction"}))
    return "the run uses multi-token prediction, but \"mtp\" is missing";
  if (!further_tokens(row))
    return fmt::format("the run uses multi-token prediction, but \"mtp\" is {}", in_quotes(row.model.mtp));
  return unknown_formats(row);
}

/// Modules that the run recomputes. Excludes a flash attention core, whose backward pass always recomputes the
/// scores.
RecomputeModules modules_of(const Recomputed& r, AttentionImpl attention) {
  RecomputeModules all;
  for (const auto& [recomputes, module] :
       {std::pair{r.core && attention == AttentionImpl::naive, RecomputeModule::core},
        {r.norms, RecomputeModule::norm},
        {r.activations, RecomputeModule::act},
        {r.mlp, RecomputeModule::mlp},
        {r.up, RecomputeModule::up}})
    if (recomputes) all.add(module);
  return all;
}

/// Sets the recomputation of whole layers: of all layers, in groups, or of the first layers of every chunk.
void use_recomputed_layers(const Recomputed& r, const Arch& arch, const Layout& split, Plan& plan) {
  const Count chunks = mul(split.pp, split.chunks), layers = arch.layers / chunks;
  plan.recompute = Recompute::full;
  if (r.group > 1 && r.every_layer()) plan.recompute_layers = std::clamp<Count>(r.group, 1, std::max<Count>(1, layers));
  const Count again = recomputed_layers(r, layers, chunks);
  if (r.every_layer() || (again >= layers && layers > 0)) return;
  plan.recompute_method = RecomputeMethod::block;
  plan.recompute_layers = again;
}

/// Sets the plan's recomputation option that is closest to `r`. TrainingCase::recomputed keeps details that a plan
/// cannot express.
void use_recompute(const Recomputed& r, const Arch& arch, const Layout& split, Plan& plan) {
  if (r.layers) {
    use_recomputed_layers(r, arch, split, plan);
  } else if (const RecomputeModules modules = modules_of(r, plan.attention); !modules.empty()) {
    plan.recompute = Recompute::selective;
    plan.recompute_modules = modules;
  }
}

bool stores_scores(AttentionKernel k) { return k == AttentionKernel::unfused || k == AttentionKernel::fused_softmax; }

/// Reason that a memory figure does not cover a whole step; empty if it does.
std::string part_of_memory(const std::string& said) {
  const Words words(said);
  const bool states =
      words.affirms_any({"model states", "weights only", "states only", "parameters only", "optimizer only"});
  const bool no_activations = words.denies("activations") || words.denies("activation");
  if (words.affirms_any({"theoretical", "estimated", "calculated", "predicted"}))
    return "its memory was calculated, not measured";
  if (states || no_activations) return "its memory covers only the model states";
  const bool whole = words.affirms_any({"peak", "reserved", "allocated", "active", "process", "total"});
  if (words.affirms_any({"activation", "activations"}) && !whole) return "its memory covers only activations";
  return "";
}

MemoryKind kind_of_memory(const std::string& said) {
  const std::string text = lower(said);
  if (contains(text, "nvidia-smi") || contains(text, "rocm-smi") || contains(text, "process") || contains(text, "dcgm"))
    return MemoryKind::process;
  if (contains(text, "reserved")) return MemoryKind::reserved;
  if (contains(text, "allocated") || contains(text, "active")) return MemoryKind::allocated;
  return MemoryKind::peak;
}

/// Number of devices whose memory was observed; 0: all. A peak described as "observed" is from the first node only.
Count devices_observed(const TrainingRow& row) {
  const bool by_eye = lower(row.measured.memory_kind).starts_with("observed");
  return by_eye ? row.hardware.gpus_per_node.value_or(0) : 0;
}

std::vector<MeasuredMemory> measured_memory(const TrainingRow& row, const Stack& stack) {
  const TrainingMeasured& m = row.measured;
  std::vector<MeasuredMemory> out;
  const MemoryKind kind = kind_of_memory(m.memory_kind);
  // nvidia-smi counts in MiB and torchtitan's log in GiB, so a GB from either has 2^30 bytes.
  const double gb = kind == MemoryKind::process || stack.name == "torchtitan" ? 0x1p30 : 1e9;
  const auto add = [&](std::string_view key, const std::optional<double>& said, double unit, MemoryKind of) {
    if (said) out.push_back({.bytes = *said * unit, .kind = of, .key = std::string(key)});
  };
  add("memory_per_gpu_gb", m.memory_per_gpu_gb, gb, kind);
  add("memory_per_gpu_gib", m.memory_per_gpu_gib, 0x1p30, kind);
  add("memory_allocated_gib", m.memory_allocated_gib, 0x1p30, MemoryKind::allocated);
  add("memory_allocated_bytes", m.memory_allocated_bytes, 1, MemoryKind::allocated);
  return out;
}

/// Converts measured values to step times, the most direct value first.
class Clock {
 public:
  Clock(const TrainingRow& row, TrainingCase& c)
      : row_(row), c_(c), convention_(flops_convention(row.flops_convention)) {}

  void read() {
    const TrainingMeasured& m = row_.measured;
    const double all = static_cast<double>(row_.hardware.count), sequences = static_cast<double>(c_.plan.global_batch);
    const double tokens = sequences * static_cast<double>(c_.plan.seq);
    if (m.iteration_time_s) return take("iteration_time_s", *m.iteration_time_s);
    if (m.tokens_per_s) return take("tokens_per_s", tokens / *m.tokens_per_s);
    if (m.tokens_per_s_per_gpu) return take("tokens_per_s_per_gpu", tokens / (*m.tokens_per_s_per_gpu * all));
    if (m.samples_per_s) return take("samples_per_s", sequences / *m.samples_per_s);
    if (m.samples_per_s_per_gpu) return take("samples_per_s_per_gpu", sequences / (*m.samples_per_s_per_gpu * all));
    if (m.tflops_per_gpu) return take("tflops_per_gpu", flops(is_of_hardware()) / (*m.tflops_per_gpu * 1e12 * all));
    if (m.mfu) return take("mfu", flops(false) / (*m.mfu * peak() * all));
    if (m.hfu) return take("hfu", flops(true) / (*m.hfu * peak() * all));
    c_.no_step = "neither a time nor a rate was measured";
  }

 private:
  void take(const char* key, double seconds) {
    c_.measured_as = key;
    c_.step = Seconds(seconds);
  }

  bool is_of_hardware() const { return contains(lower(row_.measured.tflops_kind), "hardware"); }

  /// FLOPs of a step as the row counts them. Conventions with full recomputation include it. Others count model FLOPs;
  /// hardware FLOPs are a third higher if every layer is recomputed.
  double flops(bool of_hardware) {
    if (convention_.formula == FlopsFormula::unknown)
      c_.assumed.push_back("FLOPs of matrices and full attention: the row does not state a convention");
    const double counted = convention_flops(convention_, c_.arch, c_.plan.seq,
                                            static_cast<double>(c_.plan.global_batch), row_.model.params_reported);
    if (c_.plan.mtp > 0) c_.assumed.push_back("the FLOPs convention excludes MTP modules");
    const bool again = c_.recomputed.every_layer();
    if (of_hardware == convention_.counts_recompute() || !again) return counted;
    return of_hardware ? counted * 4 / 3 : counted * 3 / 4;
  }

  double peak() {
    if (convention_.peak_tflops) return *convention_.peak_tflops * 1e12;
    return c_.cluster().device.peak(c_.plan.precision).value;
  }

  const TrainingRow& row_;
  TrainingCase& c_;
  FlopsConvention convention_;
};

HardwareSaid hardware_said(const TrainingRow& row) {
  const TrainingHardware& h = row.hardware;
  return {.device = h.gpu,
          .inside = h.intra_node,
          .between = h.inter_node,
          .memory_gb = h.memory_gb,
          .bandwidth_gb_s = h.peak_bw_gb_s,
          .count = h.count,
          .nodes = h.nodes,
          .per_node = h.gpus_per_node,
          .cores = {}};
}

/// Maximum number of micro-batches in a step, which bounds the cost of simulating a schedule. No published run has
/// more.
constexpr Count most_micro_batches = Count{1} << 16;

/// Reason that a pipeline cannot run the step; empty if it can.
std::string pipeline_flaw(const TrainingCase& c) {
  if (c.plan.global_batch < 1 || c.plan.global_batch % mul(c.plan.micro_batch, replicas(c.layout)) != 0)
    return fmt::format("{} sequences are not a whole number of micro-batches of {} on {} replicas", c.plan.global_batch,
                       c.plan.micro_batch, replicas(c.layout));
  if (ranks(c.layout, Group::pipeline) == 1) return "";
  const bool spread = c.layout.stage_layers.empty();
  if (c.layout.chunks > static_cast<Count>(most_chunks) ||
      (spread && mul(ranks(c.layout, Group::pipeline), c.layout.chunks) > c.arch.layers))
    return fmt::format("{} layers are fewer than the chunks of the pipeline", c.arch.layers);
  const Pipeline p{c.layout.schedule, ranks(c.layout, Group::pipeline), c.layout.chunks,
                   micro_batches(c.plan, c.layout)};
  if (p.micro_batches > most_micro_batches)
    return fmt::format("a step of {} micro-batches is too long to simulate", p.micro_batches);
  if (flaw(p) != PipelineFlaw::none)
    return fmt::format("{} micro-batches cannot run on {} ranks with the schedule {}", p.micro_batches, p.ranks,
                       name(p.schedule));
  return "";
}

/// Whether a stack has its own attention implementation that is not a flash kernel.
bool has_own_core(const Stack& s) { return s.name == "megatron-lm" || s.name == "megatron-deepspeed"; }

/// Whether a run uses the built-in attention of Megatron-LM, which is the default unless a run requests flash kernels
/// (megatron/arguments.py, --use-flash-attn). Applies only to runs on Volta and Ampere that mention neither such
/// kernels nor TransformerEngine, which includes them.
bool runs_own_core(const TrainingRow& row, const HardwareCard& hardware) {
  const Words told(
      fmt::format("{}; {}; {}; {}; {}", row.family, row.source.title, row.software, row.precision, row.notes));
  const bool of_its_time = hardware.architecture.starts_with("Volta") || hardware.architecture.starts_with("Ampere");
  return of_its_time &&
         !told.affirms_any({"flash", "flashattention", "flashattn", "flash attn", "te", "transformer engine",
                            "transformerengine", "cudnn", "mcore", "megatron core", "core r", "fp8"});
}

void describe(const TrainingRow& row, TrainingCase& c) {
  c.stack = stack_of(row);
  c.attention = attention_called(row.attention);
  if (!c.attention.stated && has_own_core(c.stack) && runs_own_core(row, c.on.hardware))
    c.attention.kernel = AttentionKernel::fused_softmax;
  c.recomputed = recomputed_called(row.recompute);
  c.half_gradients_open = contains(row.precision, "mixed fp16/bf16");
  c.compiles_loss = c.stack.compiled.value_or(false) && !contains(row.source.title, "2024");
  if (row.model.moe) c.capacity_factor = row.model.moe->capacity_factor;
  if (row.model.moe && !c.capacity_factor && contains(lower(row.notes), "token drop")) c.capacity_factor = 1;
}

/// Sets MTP modules as in DeepSeek-V3: a layer like the model's last one, a separate norm, and the model's embedding
/// table and head.
void use_modules(const TrainingRow& row, TrainingCase& c, Assumptions& assumed) {
  c.plan.mtp = further_tokens(row).value_or(0);
  if (c.plan.mtp == 0) return;
  c.arch.mtp = modules_like_last_layer(c.arch, c.plan.mtp);
  assumed.note(
      fmt::format("{}, each with a layer like the model's last one, sharing the model's embedding table and head",
                  c.plan.mtp == 1 ? "an MTP module" : fmt::format("{} MTP modules", c.plan.mtp)));
}

void use_plan(const TrainingRow& row, TrainingCase& c, Assumptions& assumed) {
  c.plan.seq = *row.model.seq_len;
  use_modules(row, c, assumed);
  c.plan.offload = offload_of(row, c.skip);
  c.plan.attention = stores_scores(c.attention.kernel) ? AttentionImpl::naive : AttentionImpl::flash;
  use_formats(row, c.on.hardware, c.plan, assumed);
  use_states(row, c.stack, c.plan, assumed);
  c.plan.logits = logit_store(c.stack);
  use_adapters(row, c.arch, c.layout, c.plan, assumed, c.skip);
  if (c.plan.lora_rank > 0) c.plan.base_precision = widened(c.plan.base_precision, c.stack);
  // Megatron-LM trains with dropout by default, but its runs with flash kernels train models without dropout.
  c.plan.dropout = c.stack.name == "megatron-lm" && c.plan.attention == AttentionImpl::naive;
  const TrainingBatchSizes sizes = batch_of(row, c.layout, assumed);
  c.plan.micro_batch = sizes.micro;
  c.plan.global_batch = sizes.global;
  use_recompute(c.recomputed, c.arch, c.layout, c.plan);
}

/// Records the assumed attention kernel. For a stack with its own attention, time depends strongly on this assumption.
void note_kernel(const TrainingCase& c, Assumptions& assumed) {
  constexpr const char* flash = "a flash kernel for attention: the row does not state the kernel";
  if (stores_scores(c.attention.kernel))
    return assumed.note("Megatron-LM's own attention, for the row states no kernel");
  has_own_core(c.stack) ? assumed.weigh(flash) : assumed.note(flash);
}

void note_what_is_unstated(const TrainingRow& row, const TrainingCase& c, Assumptions& assumed) {
  if (!c.recomputed.assumed.empty()) assumed.weigh(c.recomputed.assumed);
  if (!c.stack.assumed.empty()) assumed.weigh(c.stack.assumed);
  if (!c.attention.stated) note_kernel(c, assumed);
  if (!c.attention.assumed.empty()) assumed.weigh(c.attention.assumed);
  if (!row.assumed.empty()) assumed.weigh("as the row itself says, assumed: " + row.assumed);
  if (contains(lower(row.notes), "assumed")) assumed.weigh("as the row itself says: " + row.notes);
}

void use_model(const TrainingRow& row, TrainingCase& c, Assumptions& assumed) {
  const RowArch model = arch_of(row);
  c.arch = model.arch;
  c.skip = model.skip;
  for (const std::string& sentence : model.assumed) assumed.note(sentence);
  assumed.weighty |= model.weighty;
}

void use_cluster(const TrainingRow& row, const Devices& devices, TrainingCase& c) {
  c.on = cluster_of(hardware_said(row), devices);
  c.skip = c.on.skip;
  c.assumed = c.on.assumed;
}

void use_layout(const TrainingRow& row, TrainingCase& c, Assumptions& assumed) {
  describe(row, c);
  c.layout = layout_of(row, c.arch, assumed, c.skip);
  if (!c.skip.empty()) return;
  use_plan(row, c, assumed);
  if (!c.skip.empty()) return;
  c.layout.stage_layers = stage_layers_of(row, c.arch, c.layout, assumed);
  const bool times_layers_alone = contains(lower(row.family), "vtrain");  // vTrain's model has GPT-2's vocabulary,
                                                                          // unpadded
  if (!times_layers_alone) c.layout.vocabulary_multiple = vocabulary_multiple(c.stack);
  c.skip = pipeline_flaw(c);
}

/// Sets TF32 for a step that is too fast for fp32, because PyTorch and its containers run fp32 matmuls in TF32.
void use_tensor_cores(TrainingCase& c) {
  const DType tf32 = *dtype("tf32");
  if (c.plan.precision != dtypes::fp32 || c.cluster().device.peak(tf32).value <= 0) return;
  if (least_utilization(c) <= 1) return;
  c.plan.precision = c.plan.working = tf32;
  c.assumed.push_back("matmuls in tf32: the row states fp32, in which no step is this fast");
  c.input_assumed = true;
}

void use_measured(const TrainingRow& row, TrainingCase& c, Assumptions& assumed) {
  note_what_is_unstated(row, c, assumed);
  c.assumed.insert(c.assumed.end(), assumed.sentences.begin(), assumed.sentences.end());
  c.input_assumed = assumed.weighty || !c.on.preset;
  if (std::string beyond = states_beyond_memory(c); !beyond.empty()) c.assumed.push_back(std::move(beyond));
  Clock(row, c).read();
  use_tensor_cores(c);
  c.no_memory = part_of_memory(row.measured.memory_kind);
  if (c.no_memory.empty()) c.memory = measured_memory(row, c.stack);
  for (MeasuredMemory& m : c.memory) {
    m.devices = devices_observed(row);
    m.stated = !contains(lower(row.measured.memory_kind), "not stated");
  }
}

MeasurementHead head_of(const TrainingRow& row) {
  return {.id = row.id,
          .where = row.where,
          .family = row.family.empty() ? "not stated" : row.family,
          .quality = row.quality,
          .date = leading_date(row.date).value_or(""),
          .model = row.model.name,
          .source = row.source,
          .gpus = row.hardware.count};
}

bool states_memory(const TrainingMeasured& m) {
  return m.memory_per_gpu_gb || m.memory_per_gpu_gib || m.memory_allocated_gib || m.memory_allocated_bytes;
}

}  // namespace

TrainingCase training_case(const TrainingRow& row, const Devices& devices) {
  TrainingCase c{.head = head_of(row)};
  c.states_memory = states_memory(row.measured);
  Assumptions assumed;
  try {
    c.skip = not_expressed(row);
    if (c.skip.empty()) use_model(row, c, assumed);
    if (c.skip.empty()) use_cluster(row, devices, c);
    if (c.skip.empty()) use_layout(row, c, assumed);
    if (c.skip.empty()) use_measured(row, c, assumed);
  } catch (const Overflow&) {
    c.skip = "a product of its numbers exceeds 2^63";
  }
  return c;
}

}  // namespace llmcalc
