#include <cmath>

#include "calc/formats/dtype.hpp"
#include "calc/textbook/textbook.hpp"
#include "tests/golden_values/golden_rows.hpp"

namespace llmcalc::golden {
namespace {

using json::Object;
namespace tb = textbook;

constexpr double gib = 1024.0 * 1024 * 1024;

constexpr std::pair<std::string_view, GluStore> glu_names[] = {
    {"all4", GluStore::all}, {"fused3", GluStore::fused}, {"recompute2", GluStore::recompute}};
constexpr std::pair<std::string_view, Recompute> stored_names[] = {
    {"none", Recompute::none}, {"selective", Recompute::selective}, {"full", Recompute::full}};

Arch model(const Object& in) { return arch(in.object("model")); }

// ---- Seeds

Number seed_gpt3(const Object& in) {
  const tb::Gpt3CaseStudy s = tb::gpt3_case_study(choice<tb::Gpt3States>(
      in, "convention", {{"corrected", tb::Gpt3States::corrected}, {"printed", tb::Gpt3States::printed}}));
  const auto in_gib = [](Bytes b) { return static_cast<double>(b.value) / gib; };
  if (in.text("item") == "params") return whole(s.params);
  return choice<double>(in, "item",
                        {{"weights", in_gib(s.weights)},
                         {"grads", in_gib(s.gradients)},
                         {"optim", in_gib(s.optimizer)},
                         {"nonact", in_gib(s.states())},
                         {"act_linear", in_gib(s.linear_per_token)},
                         {"act_quadratic", in_gib(s.quadratic_per_token2)},
                         {"ratio_2048", s.activation_ratio(2048)},
                         {"nonact_T8_unsharded_embed", in_gib(s.sharded_states)},
                         {"act_linear_T8", s.sharded_linear.value() / gib},
                         {"act_quadratic_T8", s.sharded_quadratic.value() / gib}});
}
Number act_seed(const Object& in) {
  const tb::SeedActivations s{.batch = in.count("batch"),
                              .seq = in.count("seq"),
                              .layers = in.count("n_layers"),
                              .hidden = in.count("d_model"),
                              .heads = in.count("n_heads"),
                              .expansion = in.count("expansion"),
                              .precision = in.count("p"),
                              .tensor_parallel = in.count("tensor_parallel"),
                              .sequence_parallel = in.flag("sequence_parallel")};
  using Part = tb::Fraction (*)(const tb::SeedActivations&);
  return choice<Part>(in, "part",
                      {{"attention", &tb::seed_attention_activations},
                       {"mlp", &tb::seed_mlp_activations},
                       {"layernorm", &tb::seed_norm_activations},
                       {"total", &tb::seed_activations}})(s);
}
Number break_even_batch(const Object& in) {
  return tb::mixed_precision_break_even_batch(in.count("d_model"), in.count("n_heads"), in.count("seq"));
}
Number kv_seed(const Object& in) {
  return tb::seed_kv_cache(in.count("batch"), in.count("seq"), in.count("d_model"), in.count("n_layers"), in.count("p"),
                           in.count("tensor_parallel"));
}

// ---- Activations

Number act_layer(const Object& in) {
  return tb::layer_activations(
      {.batch = in.count("batch"),
       .seq = in.count("seq"),
       .hidden = in.count("d_model"),
       .heads = in.count("n_heads"),
       .kv_heads = in.count("n_kv_heads"),
       .head_dim = in.count("d_head"),
       .mlp_width = in.count("d_ff"),
       .precision = in.count("p"),
       .gated = in.text("mlp") == "glu",
       .layer_norm = in.text("norm") == "layernorm",
       .flash = in.text("attn_impl") == "flash",
       .attention_dropout = in.flag("attn_dropout"),
       .hidden_dropout = in.flag("hidden_dropout"),
       .parallel_block = in.flag("parallel_block"),
       .norm_stats = in.flag("norm_stats"),
       .sequence_parallel = in.flag("sequence_parallel"),
       .softmax = in.text("softmax_store") == "seed" ? SoftmaxStore::seed : SoftmaxStore::minimal,
       .glu = choice(in, "glu_store", glu_names),
       .stored = choice(in, "recompute", stored_names),
       .tensor_parallel = in.count("tensor_parallel"),
       .context_parallel = in.count("context_parallel")});
}

/// A row of Table 2 in Korthikanti et al.
struct Mode {
  bool tensor_parallel = false, sequence_parallel = false;
  Recompute stored = Recompute::none;
};
Mode mode(const Object& in) {
  using S = Recompute;
  return choice<Mode>(in, "mode",
                      {{"none", {false, false, S::none}},
                       {"tp", {true, false, S::none}},
                       {"tp_sp", {true, true, S::none}},
                       {"tp_selective", {true, false, S::selective}},
                       {"tp_sp_selective", {true, true, S::selective}},
                       {"full", {true, false, S::full}},
                       {"full_sp", {true, true, S::full}}});
}
tb::KorthikantiLayer korthikanti(const Object& in, const Mode& m) {
  return {.seq = in.count("seq"),
          .batch = in.count("batch"),
          .hidden = in.count("d_model"),
          .heads = in.count_or("n_heads", 0),
          .tensor_parallel = m.tensor_parallel ? in.count("tensor_parallel") : 1,
          .sequence_parallel = m.sequence_parallel};
}
Number act_korthikanti_layer(const Object& in) {
  const Mode m = mode(in);
  return tb::korthikanti_layer(korthikanti(in, m), m.stored);
}
Number act_first_stage(const Object& in) {
  const Mode m = mode(in);
  return tb::korthikanti_first_stage(korthikanti(in, m), in.count("n_layers"), in.count("pipeline"),
                                     in.count("virtual"), m.stored);
}
Number act_extras(const Object& in) {
  return tb::korthikanti_extras(korthikanti(in, {.tensor_parallel = true}), in.count("vocab"), in.count("pipeline"));
}
Number act_logits(const Object& in) {
  return tb::logits_activations(in.count("batch"), in.count("seq"), in.count("vocab"), in.count("bytes_per_logit"),
                                in.count("tensor_parallel"), in.count("chunks"));
}
Number act_moe_mlp(const Object& in) {
  const auto percent = static_cast<Count>(std::llround(100 * in.number_or("capacity_factor", 1)));
  return tb::moe_activations({.batch = in.count("batch"),
                              .seq = in.count("seq"),
                              .hidden = in.count("d_model"),
                              .experts = in.count("n_experts"),
                              .top_k = in.count("top_k"),
                              .width = in.count("d_ff_expert"),
                              .shared_experts = in.count("n_shared"),
                              .shared_width = in.count("d_ff_shared"),
                              .precision = in.count("p"),
                              .gated = in.text("mlp") == "glu",
                              .glu = choice(in, "glu_store", glu_names),
                              .capacity = {percent, 100}});
}

// ---- Weights, gradients, optimizer states

tb::StatePreset preset(const Object& in) {
  if (const auto p = tb::state_preset(in.text("preset"))) return *p;
  throw InputError(in.where() + ": \"" + in.text("preset") + "\" is no known preset of optimizer states");
}
Number state_bytes(const Object& in) { return whole(tb::state_bytes(preset(in), in.count("n_params"))); }
Number state_bytes_part(const Object& in) {
  using Part = Count tb::StatePreset::*;
  const Part part = choice<Part>(in, "part",
                                 {{"weights", &tb::StatePreset::weights},
                                  {"grads", &tb::StatePreset::gradients},
                                  {"optim", &tb::StatePreset::optimizer}});
  return tb::Fraction(tb::Exact(preset(in).*part) * in.count("n_params"), 1);
}
Number zero_bytes(const Object& in) {
  return tb::zero_bytes(preset(in), in.count("n_params"), in.count("data_parallel"),
                        static_cast<int>(in.count("stage")));
}
Number fsdp_gather_bytes(const Object& in) {
  return whole(tb::gathered_bytes(in.count("unit_params"), in.count("weight_bytes"), in.count("units_resident"),
                                  in.count("grad_bytes")));
}
Number adam8bit_bytes(const Object& in) { return whole(tb::adam8bit_bytes(in.count("n_params"), in.count("block"))); }
Number adafactor_bytes(const Object& in) {
  return tb::Fraction(tb::Exact(in.count("bytes_per")) * tb::adafactor_numbers(model(in)), 1);
}

// ---- Quantized weights

DType format(const Object& in) {
  if (const auto t = dtype(in.text("fmt"))) return *t;
  throw InputError(in.where() + ": \"" + in.text("fmt") + "\" is no known number format");
}
Number quant_bytes(const Object& in) { return whole(tensor_bytes(format(in), in.count("rows"), in.count("cols"))); }
Number quant_bits(const Object& in) { return bits_per_weight(format(in)); }
Number int_group_bytes(const Object& in) {
  return whole(tb::integer_group_bytes(in.count("rows"), in.count("cols"), in.count("bits"), in.count("group"),
                                       in.count("scale_bytes"), in.count("zero_bits")));
}
Number nf4_bytes(const Object& in) {
  return whole(tb::nf4_bytes(in.count("n_weights"), in.count("block"), in.flag("double_quant"), in.count("block2")));
}

// ---- KV cache

Number kv_bytes_per_token(const Object& in) {
  return whole(tb::kv_bytes_per_token(model(in), in.count("kv_bytes"), in.count("tensor_parallel"),
                                      in.count("scale_bytes_per_head")));
}
Number kv_cache_bytes(const Object& in) {
  Arch a = model(in);
  if (in.has("window")) a.local = {{in.count("window")}, LayerSet::every(in.count("global_layers"), 1, a.layers)};
  return whole(tb::kv_cache_bytes(a, in.count("batch"), in.count("context"), in.count("kv_bytes"),
                                  in.count("tensor_parallel"), in.count("page"), in.count("scale_bytes_per_head")));
}

constexpr Row rows[] = {{"seed_gpt3", seed_gpt3},
                        {"act_seed", act_seed},
                        {"mixed_precision_break_even_batch", break_even_batch},
                        {"kv_seed", kv_seed},
                        {"act_layer", act_layer},
                        {"act_korthikanti_layer", act_korthikanti_layer},
                        {"act_first_stage", act_first_stage},
                        {"act_extras", act_extras},
                        {"act_logits", act_logits},
                        {"act_moe_mlp", act_moe_mlp},
                        {"state_bytes", state_bytes},
                        {"state_bytes_part", state_bytes_part},
                        {"zero_bytes", zero_bytes},
                        {"fsdp_gather_bytes", fsdp_gather_bytes},
                        {"adam8bit_state_bytes", adam8bit_bytes},
                        {"adafactor_state_bytes", adafactor_bytes},
                        {"quant_bytes", quant_bytes},
                        {"quant_bits_per_weight", quant_bits},
                        {"int_group_bytes", int_group_bytes},
                        {"nf4_bytes", nf4_bytes},
                        {"kv_bytes_per_token", kv_bytes_per_token},
                        {"kv_cache_bytes", kv_cache_bytes}};

}  // namespace

std::span<const Row> memory_rows() { return rows; }

}  // namespace llmcalc::golden
