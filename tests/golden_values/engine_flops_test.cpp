// Golden parameters and FLOPs, computed from the engine's operators without the textbook.

#include "calc/cost/cost.hpp"
#include "calc/infer.hpp"
#include "calc/parameters.hpp"
#include "calc/price.hpp"
#include "calc/train.hpp"
#include "tests/golden_values/engine.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// Forward FLOPs of the operators that `wanted` accepts.
template <typename Wanted>
Flops forward_of(const Arch& a, const Step& step, AttentionFlops convention, const Wanted& wanted) {
  Flops f;
  for_each_operator(a, {}, {}, step, [&](const OperatorRow& row) {
    if (wanted(row.op)) f += row.segment.repeats * forward(row.op.shape, {.convention = convention}).model;
  });
  return f;
}
bool is_core(const Op& op) { return op.name == "attn.core"; }

/// FLOPs of one forward pass with the case's batch, seq, past, attention convention and LM head.
Flops forward(const Arch& a, const json::Object& in) {
  const Step step{.sequences = in.count("batch"),
                  .queries = in.count("seq"),
                  .past = in.count("past"),
                  .training = in.text("lm_head") == "all",
                  .absorbed = in.flag("absorbed")};
  const bool headless = in.text("lm_head") == "none";
  return forward_of(a, step, convention(in, "attention"),
                    [&](const Op& op) { return !headless || op.component != Component::lm_head; });
}
Step whole(const json::Object& in) {
  return {.sequences = in.count("batch"), .queries = in.count("seq"), .training = true};
}

Plan training_plan(const json::Object& in) {
  const std::string again = in.text("recompute");
  Plan p;
  p.micro_batch = p.global_batch = in.count("batch");
  p.seq = in.count("seq");
  p.attention_flops = convention(in, "attention");
  p.attention = in.flag("flash") ? AttentionImpl::flash : AttentionImpl::naive;
  p.recompute = again == "full" ? Recompute::full : again == "selective" ? Recompute::selective : Recompute::none;
  return p;
}

}  // namespace

TEST_CASE("the engine's parameters match the golden values", "[golden]") {
  CHECK(each_case("params_total", [](const json::Object& in, const std::string& value) {
          const Arch a = model(in);
          CHECK(std::to_string(parameters(a).total) == value);
        }) == 45);
}

TEST_CASE("the engine's active parameters match the golden values in three conventions", "[golden]") {
  CHECK(each_case("params_active", [](const json::Object& in, const std::string& value) {
          const Arch a = model(in);
          const Parameters p = parameters(a);
          const std::string kind = in.text("convention");
          Count n = p.active;
          if (kind != "all") n -= p.embedding + p.position;
          if (kind == "non_embedding") n -= p.lm_head;
          CHECK(std::to_string(n) == value);
        }) == 7);
}

TEST_CASE("the engine's parameter groups and alternative definitions of N match the golden values", "[golden]") {
  CHECK(each_case("params_group", [](const json::Object& in, const std::string& value) {
          const Parameters p = parameters(model(in));
          const std::string g = in.text("group");
          const Count n = g == "embed"  ? p.embedding
                          : g == "attn" ? p.attention
                          : g == "mlp"  ? p.mlp
                          : g == "norm" ? p.norm
                                        : p.lm_head;
          CHECK(std::to_string(n) == value);
        }) == 5);
  CHECK(each_case("params_non_embedding", [](const json::Object& in, const std::string& value) {
          const Parameters p = parameters(model(in));
          const Count n = in.text("convention") == "kaplan" ? p.non_embedding : p.total - p.position;
          CHECK(std::to_string(n) == value);
        }) == 2);
  CHECK(each_case("params_matmul", [](const json::Object& in, const std::string& value) {
          REQUIRE(in.flag("active"));
          CHECK(std::to_string(parameters(model(in)).matmul_active) == value);
        }) == 2);
}

