#include "validate/run.hpp"

#include <algorithm>

#include "calc/block/block.hpp"
#include "calc/memory.hpp"
#include "model/documents.hpp"
#include "model/storage/machine_memory.hpp"
#include "text/error.hpp"
#include "validate/case_model.hpp"
#include "validate/measure.hpp"
#include "validate/predict.hpp"

namespace llmcalc::validate {
namespace {

void refuse(const std::string& what) { throw InputError("the reference transformer does not run this plan: " + what); }

void check_plan(const Case& c, const Where& where) {
  const Plan& p = c.plan;
  if (c.layout != Layout{}) refuse("it runs on one device; omit --gpus, --tp and the other parallelism options");
  if (p.precision != dtypes::fp32 && p.precision != dtypes::bf16 && p.precision != dtypes::fp16)
    refuse("--precision " + std::string(p.precision.name()) + " is not supported; use fp32, bf16 or fp16");
  if (!where.on_processor)
    if (const std::string lack = where.make(model::Number::f32)->lacks_of(p); !lack.empty())
      refuse("the CUDA kernels do not support " + lack + "; use --device cpu");
  if (p.mtp > 0 && !where.on_processor)
    refuse("the GPU backend does not support MTP modules; omit --mtp or use --device cpu");
  if (p.memory_utilization < 1)
    refuse("--memory-utilization affects only the largest batch and context, which are not searched here; omit it");
  if (p.params_in_6n != ParamsIn6N::total)
    refuse("--params-in-6n affects only the 6N convention, but FLOPs are counted per operator; omit it");
  if (p.attention_flops != AttentionFlops::full && where.on_processor)
    refuse("--attention-flops affects only model FLOPs, but executed FLOPs are compared; omit it");
}

/// Rejects weight formats that the reference transformer cannot store.
void check_codes(const Arch& arch, const Plan& plan, const WeightFormats& formats, const std::string& option) {
  if (formats.any_held())
    refuse("it stores all tensors of a component in one format, unlike this checkpoint; set " + option);
  const model::ParameterFormats format = model::parameter_formats(arch, plan);
  for (const model::ParameterShape& s : model::parameter_shapes(arch, plan.mtp)) format(s);
}

void check_adapters(const Case& c) {
  if (!model::trains_in_part(c.arch))
    refuse(
        "it does not train adapters in a model whose layers read results of other layers or use token shift; omit "
        "--lora");
  check_codes(c.arch, c.plan, c.plan.base_precision, "--base-precision");
}

void check_training(const Case& c) {
  const Plan& p = c.plan;
  if (training_weights(p) != p.precision)
    refuse("it trains weights in the format of --precision; omit --weight-precision or add --infer");
  if (c.numerics.score_cap > 0 && p.attention == AttentionImpl::naive)
    refuse(
        "naive attention does not save the scores, which the gradient of the score cap requires; use --attention "
        "flash");
  if (p.gradient_bytes > 4) refuse("it stores one gradient per weight; set --gradient-bytes to 2 or 4");
  if (p.gradient_bytes != 4 && p.precision == dtypes::fp32)
    refuse("2-byte gradients use the format of --precision, and float32 has 4 bytes; set --precision to bf16 or fp16");
  const bool has_states =
      p.state_precision == dtypes::fp32 || p.state_precision == dtypes::bf16 || p.state_precision == dtypes::fp16;
  if (!has_states) refuse("its optimizer states are float32 or 16-bit; omit --state-precision");
  if (p.logits.format == LogitFormat::with_gradient)
    refuse("it stores a single copy of the logits; set --logits to fp32 or compute");
  if (p.logits.chunks > 1 && p.mtp > 0)
    refuse("logits of MTP modules cannot be chunked; omit --mtp, or remove chunked from --logits");
  if (p.logits.chunks > 1 && c.arch.head.exit_gate)
    refuse(
        "the exit gate reads the tensor that chunked logits overwrite with its gradient; remove chunked from --logits");
  if (trains_adapters(p)) check_adapters(c);
  if (!p.documents.empty() && !model::keeps_documents_apart(c.arch))
    refuse("recurrences, indexers and pooled keys of this model treat a sequence as one document; omit --documents");
  if (p.offload.any()) refuse("it stores all tensors on its device; omit --offload");
  if (!p.frozen.empty() && !model::trains_in_part(c.arch))
    refuse(
        "it cannot freeze part of a model whose layers read results of other layers or use token shift; omit --freeze");
  if (!p.frozen.empty() && recomputes_groups(p))
    refuse(
        "groups of layers are recomputed as a whole, including frozen layers; use --recompute full or omit --freeze");
  if (selected_modules(p) != RecomputeModules() && p.recompute_modules != RecomputeModule::core)
    refuse(
        "the attention core is the only module that it recomputes separately; use --recompute none, selective or full");
  if (recomputes_groups(p) && !model::recomputes_in_groups(c.arch))
    refuse(
        "layers of this model read results of other layers and cannot be recomputed in groups; use --recompute full");
  if (p.mla == Mla::absorbed) refuse("absorbed latent attention has no backward pass; add --infer or omit --mla");
}

/// Checks the formats of weights and cache in inference.
void check_formats(const Case& c) {
  const Plan& p = c.plan;
  check_codes(c.arch, p, p.weight_precision, "--weight-precision");
  if (!p.kv_cache) return;
  bool groups = false;
  for (const DType t : {p.kv_precision.keys, p.kv_precision.values}) {
    if (t != p.precision && !model::can_code(t))
      refuse("--kv-precision " + std::string(t.name()) + " is not supported; use int8 or fp8, for example");
    groups = groups || t.format().group > 0;
  }
  if (p.mla == Mla::expanded && (groups || !p.kv_precision.uniform()))
    refuse(
        "expanded latent heads store keys and values in one row without quantization groups; omit --mla, or set "
        "--kv-precision to int8 or fp8");
}

/// Checks a plan for inference. Passes that verify drafts append several tokens to every cache in one step.
void check_inference(const Case& c) {
  check_formats(c);
  if (c.plan.mtp == 0) return;
  const auto check_layer = [&](const LayerKind& layer) {
    for (const Op& op : block_ops(c.arch, layer, {})) {
      const Attention* a = std::get_if<Attention>(&op.shape);
      if (std::holds_alternative<Pool>(op.shape) || (a != nullptr && a->reach.limited()))
        refuse(
            "windows, chunks and pooled keys accept one token per step after the prompt, but drafts use several; omit "
            "--mtp or add --train");
    }
  };
  for (const LayerKind& layer : layer_kinds(c.arch)) check_layer(layer);
  check_layer(mtp_layer(c.arch));
}

/// Peak memory over all runs, including the token ids of a step's remaining micro-batches, which wait in memory.
Bytes peak(const Case& c, const RunParts& parts) {
  constexpr Count token = sizeof(model::Batch::ids[0]) + sizeof(model::Batch::targets[0]);
  Bytes most;
  if (parts.training) {
    const Plan plan = as_trained(c).plan;
    const Count waiting = std::max<Count>(0, plan.global_batch - plan.micro_batch);
    most = training_memory(c.arch, plan).peak + Bytes(mul(token, waiting, plan.seq));
  }
  return parts.inference ? std::max(most, inference_memory(c.arch, c.plan).peak) : most;
}

/// Runs one training step on a fresh model. run_inference() does the same for one generation.
Ledger run_training(const Case& c, model::Number number, const Where& where) {
  CaseModel m(c, number, where, false);
  m.t.weights().make_trainable(c.plan);
  return measured_training(m.t, CaseModel::seed);
}
Ledger run_inference(const Case& c, model::Number number, const Where& where) {
  CaseModel m(c, number, where, true);
  return measured_inference(m.t, CaseModel::seed);
}

Case one_micro_batch(Case c) {
  c.plan.global_batch = c.plan.micro_batch;
  return c;
}

void add_core(CaseVerdict& v, const char* part, const Ledger& measured) {
  if (measured.cores.forward) v.cores.push_back({part, measured.cores});
}

}  // namespace

model::Number number_of(DType t) {
  if (t == dtypes::fp16) return model::Number::f16;
  return t == dtypes::fp32 ? model::Number::f32 : model::Number::bf16;
}

Case as_trained(Case c) {
  if (c.plan.mla == Mla::absorbed) c.plan.mla = Mla::automatic;
  return c;
}

Case as_generated(Case c) {
  c.plan.lora_rank = 0;
  return c;
}

model::AvailableMemory Where::room() const {
  if (on_processor) return {.bytes = model::available_memory()};
  return {.bytes = make(model::Number::f32)->available(), .of = "the GPU"};
}

void check_runnable(const Case& c, const RunParts& parts, const Where& where) {
  check_plan(c, where);
  if (parts.training) check_training(c);
  if (parts.inference) check_inference(as_generated(c));
  model::refuse_beyond_memory(peak(c, parts), "this run",
                              "choose a smaller model, --seq or --micro-batch, or use only --infer", where.room());
}

void check_room(std::span<const Case> cases, const RunParts& parts, const Where& where) {
  const model::AvailableMemory room = where.room();
  for (const Case& c : cases)
    model::refuse_beyond_memory(peak(c, parts), ("the suite's case " + c.name).c_str(),
                                "free some memory, or use --suite small or only --infer", room);
}

CaseVerdict validated(const Case& c, const RunParts& parts, const Where& where) {
  const Where counting;
  constexpr model::Number counted = model::Number::counted;
  CaseVerdict v{.name = c.name, .rows = {}, .beside = {}, .order = "", .operators = 0};
  const auto number = number_of(c.plan.precision);
  if (parts.training) {
    const Case t = as_trained(c);
    const Ledger predicted = predicted_training(t.arch, t.plan);
    const Ledger measured = run_training(t, number, where);
    compare(v, "training", predicted, measured, training_names);
    add_core(v, "training", measured);
    if (parts.counted)
      compare_counted(v, "training", predicted, run_training(one_micro_batch(t), counted, counting), training_names);
  }
  if (parts.inference) {
    const Ledger predicted = predicted_inference(c.arch, c.plan);
    const Ledger measured = run_inference(c, number, where);
    compare(v, "inference", predicted, measured, inference_names);
    add_core(v, "inference", measured);
    if (parts.counted) compare_counted(v, "inference", predicted, run_inference(c, counted, counting), inference_names);
  }
  return v;
}

}  // namespace llmcalc::validate
