// Golden activations, states, caches and traffic, computed from the engine's operators without the textbook.

#include "calc/block/program.hpp"
#include "calc/cost/cost.hpp"
#include "calc/infer.hpp"
#include "calc/memory.hpp"
#include "calc/operator/liveness.hpp"
#include "calc/parameters.hpp"
#include "tests/golden_values/engine.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// A model with n parameters: a single tied embedding table.
Arch table_of(Count n) {
  Arch a;
  a.hidden = a.embedding_width = 1;
  a.vocabulary = n;
  a.tied_head = true;
  a.final_norm = false;
  a.position = Position::none;
  return a;
}

/// GPT's block as in the seeds and in Korthikanti et al.: MHA, E = 4, no biases, all layers alike.
Arch gpt_of(Count layers, Count hidden, Count heads, Count vocabulary) {
  Arch a;
  a.layers = layers;
  a.hidden = a.embedding_width = hidden;
  a.vocabulary = vocabulary;
  a.heads = a.kv_heads = heads;
  a.head_dim = hidden / heads;
  a.mlp_width = 4 * hidden;
  a.position = Position::none;
  a.tied_head = true;
  return a;
}

/// The seeds' rule: naive attention, dropout, scores before and after softmax, no norm statistics.
Plan seed_plan(Count batch, Count seq, Count precision) {
  Plan p;
  p.micro_batch = p.global_batch = batch;
  p.seq = seq;
  p.weight_precision = p.precision = bytes_wide(precision);
  p.attention = AttentionImpl::naive;
  p.dropout = true;
  p.softmax_store = SoftmaxStore::seed;
  p.norm_stats = false;
  return p;
}

OpList block(const Arch& a, const Step& step, const Layout& tp) {
  return split_tensor(block_ops(a, *layer_kinds(a).begin(), step), tp);
}

/// Bytes that one block saves for backward, with separate dropout options for scores and hidden state.
Bytes saved(const Arch& a, const Plan& p, bool attention_dropout, const Layout& tp = {}) {
  Pricing price = pricing(p, Phase::training);
  price.dropout = attention_dropout;
  const Step step = training_step(p);
  const Count rows = tp.sp ? step.tokens() / tp.tp : step.tokens();
  const Liveness l = liveness(block(a, step, tp), price, rows * a.hidden);
  return p.recompute == Recompute::full ? l.input : l.saved;
}

/// Bytes that the part of a block from operator `first` to `last` saves for backward, excluding the part's input.
Bytes saved_of(const Arch& a, const Plan& p, std::string_view first, std::string_view last) {
  OpList part;
  const OpList ops = block(a, training_step(p), {});
  part.take_tensors(ops);
  bool on = false;
  for (const Op& op : ops) {
    on = on || op.name == first;
    if (on) part.push(op);
    if (op.name == last) break;
  }
  return liveness(part, pricing(p, Phase::training), 0).saved;
}

Arch layer_of(const json::Object& in) {
  Arch a;
  a.layers = 1;
  a.hidden = a.embedding_width = in.count("d_model");
  a.heads = in.count("n_heads");
  a.kv_heads = in.count("n_kv_heads");
  a.head_dim = in.count("d_head");
  a.mlp = in.text("mlp") == "glu" ? MlpKind::gated : MlpKind::plain;
  a.mlp_width = in.count("d_ff");
  a.norm = in.text("norm") == "rmsnorm" ? NormKind::rms_norm : NormKind::layer_norm;
  if (in.flag("parallel_block")) {
    a.block = BlockKind::parallel;
    a.norms_per_layer = 1;
  }
  return a;
}

GluStore glu_store(const json::Object& in) {
  const std::string s = in.text("glu_store");
  return s == "all4" ? GluStore::all : s == "fused3" ? GluStore::fused : GluStore::recompute;
}

}  // namespace

TEST_CASE("the bytes saved by one block match the golden values with every storage option", "[golden]") {
  CHECK(
      each_case("act_layer", [](const json::Object& in, const std::string& value) {
        REQUIRE(in.count("context_parallel") == 1);
        const std::string again = in.text("recompute");
        Plan p;
        Layout layout;
        p.micro_batch = p.global_batch = in.count("batch");
        p.seq = in.count("seq");
        p.precision = p.working = bytes_wide(in.count("p"));
        layout.tp = in.count("tensor_parallel");
        layout.sp = in.flag("sequence_parallel");
        p.dropout = in.flag("hidden_dropout");
        p.attention = in.text("attn_impl") == "flash" ? AttentionImpl::flash : AttentionImpl::naive;
        p.softmax_store = in.text("softmax_store") == "seed" ? SoftmaxStore::seed : SoftmaxStore::minimal;
        p.glu_store = glu_store(in);
        p.norm_stats = in.flag("norm_stats");
        p.recompute = again == "full" ? Recompute::full : again == "selective" ? Recompute::selective : Recompute::none;
        CHECK(digits(saved(layer_of(in), p, in.flag("attn_dropout"), layout)) == value);
      }) == 12);
}