TEST_CASE("the engine's Adafactor states match the golden values", "[golden]") {
  CHECK(each_case("adafactor_state_bytes", [](const json::Object& in, const std::string& value) {
          CHECK(std::to_string(in.count("bytes_per") * parameters(model(in)).factored) == value);
        }) == 4);
}

TEST_CASE("the engine's forward FLOPs match the golden values", "[golden]") {
  CHECK(each_case("flops_forward", [](const json::Object& in, const std::string& value) {
          Arch a = model(in);
          if (in.has("window")) a.local = {{in.count("window")}, LayerSet::all(a.layers)};
          CHECK(digits(forward(a, in)) == value);
        }) == 17);
}

TEST_CASE("the engine's FLOPs of single operators match the golden values", "[golden]") {
  CHECK(each_case("flops_op", [](const json::Object& in, const std::string& value) {
          const Arch a = model(in);
          if (in.text("op") == "qk") {  // QK and PV are equally wide, so each is half of the core
            const Flops core = forward_of(a, whole(in), convention(in, "attention"), is_core);
            CHECK(digits(core) == digits(2 * Flops(core.value / 2)));
            CHECK(digits(core.value / 2) == value);
          } else {
            REQUIRE(in.text("op") == "mlp");
            CHECK(digits(forward_of(a, whole(in), convention(in, "attention"),
                                    [](const Op& op) { return op.component == Component::mlp; })) == value);
          }
        }) == 2);
}

TEST_CASE("the engine's training FLOPs match the golden values, with flash backward recomputing the scores",
          "[golden]") {
  int same_convention = 0;
  CHECK(each_case("flops_train", [&](const json::Object& in, const std::string& value) {
          const Arch a = model(in);
          const Plan p = training_plan(in);
          const TrainingFlops f = training_flops(a, p);
          const Flops core = forward_of(a, training_step(p), p.attention_flops, is_core);
          const bool latent = a.attention == AttentionKind::latent;
          const Count qk = latent ? a.latent.nope_dim + a.latent.rope_dim : 1, v = latent ? a.latent.v_dim : 1;
          REQUIRE(core.value % static_cast<Int128>(qk + v) == 0);
          const Flops again = in.flag("flash") ? qk * Flops(core.value / static_cast<Int128>(qk + v)) : Flops();
          CHECK(digits(f.hardware_total + again) == value);
          // The executed FLOPs equal the golden count if both count the same pairs.
          const AttentionFlops done = in.flag("flash") ? AttentionFlops::causal_exact : AttentionFlops::full;
          if (p.attention_flops != done) return;
          CHECK(digits(f.executed) == value);
          ++same_convention;
        }) == 16);
  CHECK(same_convention == 6);
}

TEST_CASE("the engine's training FLOPs per token match the golden values", "[golden]") {
  CHECK(each_case("flops_train_per_token", [](const json::Object& in, const std::string& value) {
          Plan p;
          p.seq = in.count("seq");
          p.global_batch = 1;
          p.attention_flops = convention(in, "attention");
          const Flops f = training_flops(model(in), p).model_total;
          const auto tokens = static_cast<Int128>(p.seq);
          REQUIRE(f.value % tokens == 0);
          CHECK(digits(f.value / tokens) == value);
        }) == 3);
}

TEST_CASE("the engine's decode FLOPs match the golden values", "[golden]") {
  CHECK(each_case("decode_flops", [](const json::Object& in, const std::string& value) {
          Plan p;
          p.batch = in.count("batch");
          p.mla = in.flag("absorbed") ? Mla::automatic : Mla::expanded;
          CHECK(digits(decode(model(in), p, {}, {}, in.count("context")).flops) == value);
        }) == 17);
}

TEST_CASE("the engine's query-key pairs match the golden values", "[golden]") {
  CHECK(each_case("attention_pairs", [](const json::Object& in, const std::string& value) {
          const Count twice =
              twice_pairs(in.count("seq"), in.count("past"), {in.count_or("window", 0)}, convention(in, "convention"));
          CHECK(std::to_string(twice / 2) + (twice % 2 != 0 ? ".5" : "") == value);
        }) == 6);
}
