#include "calc/run.hpp"
#include "calc/textbook/textbook.hpp"
#include "tests/golden_values/golden_rows.hpp"

namespace llmcalc::golden {
namespace {

using json::Object;
namespace tb = textbook;

Arch model(const Object& in) { return arch(in.object("model")); }

// ---- Rooflines

Number ridge_point(const Object& in) { return tb::ridge_point(real(in, "peak"), real(in, "bandwidth")); }
Number critical_batch(const Object& in) {
  const double ridge = tb::ridge_point(real(in, "peak"), real(in, "bandwidth")), weights = real(in, "weight_bytes");
  if (in.text("convention") == "weights_only") return tb::critical_batch(ridge, weights);
  return tb::critical_batch(ridge, weights, in.count("d_in"), in.count("d_out"), real(in, "act_bytes"));
}
Number matmul_intensity_seed(const Object& in) {
  return tb::seed_matmul_intensity(in.count("batch"), in.count("seq"), in.count("d_model"), real(in, "p"));
}
Number elementwise_intensity(const Object& in) {
  return tb::elementwise_intensity(real(in, "flops_per_element"), real(in, "bytes_read"), real(in, "bytes_written"));
}
tb::Gemm gemm(const Object& in) {
  return {.m = in.count("m"),
          .n = in.count("n"),
          .k = in.count("k"),
          .a_bytes = in.count("bytes_a"),
          .b_bytes = in.count("bytes_b"),
          .c_bytes = in.count("bytes_c")};
}
Number gemm_intensity(const Object& in) { return tb::gemm_intensity(gemm(in)); }
Number gemm_time(const Object& in) { return tb::gemm_seconds(gemm(in), real(in, "peak"), real(in, "bandwidth")); }
Number roofline_time(const Object& in) {
  return tb::roofline_seconds(real(in, "flops"), real(in, "nbytes"), real(in, "peak"), real(in, "bandwidth"),
                              in.text("mode") == "max");
}
Number decode_intensity(const Object& in) {
  const Count heads = in.count("n_heads"), groups = in.count("n_kv_heads");
  const double kv_bytes = real(in, "kv_bytes");
  if (in.text("convention") == "kv_only") return tb::decode_attention_intensity(heads, groups, kv_bytes);
  return tb::decode_attention_intensity(heads, groups, kv_bytes, in.count("d_head"), in.count("context"),
                                        real(in, "act_bytes"));
}
Number decode_intensity_mla(const Object& in) {
  return tb::latent_decode_intensity(in.count("n_heads"), in.count("kv_rank"), in.count("d_rope"),
                                     real(in, "kv_bytes"));
}

// ---- Inference

tb::Machine machine(const Object& in) {
  return {.devices = in.count("n_devices"),
          .peak = real(in, "peak"),
          .bandwidth = real(in, "bandwidth"),
          .flops_efficiency = in.number_or("flops_efficiency", 1),
          .bandwidth_efficiency = in.number_or("bw_efficiency", 1)};
}
Number weight_bytes_read(const Object& in) {
  return tb::weight_bytes_read(model(in), in.count("tokens"), in.count("weight_bytes"));
}
Number experts_touched(const Object& in) {
  return tb::experts_touched(in.count("n_experts"), in.count("top_k"), in.count("tokens"));
}
Number decode_step_time(const Object& in) {
  return tb::decode_step_seconds(model(in), in.count("batch"), in.count("context"), in.count("weight_bytes"),
                                 in.count("kv_bytes"), machine(in), real(in, "comm_seconds"));
}
Number prefill_time(const Object& in) {
  const tb::PassShape pass{
      .batch = in.count("batch"),
      .seq = in.count("seq"),
      .pairs = choice<AttentionFlops>(in, "attention",
                                      {{"full", AttentionFlops::full}, {"causal_exact", AttentionFlops::causal_exact}}),
      .head = choice<tb::Head>(in, "lm_head", {{"all", tb::Head::all}, {"last", tb::Head::last}})};
  return tb::prefill_seconds(model(in), pass, in.count("weight_bytes"), machine(in));
}
tb::Capacity room(const Object& in) {
  return {.memory = in.count("memory_bytes"),
          .devices = in.count("n_devices"),
          .weights = in.count("weights_bytes"),
          .reserve = in.count("reserve_bytes"),
          .utilization = real(in, "utilization")};
}
Number max_batch(const Object& in) {
  return whole(tb::max_batch(room(in), in.count("kv_per_token"), in.count("context")));
}
Number max_context(const Object& in) {
  return whole(tb::max_context(room(in), in.count("kv_per_token"), in.count("batch")));
}
Number spec_expected_tokens(const Object& in) {
  return tb::speculative_tokens(real(in, "acceptance"), in.count("draft"));
}
Number spec_speedup(const Object& in) {
  return tb::speculative_speedup(real(in, "acceptance"), in.count("draft"), real(in, "cost_ratio"));
}
Number spec_best_draft(const Object& in) {
  return whole(tb::best_draft(real(in, "acceptance"), real(in, "cost_ratio"), in.count("limit")));
}
Number serving_value(const Object& in) {
  const tb::Serving s{.batch = in.count("batch"),
                      .prompt = in.count("n_in"),
                      .generated = in.count("n_out"),
                      .fixed = real(in, "t_fixed"),
                      .per_context_token = real(in, "t_per_context_token"),
                      .prefill = real(in, "t_prefill")};
  return choice<double>(in, "field",
                        {{"requests_per_s", tb::requests_per_second(s)},
                         {"tokens_per_s", tb::serving_tokens_per_second(s)},
                         {"tpot_s", tb::time_per_output_token(s)}});
}

// ---- Training runs

Number mfu_value(const Object& in) {
  return mfu(real(in, "model_flops_per_token"), real(in, "tokens_per_second"), in.count("n_devices"),
             FlopsPerSecond(real(in, "peak")));
}
Number training_days(const Object& in) {
  return days(training_time(real(in, "n_params"), real(in, "tokens"), real(in, "flops_per_param_token"),
                            in.count("n_devices"), FlopsPerSecond(real(in, "peak")), real(in, "utilization")));
}
Number energy(const Object& in) { return energy_kwh(real(in, "device_hours"), real(in, "watts"), real(in, "pue")); }
Number carbon(const Object& in) { return co2_kg(real(in, "kwh"), real(in, "kg_per_kwh")); }
Number cost_value(const Object& in) { return cost(real(in, "device_hours"), real(in, "price_per_hour")); }

constexpr Row rows[] = {{"ridge_point", ridge_point},
                        {"critical_batch", critical_batch},
                        {"matmul_intensity_seed", matmul_intensity_seed},
                        {"elementwise_intensity", elementwise_intensity},
                        {"gemm_intensity", gemm_intensity},
                        {"gemm_time", gemm_time},
                        {"roofline_time", roofline_time},
                        {"decode_attention_intensity", decode_intensity},
                        {"decode_attention_intensity_mla", decode_intensity_mla},
                        {"weight_bytes_read", weight_bytes_read},
                        {"experts_touched", experts_touched},
                        {"decode_step_time", decode_step_time},
                        {"prefill_time", prefill_time},
                        {"max_batch", max_batch},
                        {"max_context", max_context},
                        {"spec_expected_tokens", spec_expected_tokens},
                        {"spec_speedup", spec_speedup},
                        {"spec_best_draft", spec_best_draft},
                        {"serving_value", serving_value},
                        {"mfu", mfu_value},
                        {"training_days", training_days},
                        {"energy_kwh", energy},
                        {"co2_kg", carbon},
                        {"cost", cost_value}};

}  // namespace

std::span<const Row> time_rows() { return rows; }

}  // namespace llmcalc::golden
