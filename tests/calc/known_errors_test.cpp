// Errors of other calculators, each with the correct value.

#include <cmath>

#include "calc/infer.hpp"
#include "calc/operator/liveness.hpp"
#include "calc/parameters.hpp"
#include "calc/train.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/calc/estimates.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

const Cluster h100 = device(989.4e12, 3.35e12, 450e9), a100 = device(312e12, 2.039e12, 300e9);

/// A value rounded to the printed number of decimal places.
double rounded(double v, int places) {
  const double scale = std::pow(10, places);
  return std::round(v * scale) / scale;
}

Plan step_roofline(Count batch, Count prompt) {
  Plan p;
  p.roofline = Roofline::step;
  p.batch = batch;
  p.prompt = prompt;
  p.attention_flops = AttentionFlops::causal_exact;
  return p;
}

/// Seconds of a decode step in the usual hand estimate: matmul weights and cache, without norms and table rows.
double by_hand(const Arch& a, const Plan& p, const Cluster& dev, Count context) {
  const PassEstimate e = decode(a, p, dev, context);
  const Parameters n = parameters(a);
  const double rows = static_cast<double>(2 * p.batch * a.hidden), norms = static_cast<double>(2 * n.norm);
  REQUIRE(e.rank.moved.weights == static_cast<double>(2 * n.matmul) + norms + rows);
  REQUIRE(e.bound.memory.value == e.bound.total().value);
  return e.bound.total().value - (norms + rows) / dev.device.bandwidth.value;
}

Count saved_of(const Arch& a, const Plan& p) {
  return liveness(first_block(a, training_step(p)), pricing(p, Phase::training), p.seq * a.hidden).saved.value;
}

}  // namespace

// ---- The same work in three tools

TEST_CASE("the times of Llama-2-7B on an A100 match the reference", "[golden][known-errors]") {
  const Arch a = llama2_7b();
  const Plan p = step_roofline(1, 1024);
  const PassEstimate e = prefill(a, p, a100, 1024);
  CHECK(rounded(static_cast<double>(e.flops.value) / 1e12, 3) == 13.538);
  CHECK(rounded(1e3 * e.bound.total().value, 3) == 43.392);
  CHECK(bound(e.bound) == Bound::compute);
  CHECK(rounded(1e3 * by_hand(a, p, a100, 1024), 4) == 6.7440);
}

TEST_CASE("the times of Llama-3.1-8B on an H100 match the reference", "[golden][known-errors]") {
  const Arch a = llama31_8b();
  Plan p = step_roofline(8, 2048);
  const PassEstimate e = prefill(a, p, h100, 2048);
  CHECK(rounded(static_cast<double>(e.flops.value) / 1e12, 2) == 237.51);
  CHECK(rounded(1e3 * e.bound.total().value, 2) == 240.05);
  CHECK(rounded(1e3 * by_hand(a, p, h100, 2048), 4) == 5.1214);
  CHECK(rounded(8e-9 * static_cast<double>(cache_bytes(a, p, 2048).value), 4) == 2.1475);
  CHECK(rounded(8e-9 * static_cast<double>(cache_bytes(a, p, 2304).value), 4) == 2.4159);
  // With all pairs: 16384 x 2 x 6979321856 + 2 x 8 x 525336576 + 4 x 32 x 4096 x 2048^2 x 8 = 246.299. With the head on
  // every token, as in llm-analysis: 263.505.
  p.attention_flops = AttentionFlops::full;
  const Flops full = prefill(a, p, h100, 2048).flops;
  CHECK(rounded(static_cast<double>(full.value) / 1e12, 3) == 246.299);
  const Step everywhere{.sequences = 8, .queries = 2048, .training = true};
  const Flops head = forward_work(a, everywhere, pricing(p, Phase::prefill), {}).total();
  CHECK(rounded(static_cast<double>((head - full).value) / 1e12, 2) == 17.21);
  CHECK(rounded(static_cast<double>(head.value) / 1e12, 3) == 263.505);
}

TEST_CASE("the times of Llama-3.1-70B on four H100s match the reference plus communication", "[golden][known-errors]") {
  const Arch a = llama31_70b();
  Plan p = step_roofline(16, 2048);
  const double norms = 2.0 * 161 * 8192;  // on every rank; the reference counts a quarter
  CHECK(rounded(1e-9 * (static_cast<double>(weights_bytes(a, p, {.tp = 4}).value) - norms * 3 / 4), 3) == 35.277);
  const PassEstimate e = decode(a, p, h100, 2048, {.tp = 4});
  const double rows = 2.0 * 16 * 8192;
  CHECK(rounded(1e-9 * (e.rank.moved.weights - rows - norms), 3) == 34.751);
  const double memory = e.bound.memory.value - (norms + rows) / 3.35e12;
  CHECK(rounded(1e3 * memory, 4) == 11.1747);
  CHECK(rounded(1e3 * prefill(a, p, h100, 2048, {.tp = 4}).bound.compute.value, 2) == 1155.76);
  CHECK(e.bound.communication.value > 0);
}