TEST_CASE("plan options reproduce the activation formulas of the seeds", "[golden]") {
  CHECK(each_case("act_seed", [](const json::Object& in, const std::string& value) {
          REQUIRE(in.count("expansion") == 4);
          const Arch a = gpt_of(in.count("n_layers"), in.count("d_model"), in.count("n_heads"), 0);
          Plan p = seed_plan(in.count("batch"), in.count("seq"), in.count("p"));
          Layout layout;
          layout.tp = in.count("tensor_parallel");
          layout.sp = in.flag("sequence_parallel");
          const Bytes all = a.layers * saved(a, p, true, layout);
          const std::string part = in.text("part");
          if (part == "total") {
            CHECK(digits(all) == value);
            return;
          }
          // A part's input is the norm's output: the part saves it, the norm produces it.
          const Bytes input = bytes_of(p.precision, p.micro_batch * p.seq * a.hidden);
          const Bytes attention = a.layers * (input + saved_of(a, p, "attn.q", "attn.dropout"));
          const Bytes mlp = a.layers * (input + saved_of(a, p, "mlp.up", "mlp.dropout"));
          CHECK(digits(part == "attention" ? attention : part == "mlp" ? mlp : all - attention - mlp) == value);
        }) == 8);
}

TEST_CASE("one block saves the bytes in Table 2 of Korthikanti et al.", "[golden]") {
  CHECK(each_case("act_korthikanti_layer", [](const json::Object& in, const std::string& value) {
          const std::string mode = in.text("mode");
          Plan p = seed_plan(in.count("batch"), in.count("seq"), 2);
          Layout layout;
          if (mode != "none") layout.tp = in.count("tensor_parallel");
          layout.sp = mode.find("sp") != std::string::npos;
          p.recompute = mode.rfind("full", 0) == 0                    ? Recompute::full
                        : mode.find("selective") != std::string::npos ? Recompute::selective
                                                                      : Recompute::none;
          CHECK(digits(saved(gpt_of(1, in.count("d_model"), in.count("n_heads"), 0), p, true, layout)) == value);
        }) == 7);
}

TEST_CASE("outside the blocks, a step saves the bytes given by Korthikanti et al.", "[golden]") {
  int on_one_stage = 0;
  CHECK(each_case("act_extras", [&](const json::Object& in, const std::string& value) {
          if (in.count("pipeline") != 1) return;  // training_memory has no pipeline stages
          ++on_one_stage;
          Plan p = seed_plan(in.count("batch"), in.count("seq"), 2);
          Layout layout;
          layout.tp = in.count("tensor_parallel");
          layout.sp = true;
          // Activations outside the layers: 2 a - b, with a for one layer and b for two.
          const auto memory = [&](Count layers) {
            return training_memory(gpt_of(layers, in.count("d_model"), layout.tp, in.count("vocab")), p, layout);
          };
          const Bytes activations = 2 * memory(1).activations - memory(2).activations;
          const Bytes ids(8 * p.micro_batch * p.seq);  // not counted in the paper
          CHECK(digits(activations - ids + memory(1).logits) == value);
        }) == 2);
  CHECK(on_one_stage == 1);
  int float32 = 0;
  CHECK(each_case("act_logits", [&](const json::Object& in, const std::string& value) {
          if (in.count("bytes_per_logit") != 4) return;  // the engine supports 4, p and p + 8
          ++float32;
          Plan p;
          Layout layout;
          p.micro_batch = p.global_batch = in.count("batch");
          p.seq = in.count("seq");
          layout.tp = in.count("tensor_parallel");
          p.logits.chunks = in.count("chunks");
          CHECK(digits(training_memory(gpt_of(1, layout.tp, layout.tp, in.count("vocab")), p, layout).logits) == value);
        }) == 2);
  CHECK(float32 == 1);
}

