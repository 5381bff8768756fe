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
  if (c.layout != Layout{}) refuse("it runs on one device; leave out --gpus, --tp and the other options of ranks");
  if (p.precision != dtypes::fp32 && p.precision != dtypes::bf16 && p.precision != dtypes::fp16)
    refuse("--precision " + std::string(p.precision.name()) + " is neither fp32, bf16 nor fp16");
  if (!where.on_processor)
    if (const std::string lack = where.make(model::Number::f32)->lacks_of(p); !lack.empty())
      refuse("the GPU's kernels have no " + lack + "; give --device cpu");
  if (p.mtp > 0 && !where.on_processor)
    refuse("a GPU runs no modules for further tokens; leave out --mtp or give --device cpu");
  if (p.memory_utilization < 1)
    refuse("--memory-utilization is for the largest batch and context, which it does not look for; leave it out");
  if (p.params_in_6n != ParamsIn6N::total)
    refuse("--params-in-6n is about 6N, and its FLOPs are those of its operators; leave it out");
  if (p.attention_flops != AttentionFlops::full && where.on_processor)
    refuse("--attention-flops is about model FLOPs, and those that it executes are compared; leave it out");
}

/// Rejects formats in which weights cannot be held here.
void check_codes(const Arch& arch, const Plan& plan, const WeightFormats& formats, const std::string& option) {
  if (formats.any_held())
    refuse("it holds every tensor of a component in the component's format, and this checkpoint does not; give a " +
           option);
  const model::ParameterFormats format = model::parameter_formats(arch, plan);
  for (const model::ParameterShape& s : model::parameter_shapes(arch, plan.mtp)) format(s);
}

void check_adapters(const Case& c) {
  if (!model::trains_in_part(c.arch))
    refuse("it trains no adapters where layers read what others made or mix tokens; leave out --lora");
  check_codes(c.arch, c.plan, c.plan.base_precision, "--base-precision");
}

void check_training(const Case& c) {
  const Plan& p = c.plan;
  if (training_weights(p) != p.precision)
    refuse("it trains weights of the --precision; leave out --weight-precision, or add --infer");
  if (c.numerics.score_cap > 0 && p.attention == AttentionImpl::naive)
    refuse("naive attention keeps no scores, which the gradient of their cap needs; give --attention flash");
  if (p.gradient_bytes > 4) refuse("it keeps one gradient of each weight; give --gradient-bytes 2 or 4");
  if (p.gradient_bytes != 4 && p.precision == dtypes::fp32)
    refuse("gradients of 2 bytes are numbers of its --precision, and float32 has 4; give --precision bf16 or fp16");
  const bool has_states =
      p.state_precision == dtypes::fp32 || p.state_precision == dtypes::bf16 || p.state_precision == dtypes::fp16;
  if (!has_states) refuse("its optimizer states are float32 or of 16 bits; leave out --state-precision");
  if (p.logits.format == LogitFormat::with_gradient) refuse("its logits are there once; give --logits fp32 or compute");
  if (p.logits.chunks > 1 && p.mtp > 0)
    refuse("logits of modules for further tokens are there whole; leave out --mtp, or chunked in --logits");
  if (p.logits.chunks > 1 && c.arch.head.exit_gate)
    refuse("an exit gate reads what logits in chunks put their gradient into; leave out chunked in --logits");
  if (trains_adapters(p)) check_adapters(c);
  if (!p.documents.empty() && !model::keeps_documents_apart(c.arch))
    refuse(
        "recurrences, indexers and pooled keys of this model take a sequence for one document; leave out --documents");
  if (p.offload.any()) refuse("it holds all on its device; leave out --offload");
  if (!p.frozen.empty() && !model::trains_in_part(c.arch))
    refuse("it freezes no part of a model whose layers read what others made or mix tokens; leave out --freeze");
  if (!p.frozen.empty() && recomputes_groups(p))
    refuse("groups of layers run again whole, frozen ones among them; give --recompute full or leave out --freeze");
  if (selected_modules(p) != RecomputeModules() && p.recompute_modules != RecomputeModule::core)
    refuse("of a block's modules it recomputes the attention core alone; give --recompute none, selective or full");
  if (recomputes_groups(p) && !model::recomputes_in_groups(c.arch))
    refuse("layers of this model read what others made, and groups of them are not run again; give --recompute full");
  if (p.mla == Mla::absorbed) refuse("absorbed latent attention has no backward pass; add --infer or leave out --mla");
}

/// Checks the formats of weights and cache in inference.
void check_formats(const Case& c) {
  const Plan& p = c.plan;
  check_codes(c.arch, p, p.weight_precision, "--weight-precision");
  if (!p.kv_cache) return;
  bool groups = false;
  for (const DType t : {p.kv_precision.keys, p.kv_precision.values}) {
    if (t != p.precision && !model::can_code(t))
      refuse("--kv-precision " + std::string(t.name()) + " has no codes here; give int8 or fp8, for example");
    groups = groups || t.format().group > 0;
  }
  if (p.mla == Mla::expanded && (groups || !p.kv_precision.uniform()))
    refuse(
        "the rows of expanded latent heads hold keys and values here, without groups; leave out --mla, or give "
        "--kv-precision int8 or fp8");
}

/// Passes that verify drafts append several tokens to every cache at once.
void check_inference(const Case& c) {
  check_formats(c);
  if (c.plan.mtp == 0) return;
  const auto check_layer = [&](const LayerKind& layer) {
    for (const Op& op : block_ops(c.arch, layer, {})) {
      const Attention* a = std::get_if<Attention>(&op.shape);
      if (std::holds_alternative<Pool>(op.shape) || (a != nullptr && a->reach.limited()))
        refuse(
            "windows, chunks and pooled keys take one token at a time after the prompt, and drafts are several; leave "
            "out --mtp or add --train");
    }
  };
  for (const LayerKind& layer : layer_kinds(c.arch)) check_layer(layer);
  check_layer(mtp_layer(c.arch));
}

/// Peak over all runs, including the tokens of a step's further micro-batches, which wait in memory.
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

/// One training step or one generation on a fresh model.
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
  model::refuse_beyond_memory(peak(c, parts), "running this",
                              "choose a smaller model, --seq or --micro-batch, or --infer alone", where.room());
}

void check_room(std::span<const Case> cases, const RunParts& parts, const Where& where) {
  const model::AvailableMemory room = where.room();
  for (const Case& c : cases)
    model::refuse_beyond_memory(peak(c, parts), ("running the suite's " + c.name).c_str(),
                                "free some, or choose --suite small or --infer alone", room);
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