// ---- Inference and memory

TEST_CASE("cache size depends on KV heads rather than on query heads or the hidden size", "[known-errors]") {
  const Plan p;
  CHECK(cache_bytes_per_token(llama31_8b(), p) == Bytes(131072));   // MHA would take 4 times as much
  CHECK(cache_bytes_per_token(llama31_70b(), p) == Bytes(327680));  // MHA would take 8 times as much
  CHECK(cache_bytes_per_token(llama2_7b(), p) == Bytes(524288));
}

TEST_CASE("a cache supports a head width other than hidden / heads", "[known-errors]") {
  Arch a = even();  // Gemma-3-27B: 62 layers, 16 KV heads of width 128, hidden 5376, 32 heads (5376 / 32 = 168)
  a.layers = 62;
  a.hidden = a.embedding_width = 5376;
  a.heads = 32;
  a.kv_heads = 16;
  a.head_dim = 128;
  CHECK(cache_bytes_per_token(a, {}) == Bytes(2 * 253952));
  CHECK(shape_of<Linear>(first_block(a, {}), "attn.q").out == 4096);
}

TEST_CASE("latent cache size depends on the latent width and the shared key, not on the number of heads",
          "[known-errors]") {
  Arch a = even_latent();  // DeepSeek-V3
  a.layers = 61;
  a.heads = a.kv_heads = 128;
  a.hidden = a.embedding_width = 7168;
  a.latent = {1536, 512, 128, 64, 128};
  CHECK(cache_bytes_per_token(a, {}) == Bytes(70272));
  Arch mha = a;  // as multi-head attention, heads of width 128 + 64 and 128
  CHECK(61 * 2 * 128 * (192 + 128) == 70272 / 576 * 128 * 320);
  const Attention core = shape_of<Attention>(first_block(mha, {}), "attn.core");
  CHECK(core.kv_heads * (core.qk_dim + core.v_dim) == 128 * 320);
  CHECK(core.cached() == 576);
}

TEST_CASE("the cache stops growing in windowed layers and is constant in linear layers", "[known-errors]") {
  Arch a = even();
  a.layers = 6;  // the last layer keeps full attention
  a.local = {{100}, LayerSet::all(5)};
  const Count layer = 2 * 64 * 2;
  CHECK(cache_bytes(a, {}, 10000) == Bytes(layer * (10000 + 5 * 100)));
  a.local = {};
  a.linear_layers = LayerSet::all(5);
  CHECK(cache_bytes(a, {}, 10000) == Bytes(layer * 10000 + 5 * 4 * 16 * 8 * 8));
  CHECK(cache_bytes_per_token(a, {}) == Bytes(layer));
  CHECK(cache_elements_per_token(a) == 2 * 64);
}

TEST_CASE("a FlashAttention decode step is never slower than a naive one", "[known-errors]") {
  for (const Arch& a : {llama2_7b(), llama31_8b(), llama31_70b()})
    for (const Count context : {128, 2048, 32768}) {
      Plan p;
      p.batch = 8;
      const double flash = decode(a, p, h100, context).bound.total().value;
      p.attention = AttentionImpl::naive;
      CHECK(flash <= decode(a, p, h100, context).bound.total().value);
    }
}

TEST_CASE("a batch in an MoE reads every expert that its tokens are routed to, which is more than top_k",
          "[known-errors]") {
  const Arch a = mixtral_8x7b();
  const double expert = 2.0 * 32 * 3 * 4096 * 14336;  // one of 8 experts, in all layers
  const auto read = [&](Count batch) {
    Plan p;
    p.batch = batch;
    return decode(a, p, h100, 1000).rank.moved.weights;
  };
  const double fixed = 2.0 * static_cast<double>(parameters(a).total) - 8 * expert - 2.0 * 32000 * 4096;
  CHECK(read(1) == Approx(fixed + 2 * expert + 2.0 * 4096));
  CHECK(read(4) == Approx(fixed + 8 * (1 - std::pow(0.75, 4)) * expert + 2.0 * 4 * 4096));
  CHECK(read(256) == Approx(fixed + 8 * expert + 2.0 * 256 * 4096));
  // Batch 32, context 2048 on an H100 with enough memory: about 27.8 ms of weights; top_k experts would give 7.6.
  Plan p = step_roofline(32, 2048);
  CHECK(decode(a, p, h100, 2048).bound.total().value > (fixed + 7.9 * expert) / 3.35e12);
}