TEST_CASE("the bytes saved by an MoE MLP match the golden values", "[golden]") {
  CHECK(each_case("act_moe_mlp", [](const json::Object& in, const std::string& value) {
          const double capacity = in.has("capacity_factor") ? golden::real(in, "capacity_factor") : 1;
          const Count k = in.count("top_k"), copies = static_cast<Count>(capacity * static_cast<double>(k));
          Arch a = gpt_of(1, in.count("d_model"), 1, 0);
          a.mlp = MlpKind::gated;
          a.moe.experts = in.count("n_experts");
          a.moe.top_k = copies;
          a.moe.width = in.count("d_ff_expert");
          a.moe.shared_experts = in.count("n_shared");
          a.moe.shared_width = in.count("d_ff_shared");
          a.moe.layers = LayerSet::all(1);
          Plan p;
          p.micro_batch = p.global_batch = in.count("batch");
          p.seq = in.count("seq");
          p.precision = bytes_wide(in.count("p"));
          p.glu_store = glu_store(in);
          const Bytes mlp = saved_of(a, p, "mlp.router", "mlp.shared_add");
          // The capacity factor multiplies token copies, but not float32 gates: subtract the gates of the extra copies.
          const Bytes gates(4 * p.micro_batch * p.seq * (copies - k));
          CHECK(digits(mlp - gates) == value);
        }) == 2);
}

TEST_CASE("the engine's bytes of weights, gradients and optimizer states match the golden values", "[golden]") {
  const auto states = [](const std::string& preset, Count n) {
    Plan p;
    p.seq = p.global_batch = 1;
    if (preset == "adam_fp32") p.weight_precision = p.precision = dtypes::fp32;
    if (preset == "adam_mixed_fp16_grads") p.gradient_bytes = 2;
    if (preset == "adam_mixed_both_grads") p.gradient_bytes = 6;
    if (preset == "adam_bf16_pure") {
      p.gradient_bytes = 2;
      p.master = false;
      p.state_precision = dtypes::bf16;
    }
    if (preset == "sgd_momentum_mixed") {
      p.optimizer = Optimizer::momentum;
      p.gradient_bytes = 2;
    }
    if (preset == "adam8bit_master") {
      p.optimizer = Optimizer::adam8bit;
      p.gradient_bytes = 2;
    }
    return training_states(table_of(n), p);
  };
  CHECK(each_case("state_bytes", [&](const json::Object& in, const std::string& value) {
          const std::string preset = in.text("preset");
          const Count n = in.count("n_params");
          const States s = states(preset, n);
          CHECK(s.parameters == n);
          // The preset excludes the scales of 8-bit states.
          const Bytes scales(preset == "adam8bit_master" ? 8 * ceil_div(n, 256) : 0);
          CHECK(digits(s.weights + s.gradients + s.optimizer - scales) == value);
        }) == 7);
  CHECK(each_case("state_bytes_part", [&](const json::Object& in, const std::string& value) {
          REQUIRE(in.text("part") == "optim");
          CHECK(digits(states(in.text("preset"), in.count("n_params")).optimizer) == value);
        }) == 1);
  CHECK(each_case("adam8bit_state_bytes", [&](const json::Object& in, const std::string& value) {
          Plan p;
          p.optimizer = Optimizer::adam8bit;
          p.master = false;
          const Count n = in.count("n_params"), block = in.count("block");
          // The engine uses bitsandbytes' blocks of 256; the paper's have 2048.
          const Bytes finer(8 * (ceil_div(n, 256) - ceil_div(n, block)));
          CHECK(digits(optimizer_bytes(p, {.total = n}) - finer) == value);
        }) == 2);
}

TEST_CASE("mixed precision saves memory from the golden batch size upward", "[golden]") {
  CHECK(each_case("mixed_precision_break_even_batch", [](const json::Object& in, const std::string& value) {
          Arch a = gpt_of(1, in.count("d_model"), in.count("n_heads"), 0);
          a.norm = NormKind::weight_free;  // (2.9) counts matrices only
          const Plan half = seed_plan(1, in.count("seq"), 2), full = seed_plan(1, in.count("seq"), 4);
          const auto states = [&](const Plan& p) {
            const States s = training_states(a, p);
            return s.weights + s.gradients + s.optimizer;
          };
          const Bytes more = states(half) - states(full), fewer = saved(a, full, true) - saved(a, half, true);
          close(static_cast<double>(more.value) / static_cast<double>(fewer.value), value);
        }) == 3);
}

