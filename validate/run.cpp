#include "validate/run.hpp"

#include <algorithm>

#include "calc/block.hpp"
#include "calc/memory.hpp"
#include "model/machine_memory.hpp"
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
  if (p.precision != dtypes::fp32 && p.precision != dtypes::bf16)
    refuse("--precision " + std::string(p.precision.name()) + " is neither fp32 nor bf16");
  if (p.weight_precision != p.precision)
    refuse("its weights have the --precision of the rest; leave out --weight-precision");
  if (p.mtp > 0 && !where.on_processor)
    refuse("a GPU runs no modules for further tokens; leave out --mtp or give --device cpu");
  if (p.kv_precision != p.precision) refuse("its cache has the --precision of the rest; leave out --kv-precision");
  if (p.memory_utilization < 1)
    refuse("--memory-utilization is for the largest batch and context, which it does not look for; leave it out");
  if (p.params_in_6n != ParamsIn6N::total)
    refuse("--params-in-6n is about 6N, and its FLOPs are those of its operators; leave it out");
  if (p.attention_flops != AttentionFlops::full && where.on_processor)
    refuse("--attention-flops is about model FLOPs, and those that it executes are compared; leave it out");
}

void check_training(const Case& c) {
  const Plan& p = c.plan;
  if (c.numerics.score_cap > 0 || c.numerics.logit_cap > 0)
    refuse("it does not train a model that caps its scores or logits; add --infer");
  if (p.optimizer != Optimizer::adam && p.optimizer != Optimizer::momentum && p.optimizer != Optimizer::sgd)
    refuse("it knows the optimizers adam, momentum and sgd");
  if (p.gradient_bytes != 4) refuse("its gradients are float32; leave out --gradient-bytes");
  if (p.state_precision != dtypes::fp32)
    refuse(std::string("its optimizer states are float32; ") +
           (p.master ? "leave out --state-precision" : "with --master none give --state-precision fp32 too"));
  if (p.logits.chunks != 1 || p.logits.format == LogitFormat::with_gradient)
    refuse("its logits are there whole and once; give --logits fp32 or compute");
  if (trains_adapters(p)) refuse("it trains the whole model; leave out --lora");
  if (!p.documents.empty()) refuse("a sequence is one document to it; leave out --documents");
  if (p.offload.any()) refuse("it holds all on its device; leave out --offload");
  if (!p.frozen.empty()) refuse("it trains the whole model; leave out --freeze");
  if (recomputes_partly(p))
    refuse("it recomputes nothing, the attention core or every layer; give --recompute none, selective or full");
  if (p.mla == Mla::absorbed) refuse("absorbed latent attention has no backward pass; add --infer or leave out --mla");
}

/// Passes that verify drafts append several tokens to every cache at once.
void check_inference(const Case& c) {
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

/// At the worst moment of all that is run, with the tokens of a step's further micro-batches, which wait for their
/// turn.
Bytes peak(const Case& c, const Parts& parts) {
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
  CaseModel m(c, number, where);
  m.t.weights().make_trainable(c.plan);
  return measured_training(m.t, CaseModel::seed);
}
Ledger run_inference(const Case& c, model::Number number, const Where& where) {
  CaseModel m(c, number, where);
  return measured_inference(m.t, CaseModel::seed);
}

Case one_micro_batch(Case c) {
  c.plan.global_batch = c.plan.micro_batch;
  return c;
}

void add_core(Verdict& v, const char* part, const Ledger& measured) {
  if (measured.cores.forward) v.cores.push_back({part, measured.cores});
}

}  // namespace

model::Number number_of(DType t) { return t == dtypes::fp32 ? model::Number::f32 : model::Number::bf16; }

Case as_trained(Case c) {
  if (c.plan.mla == Mla::absorbed) c.plan.mla = Mla::automatic;
  return c;
}

model::Room Where::room() const {
  if (on_processor) return {.bytes = model::available_memory()};
  return {.bytes = make(model::Number::f32)->available(), .of = "the GPU"};
}

void check_runnable(const Case& c, const Parts& parts, const Where& where) {
  check_plan(c, where);
  if (parts.training) check_training(c);
  if (parts.inference) check_inference(c);
  model::refuse_beyond_memory(peak(c, parts), "running this",
                              "choose a smaller model, --seq or --micro-batch, or --infer alone", where.room());
}

void check_room(std::span<const Case> cases, const Parts& parts, const Where& where) {
  const model::Room room = where.room();
  for (const Case& c : cases)
    model::refuse_beyond_memory(peak(c, parts), ("running the suite's " + c.name).c_str(),
                                "free some, or choose --suite small or --infer alone", room);
}

Verdict validated(const Case& c, const Parts& parts, const Where& where) {
  const Where counting;
  constexpr model::Number counted = model::Number::counted;
  Verdict v{.name = c.name, .rows = {}, .beside = {}, .order = "", .operators = 0};
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