TEST_CASE("4-bit weights speed up decoding but not a compute-bound prefill", "[known-errors]") {
  Plan p = step_roofline(1, 8192);
  const double bf16 = prefill(llama31_8b(), p, h100, 8192).bound.total().value;
  p.weight_precision = *dtype("int4-g128");
  CHECK(prefill(llama31_8b(), p, h100, 8192).bound.total().value == bf16);
  CHECK(decode(llama31_8b(), p, h100, 100).bound.total().value < 4.8e-3 / 2);
}

TEST_CASE("with more ranks than KV heads, each rank holds one KV head", "[known-errors]") {
  Plan p;
  for (const auto& [ranks, bytes] : {std::pair<Count, Count>{1, 131072}, {8, 16384}, {16, 16384}, {32, 16384}}) {
    CHECK(cache_bytes_per_token(llama31_8b(), p, {.tp = ranks}) == Bytes(bytes));
  }
}

TEST_CASE("a prefill computes the head at the last position only", "[known-errors]") {
  const Arch a = llama31_8b();
  const Plan p = step_roofline(3, 100);
  const Work w = forward_work(a, prefill_step(p, 100), pricing(p, Phase::prefill), {});
  CHECK(w.head == flops(2, 3, 4096, 128256));
  CHECK(decode(a, p, h100, 100).flops == flops(2, 3, parameters(a).matmul) + flops(4, 3, 32, 32, 128, 100));
}

TEST_CASE("a decode step never takes less time than reading its weights and cache", "[known-errors]") {
  for (const Arch& a : {llama2_7b(), llama31_8b(), llama31_70b()})
    for (const Count batch : {1, 8, 64}) {
      Plan p;
      p.batch = batch;
      const double floor =
          static_cast<double>(2 * parameters(a).matmul + batch * cache_bytes(a, p, 4096).value) / 3.35e12;
      CHECK(decode(a, p, h100, 4096).bound.total().value >= floor);
    }
}

TEST_CASE("time per token grows with the cache", "[known-errors]") {
  const Plan p = step_roofline(8, 2048);
  const double near = decode(llama31_8b(), p, h100, 1000).bound.total().value;
  const double far = decode(llama31_8b(), p, h100, 101000).bound.total().value;
  CHECK(far - near == Approx(8 * 100000 * 131072.0 / 3.35e12));
}

TEST_CASE("tied embeddings are stored once, and untied ones twice", "[known-errors]") {
  Arch a = llama31_8b();
  CHECK(parameters(a).total == 8030261248);
  a.tied_head = true;
  CHECK(parameters(a).total == 8030261248 - 128256 * 4096);
  CHECK(parameters(a).matmul == parameters(llama31_8b()).matmul);
  CHECK(parameters(a).lm_head == 0);
  CHECK(weights_bytes(a, {}) == Bytes(2 * parameters(a).total));
}

TEST_CASE("a token's FLOPs depend on the active parameters, and memory depends on all parameters", "[known-errors]") {
  const Parameters p = parameters(mixtral_8x7b());
  CHECK(p.total == 46702792704);
  CHECK(p.active == 12879925248);
  const PassEstimate e = decode(mixtral_8x7b(), step_roofline(1, 100), h100, 1);
  // 2 x active, minus the table and the norms, plus one pair of the core
  CHECK(e.flops == flops(2, p.active - p.embedding - p.norm) + flops(4, 32, 32, 128));
  CHECK(weights_bytes(mixtral_8x7b(), {}) == Bytes(2 * p.total));
}

// ---- Training

namespace {
Plan micro_batch_of(Count seq) {
  Plan p;
  p.seq = seq;
  p.global_batch = p.micro_batch = 1;
  return p;
}
}  // namespace

TEST_CASE("a gated MLP saves four tensors, and a plain MLP saves two", "[known-errors]") {
  Arch a = even();
  const Plan p = micro_batch_of(16);
  const Count gated = saved_of(a, p);
  a.mlp = MlpKind::plain;
  CHECK(gated - saved_of(a, p) == 2 * 16 * 128 * (4 - 2));
}

