#include "calc/scaling.hpp"
#include "calc/textbook/textbook.hpp"
#include "tests/golden_values/golden_rows.hpp"

namespace llmcalc::golden {
namespace {

using json::Object;
namespace tb = textbook;

Arch model(const Object& in) { return arch(in.object("model")); }
/// The model, with the case's window on every layer.
Arch windowed_model(const Object& in) {
  Arch a = model(in);
  if (in.has("window")) a.local = {{in.count("window")}, LayerSet::all(a.layers)};
  return a;
}

constexpr std::pair<std::string_view, AttentionFlops> pair_names[] = {{"full", AttentionFlops::full},
                                                                      {"causal_half", AttentionFlops::causal_half},
                                                                      {"causal_exact", AttentionFlops::causal_exact}};
constexpr std::pair<std::string_view, tb::Head> head_names[] = {
    {"all", tb::Head::all}, {"last", tb::Head::last}, {"none", tb::Head::none}};
constexpr std::pair<std::string_view, Recompute> recompute_names[] = {
    {"none", Recompute::none}, {"selective", Recompute::selective}, {"full", Recompute::full}};

tb::PassShape pass(const Object& in) {
  return {.batch = in.count_or("batch", 1),
          .seq = in.count("seq"),
          .past = in.count_or("past", 0),
          .pairs = choice(in, "attention", pair_names),
          .head = choice(in, "lm_head", head_names),
          .absorbed = in.flag_or("absorbed", false)};
}

// ---- Parameters

Number params_seed(const Object& in) {
  return tb::seed_parameters(in.count("n_layers"), in.count("d_model"), in.count("expansion"),
                             in.count("vocab") + in.count("max_pos"), in.count("tensor_parallel"));
}
Number params_seed_code(const Object& in) {
  const Count d = in.count("d_model");
  return whole(
      tb::gpt2_parameters(in.count("n_layers"), d, in.count("expansion") * d, in.count("vocab"), in.count("max_pos")));
}
Number params_wolfe_code(const Object& in) {
  return whole(tb::wolfe_parameters(in.count("n_layers"), in.count("d_model"), in.count("vocab"), in.count("max_pos"),
                                    in.flag("bias")));
}
Number params_total(const Object& in) { return whole(tb::parameters(model(in)).total()); }
Number params_group(const Object& in) {
  using Sum = Count tb::ParameterSums::*;
  const Sum sum = choice<Sum>(in, "group",
                              {{"embed", &tb::ParameterSums::embedding},
                               {"pos", &tb::ParameterSums::position},
                               {"attn", &tb::ParameterSums::attention},
                               {"mlp", &tb::ParameterSums::mlp},
                               {"norm", &tb::ParameterSums::norm},
                               {"head", &tb::ParameterSums::lm_head}});
  return whole(tb::parameters(model(in)).*sum);
}
Number params_active(const Object& in) {
  const Arch a = model(in);
  const tb::ParameterSums s = tb::parameters(a);
  const Count dropped = choice<Count>(
      in, "convention",
      {{"all", 0}, {"no_input_embedding", s.embedding}, {"non_embedding", s.embedding + s.position + s.lm_head}});
  return whole(tb::active_parameters(a) - dropped);
}
Number params_non_embedding(const Object& in) {
  const Arch a = model(in);
  return whole(choice<Count>(in, "convention",
                             {{"kaplan", tb::non_embedding_parameters(a)}, {"nanogpt", tb::nanogpt_parameters(a)}}));
}
Number params_matmul(const Object& in) { return whole(tb::matmul_parameters(model(in))); }

// ---- FLOPs

Number flops_seed_total(const Object& in) {
  return whole(tb::seed_train_flops(in.count("batch"), in.count("n_layers"), in.count("seq"), in.count("d_model"),
                                    in.count("expansion")));
}
Number attention_flops_share(const Object& in) {
  return tb::attention_flops_share(in.count("seq"), in.count("d_model"), in.count("expansion"));
}
Number flops_linear_backward(const Object& in) {
  return whole(
      tb::linear_backward_flops(in.count("tokens"), in.count("d_in"), in.count("d_out"), in.flag("input_needs_grad")));
}
Number flops_6nd(const Object& in) { return whole(tb::six_nd(in.count("n_params"), in.count("tokens"))); }
Number flops_palm(const Object& in) {
  const Count widths = in.count("n_layers") * in.count("n_heads") * in.count("d_head");
  return whole(tb::palm_flops_per_token(in.count("n_params"), widths, in.count("seq")));
}
Number flops_kaplan(const Object& in) {
  const Count widths = in.count("n_layers") * in.count("d_attn");
  return whole(tb::kaplan_flops_per_token(in.count("n_non_embedding"), widths, in.count("seq")));
}
Number flops_megatron(const Object& in) {
  const tb::GptStep step{in.count("batch"), in.count("seq"), in.count("n_layers"), in.count("d_model"),
                         in.count("vocab")};
  return whole(tb::megatron_flops(step, choice(in, "recompute", recompute_names), in.text("convention") == "paper"));
}
Number attention_pairs(const Object& in) {
  return tb::attention_pairs(choice(in, "convention", pair_names), in.count("seq"), in.count("past"),
                             {in.count_or("window", 0)});
}
Number flops_forward(const Object& in) { return whole(tb::forward_flops(windowed_model(in), pass(in)).total()); }
Number flops_op(const Object& in) {
  using Part = Flops (*)(const Arch&, const tb::PassShape&);
  const Part part = choice<Part>(in, "op", {{"qk", &tb::scores_flops}, {"mlp", &tb::mlp_flops}});
  return whole(part(windowed_model(in), pass(in)));
}
Number flops_train(const Object& in) {
  const Arch a = windowed_model(in);
  const tb::PassShape p = pass(in);
  const Flops recomputed_scores = in.flag("flash") ? tb::scores_flops(a, p) : Flops();
  return whole(tb::train_flops(tb::forward_flops(a, p), choice(in, "recompute", recompute_names), recomputed_scores));
}
Number flops_train_per_token(const Object& in) {
  const tb::ForwardFlops forward = tb::forward_flops(windowed_model(in), pass(in));
  return tb::Fraction(tb::Exact(tb::train_flops(forward)), in.count("seq"));
}
Number decode_flops(const Object& in) {
  return whole(tb::decode_flops(model(in), in.count("batch"), in.count("context"), in.flag("absorbed")));
}

// ---- Scaling laws

scaling::LossFit fit(const Object& in) {
  return choice<scaling::LossFit>(in, "fit",
                                  {{"hoffmann", scaling::chinchilla3},
                                   {"hoffmann_tex", scaling::chinchilla3_tex},
                                   {"besiroglu", scaling::besiroglu}});
}
Number wanted(const Object& in, const scaling::Optimum& o) {
  return choice<double>(
      in, "want",
      {{"params", o.params}, {"tokens", o.tokens}, {"ratio", o.tokens_per_parameter()}, {"loss", o.loss.value_or(0)}});
}
Number chinchilla_optimal(const Object& in) {
  return wanted(in, scaling::optimum_for_compute(fit(in), real(in, "compute")));
}
Number chinchilla_loss(const Object& in) { return scaling::loss(fit(in), real(in, "n_params"), real(in, "tokens")); }
Number rule20_optimal(const Object& in) {
  return wanted(in, scaling::optimum_for_compute(scaling::rule_of_thumb(real(in, "ratio")), real(in, "compute")));
}
Number kaplan_loss(const Object& in) {
  using Law = double (*)(double);
  const Law law = choice<Law>(in, "kind",
                              {{"N", &scaling::kaplan_loss_of_params},
                               {"D", &scaling::kaplan_loss_of_tokens},
                               {"Cmin", &scaling::kaplan_loss_of_compute}});
  return law(real(in, "x"));
}
Number kaplan_loss_nd(const Object& in) { return scaling::kaplan_loss(real(in, "n_params"), real(in, "tokens")); }
Number kaplan_critical_batch(const Object& in) { return scaling::kaplan_critical_batch(real(in, "loss")); }
Number kaplan_optimal_params(const Object& in) {
  return scaling::optimum_for_compute(scaling::kaplan, real(in, "pf_days") * scaling::pf_day).params;
}

constexpr Row rows[] = {{"params_seed", params_seed},
                        {"params_seed_code", params_seed_code},
                        {"params_wolfe_code", params_wolfe_code},
                        {"params_total", params_total},
                        {"params_group", params_group},
                        {"params_active", params_active},
                        {"params_non_embedding", params_non_embedding},
                        {"params_matmul", params_matmul},
                        {"flops_seed_total", flops_seed_total},
                        {"attention_flops_share", attention_flops_share},
                        {"flops_linear_backward", flops_linear_backward},
                        {"flops_6nd", flops_6nd},
                        {"flops_palm_per_token", flops_palm},
                        {"flops_kaplan_per_token", flops_kaplan},
                        {"flops_megatron", flops_megatron},
                        {"attention_pairs", attention_pairs},
                        {"flops_forward", flops_forward},
                        {"flops_op", flops_op},
                        {"flops_train", flops_train},
                        {"flops_train_per_token", flops_train_per_token},
                        {"decode_flops", decode_flops},
                        {"chinchilla_optimal", chinchilla_optimal},
                        {"chinchilla_loss", chinchilla_loss},
                        {"rule20_optimal", rule20_optimal},
                        {"kaplan_loss", kaplan_loss},
                        {"kaplan_loss_nd", kaplan_loss_nd},
                        {"kaplan_critical_batch_tokens", kaplan_critical_batch},
                        {"kaplan_optimal_params", kaplan_optimal_params}};

}  // namespace

std::span<const Row> model_rows() { return rows; }

}  // namespace llmcalc::golden