TEST_CASE("the engine's bytes of quantized weights match the golden values", "[golden]") {
  CHECK(each_case("quant_bytes", [](const json::Object& in, const std::string& value) {
          CHECK(digits(tensor_bytes(*dtype(in.text("fmt")), in.count("rows"), in.count("cols"))) == value);
        }) == 7);
  CHECK(each_case("quant_bits_per_weight", [](const json::Object& in, const std::string& value) {
          CHECK(bits_per_weight(*dtype(in.text("fmt"))) == std::stod(value));
        }) == 5);
  int known = 0;
  CHECK(each_case("int_group_bytes", [&](const json::Object& in, const std::string& value) {
          const Count bits = in.count("bits");
          if (bits == 3) return;  // no 3-bit format in the table
          ++known;
          const DType t = *dtype(bits == 8 ? "int8" : in.count("zero_bits") == 4 ? "awq" : "int4-g128");
          CHECK(digits(tensor_bytes(t, in.count("rows"), in.count("cols"))) == value);
        }) == 4);
  CHECK(known == 3);
  CHECK(each_case("nf4_bytes", [](const json::Object& in, const std::string& value) {
          REQUIRE((in.count("block") == 64 && in.count("block2") == 256));
          const DType t = *dtype(in.flag("double_quant") ? "nf4-dq" : "nf4");
          CHECK(digits(tensor_bytes(t, 4096, in.count("n_weights") / 4096)) == value);
        }) == 2);
}

TEST_CASE("the engine's KV cache bytes match the golden values", "[golden]") {
  CHECK(each_case("kv_bytes_per_token", [](const json::Object& in, const std::string& value) {
          Plan p;
          Layout layout;
          layout.tp = in.count("tensor_parallel");
          p.kv_precision = bytes_wide(in.count("kv_bytes"));
          CHECK(digits(cache_bytes_per_token(model(in), p, layout)) == value);
        }) == 6);
  CHECK(each_case("kv_cache_bytes", [](const json::Object& in, const std::string& value) {
          Arch a = model(in);
          if (in.has("window"))
            a.local = {{in.count("window")}, LayerSet::every(in.count("global_layers"), 1, a.layers)};
          Plan p;
          Layout layout;
          layout.tp = in.count("tensor_parallel");
          p.kv_precision = bytes_wide(in.count("kv_bytes"));
          // The engine has no pages, so round the context up to whole pages here.
          const Count page = in.count("page"), context = ceil_div(in.count("context"), page) * page;
          CHECK(digits(in.count("batch") * cache_bytes(a, p, context, layout)) == value);
        }) == 17);
}

TEST_CASE("the weight bytes read by a decode step match the golden values", "[golden]") {
  CHECK(each_case("weight_bytes_read", [](const json::Object& in, const std::string& value) {
          Plan p;
          p.batch = in.count("tokens");
          p.weight_precision = p.precision = bytes_wide(in.count("weight_bytes"));
          close(decode(model(in), p, {}, {}, 100).rank.moved.weights, value);
        }) == 2);
  CHECK(each_case("experts_touched", [](const json::Object& in, const std::string& value) {
          close(groups_touched(in.count("n_experts"), in.count("top_k"), in.count("tokens")), value);
        }) == 1);
}

TEST_CASE("the bytes sent by tensor parallelism per layer and micro-batch match the golden values", "[golden]") {
  CHECK(each_case("comm_tp_layer", [](const json::Object& in, const std::string& value) {
          REQUIRE(in.flag("regather"));
          Arch a = gpt_of(1, in.count("d_model"), 64, 0);
          if (in.flag("parallel_block")) {
            a.block = BlockKind::parallel;
            a.norms_per_layer = 1;
          }
          const Step step{.sequences = in.count("batch"), .queries = in.count("seq"), .training = true};
          const Count ranks = in.count("tensor_parallel");
          const bool train = in.text("phase") == "train", again = in.text("recompute") == "full";
          Count sent = 0;  // ring volumes, in units of 1/ranks
          const auto send = [&](CollectiveOp op, const Collective& c, Count times) {
            const ByteFraction v =
                collective_volume(op, CollectiveAlgorithm::ring, Bytes(in.count("p") * c.elements), ranks);
            sent += times * c.repeats * v.numerator.value * (ranks / v.denominator);
          };
          for (const Op& op : block(a, step, {ranks, in.flag("sequence_parallel")})) {
            const Collective* c = std::get_if<Collective>(&op.shape);
            if (c == nullptr) continue;
            if (c->forward_on) send(c->forward, *c, again ? 2 : 1);
            if (train && c->backward_on) send(c->backward, *c, 1);
            if (train && c->regather) send(c->forward, *c, 1);
          }
          REQUIRE(sent % ranks == 0);
          CHECK(std::to_string(sent / ranks) == value);
        }) == 4);
}