TEST_CASE("full recomputation saves one input per layer, less than selective recomputation", "[known-errors]") {
  const Arch a = gpt3_175b();
  Plan p = micro_batch_of(2048);
  p.attention = AttentionImpl::naive;
  const auto memory = [&](Recompute r) {
    p.recompute = r;
    return training_memory(a, p);
  };
  const Memory none = memory(Recompute::none), selective = memory(Recompute::selective), full = memory(Recompute::full);
  // ids; 96 inputs; the last norm's input, output and two statistics
  CHECK(full.activations == Bytes(Count{2048} * (8 + 2 * 12288 * (96 + 2) + 8)));
  CHECK(full.activations < selective.activations);
  CHECK(selective.activations < none.activations);
  CHECK(full.peak < selective.peak);
  CHECK(none.activations - selective.activations == Bytes(Count{96} * 96 * 2048 * 2048 * 2));
}

TEST_CASE("selective recomputation recomputes each attention core once", "[known-errors]") {
  Plan p = micro_batch_of(2048);
  p.attention = AttentionImpl::naive;
  const auto compute = [&](Recompute r) {
    p.recompute = r;
    p.roofline = Roofline::step;
    const StepTime t = train(gpt3_175b(), p, h100).bound;
    return (t.total() - t[Part::optimizer]).value;
  };
  const double core = 96.0 * 4 * 12288 * 2048 * 2048 / 989.4e12;
  CHECK(compute(Recompute::selective) - compute(Recompute::none) == Approx(core).epsilon(1e-6));
}

TEST_CASE("training FLOPs of a mixture of experts count only top_k experts", "[known-errors]") {
  const Plan p = micro_batch_of(1);
  const Parameters n = parameters(mixtral_8x7b());
  CHECK(training_flops(mixtral_8x7b(), p).forward == flops(2, n.matmul_active) + flops(4, 32, 32, 128));
  CHECK(n.matmul_active == n.active - n.embedding - n.norm);
}

TEST_CASE("tokens per second count every micro-batch", "[known-errors]") {
  Plan p = micro_batch_of(2048);
  const TrainEstimate one = train(llama31_8b(), p, h100);
  p.global_batch = 16;
  const TrainEstimate many = train(llama31_8b(), p, h100);
  CHECK(one.tokens == 2048);
  CHECK(many.tokens == 16 * 2048);
  // The optimizer runs once, so sixteen micro-batches cost less than sixteen steps, and all their tokens count.
  CHECK(tokens_per_second(many, many.bound) > tokens_per_second(one, one.bound));
  CHECK(tokens_per_second(many, many.bound) == 16 * 2048 / many.bound.total().value);
}

TEST_CASE("gradients and activations are in memory at the same time", "[known-errors]") {
  const Plan p = micro_batch_of(2048);
  const Memory m = training_memory(llama31_8b(), p);
  CHECK(m.peak >= m.weights + m.gradients + m.optimizer + m.activations);
  CHECK(m.peak <= m.total);
}

TEST_CASE("the optimizer both reads and writes its states", "[known-errors]") {
  const Plan p = micro_batch_of(1);
  const States s = training_states(llama31_8b(), p);
  CHECK(optimizer_traffic(s, p) == Bytes(30 * 8030261248));  // reads 16, writes 14
}

TEST_CASE("FLOPs under different attention conventions diverge at long contexts", "[known-errors]") {
  Plan p = micro_batch_of(131072);
  const auto model = [&](AttentionFlops c) {
    p.attention_flops = c;
    return static_cast<double>(training_flops(llama31_8b(), p).model_total.value);
  };
  const double linear = 6 * static_cast<double>(parameters(llama31_8b()).matmul) * 131072;
  const double core = model(AttentionFlops::full) - linear;
  CHECK(core == 12.0 * 32 * 4096 * 131072 * 131072);
  CHECK(model(AttentionFlops::causal_half) - linear == core / 2);
  CHECK(core > 4 * linear);
}

TEST_CASE("time and memory include the embedding and the head", "[known-errors]") {
  const Plan p = micro_batch_of(2048);
  const Memory m = training_memory(llama31_8b(), p);
  CHECK(m.weights == Bytes(2 * 8030261248));
  CHECK(m.logits == Bytes(Count{4} * 2048 * 128256));
  Arch headless = llama31_8b();
  headless.vocabulary = 1;
  CHECK(train(headless, p, h100).bound.total().value < train(llama31_8b(), p, h100).bound.total().value);
}

TEST_CASE("a norm's parameters depend only on its width", "[known-errors]") {
  CHECK(parameters(gpt3_175b()).norm == 96 * 4 * 12288 + 2 * 12288);
  CHECK(parameters(llama31_8b()).norm == 65 * 4096);
}
