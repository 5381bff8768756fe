// Device memory: parts, ranks and the peak of a step.

#include "calc/memory.hpp"

#include "calc/block/program.hpp"
#include "calc/operator/liveness.hpp"
#include "calc/parameters.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

Plan step(Recompute r) {
  Plan p;
  p.seq = 256;
  p.micro_batch = p.global_batch = 2;
  p.recompute = r;
  p.attention = AttentionImpl::naive;
  return p;
}

/// Peak memory in addition to weights, gradients and optimizer states, computed by a walk over the layers forward and
/// then backward.
Bytes walked(const Arch& a, const Plan& p) {
  const Pricing price = pricing(p, Phase::training);
  const bool full = p.recompute == Recompute::full;
  const Count input = p.micro_batch * p.seq * a.hidden;
  const auto alive = [&](const OpList& ops, Count in, Bytes logits = {}) { return liveness(ops, price, in, logits); };
  const Step s = training_step(p);
  const auto layer = [&](Count i) {
    LayerKind k;
    k.reach = a.local.layers.contains(i) ? a.local.reach : Reach(), k.experts = a.moe.layers.contains(i),
    k.linear = a.linear_layers.contains(i);
    k.mlp_width = k.experts ? 0 : a.mlp_width;
    return alive(block_ops(a, k, s), input);
  };
  const Liveness embedding = alive(embedding_ops(a, s), 0),
                 head = alive(head_ops(a, s), input, Bytes(4 * p.micro_batch * p.seq * a.vocabulary));
  Bytes saved = embedding.saved, most = embedding.forward;
  for (Count i = 0; i < a.layers; ++i) {
    most = std::max(most, saved + layer(i).forward);
    saved += full ? layer(i).input : layer(i).saved;
  }
  most = std::max(most, saved + std::max(head.forward, head.backward));
  for (Count i = a.layers; i-- > 0;) {
    saved -= full ? layer(i).input : layer(i).saved;
    if (full)
      most =
          std::max(most, saved + layer(i).forward + layer(i).output);  // recomputed while its output's gradient is live
    most = std::max(most, saved + layer(i).backward);
  }
  return most;
}

}  // namespace

TEST_CASE("the peak of a step matches a walk over its layers forward and backward", "[contract][memory]") {
  Arch mixed = even_moe();
  mixed.layers = 5;
  mixed.moe.layers = LayerSet::every(1, 2, 5);
  mixed.linear_layers = LayerSet::every(0, 2, 5);
  Arch windowed = even();
  windowed.local = {{16}, LayerSet::every(0, 2, 3)};
  Arch wide = even();
  wide.vocabulary = 50000;  // the logits dominate
  Arch narrow = even();
  narrow.vocabulary = 8;  // a layer dominates
  for (const Arch& a : {even(), mixed, windowed, wide, narrow, even_latent()})
    for (const Recompute r : {Recompute::none, Recompute::selective, Recompute::full}) {
      const Plan p = step(r);
      const Memory m = training_memory(a, p);
      CHECK(m.peak == m.weights + m.gradients + m.optimizer + walked(a, p));
    }
}

TEST_CASE("tensor-parallel ranks shard matrices and replicate norms", "[cost][memory]") {
  const Plan p;
  // Per layer: q, out 2 x 64 x 128 and k, v 2 x 64 x 64, three matrices of 64 x 128, all over 8; two whole norms of 64.
  const Count layer = (2 * 64 * 128 + 2 * 64 * 64 + 3 * 64 * 128) / 8 + 2 * 64;
  CHECK(weights_bytes(even(), p, {.tp = 8}) == Bytes(2 * (3 * layer + 64 + 2 * 512 * 64 / 8)));
}

TEST_CASE("formats that exclude tables and vectors leave them in the compute format", "[cost][memory]") {
  Arch a = even();
  a.qkv_bias = true;
  Plan p;
  p.weight_precision = *dtype("int8");
  // Matrices: a byte per weight and a 4-byte scale per output row (out 128 + 64 + 64 + 64 and 128 + 128 + 64 rows).
  const Count weights = 2 * 64 * 128 + 2 * 64 * 64 + 3 * 64 * 128, scales = 4 * (128 + 64 + 64 + 64 + 128 + 128 + 64);
  const Count biases = 128 + 64 + 64, norms = 2 * 64;
  CHECK(weights_bytes(a, p) == Bytes(3 * (weights + scales + 2 * (biases + norms)) + 2 * (64 + 2 * 512 * 64)));
}

TEST_CASE("the quantization groups of a mixture of experts never span two experts", "[cost][memory]") {
  Arch a = even_moe();
  a.layers = 1;
  a.moe.layers = LayerSet::all(1);
  a.moe.width = 40;
  Plan p;
  p.weight_precision = *dtype("q4_0");
  const auto rows = [](Count out, Count in) { return out * ((in + 31) / 32) * 18; };
  const Count experts = 8 * (2 * rows(40, 64) + rows(64, 40)), shared = 2 * rows(16, 64) + rows(64, 16);
  const Count attention = rows(128, 64) + 2 * rows(64, 64) + rows(64, 128);
  const Count tables = 2 * rows(512, 64), router = rows(8, 64), norms = 2 * 3 * 64;
  CHECK(weights_bytes(a, p) == Bytes(experts + shared + attention + tables + router + norms));
}

TEST_CASE("a quantized cache has separate blocks or scales for each head of each token", "[cost][memory]") {
  Arch a = even();
  a.layers = 3;
  a.kv_heads = 2;
  a.head_dim = 40;
  const auto bytes = [&](std::string_view format) {
    Plan p;
    p.kv_precision = *dtype(format);
    return cache_bytes_per_token(a, p).value / 3 / 2 / 2;
  };
  CHECK(bytes("fp8") == 40);
  CHECK(bytes("int8") == 40 + 4);        // a float32 scale per head and token
  CHECK(bytes("q8_0") == 2 * 34);        // 32 elements, and 8 in a partial block
  CHECK(bytes("q4_k") == 144);           // one block of 256, mostly empty
  CHECK(bytes("nvfp4") == 3 * 9);        // the scale of a whole tensor is not counted
  CHECK(bytes("nf4-dq") == 20 + 1 + 4);  // 4 bits each, an 8-bit scale, and the scale of the scales
  a.head_dim = 5;
  CHECK(bytes("int4") == 3);  // rows are byte-aligned
}

TEST_CASE("keys and values can be cached in different formats", "[cost][memory]") {
  Arch a = even();
  a.layers = 3;
  a.kv_heads = 2;
  a.head_dim = 40;
  Plan p;
  p.kv_precision = CacheFormats(dtypes::fp8, dtypes::bf16);
  CHECK(cache_bytes_per_token(a, p).value == 3 * 2 * (40 + 80));
  p.kv_precision = CacheFormats(*dtype("q8_0"), *dtype("q4_k"));
  CHECK(cache_bytes_per_token(a, p).value == 3 * 2 * (2 * 34 + 144));
}

TEST_CASE("a cached latent row is stored in the key format", "[cost][memory]") {
  Arch a = even_latent();
  a.layers = 1;
  Plan p;
  p.kv_precision = CacheFormats(dtypes::fp8, dtypes::fp32);
  CHECK(cache_bytes_per_token(a, p).value == a.latent.kv_rank + a.latent.rope_dim);
}

TEST_CASE("a cached latent row and its shared key are quantized as a single row", "[cost][memory]") {
  Plan p;
  p.kv_precision = *dtype("q8_0");
  Arch a = even_latent();
  a.layers = 1;  // 68 elements: 3 blocks
  a.latent.kv_rank = 60;
  a.latent.rope_dim = 8;
  CHECK(cache_bytes_per_token(a, p).value == 3 * 34);
}

TEST_CASE("naive inference keeps scores in memory while a core runs", "[cost][memory]") {
  Plan p;
  p.attention = AttentionImpl::naive;
  p.prompt = 512;
  p.generate = 1;
  // x 64, q 128, k 64, v 64, o 128 values per token, and 16 x 512 scores
  CHECK(inference_memory(even(), p).workspace == Bytes(2 * 512 * (64 + 128 + 64 + 64 + 128 + 16 * 512)));
}

TEST_CASE("media encoders are replicated on every rank, and image-only layers are sharded", "[cost][memory]") {
  Plan p;
  const Bytes alone = inference_memory(even(), p, {.tp = 2}).peak;
  p.media_encoders = Bytes(100);
  p.cut_media_encoders = Bytes(101);
  CHECK(inference_memory(even(), p, {.tp = 2}).media_encoders == Bytes(100 + 51));
  CHECK(inference_memory(even(), p, {.tp = 2}).peak == alone + Bytes(151));
  CHECK(inference_memory(even(), p).media_encoders == Bytes(201));
}

TEST_CASE("memory beyond 2^63 bytes throws Overflow", "[contract][memory]") {
  Plan p = step(Recompute::none);
  p.micro_batch = p.global_batch = Count{1} << 30;
  p.seq = Count{1} << 30;
  CHECK_THROWS_AS(training_memory(even(), p), Overflow);
  p = {};
  p.batch = Count{1} << 40;
  p.prompt = Count{1} << 20;
  CHECK_THROWS_AS(inference_memory(llama31_8b(), p), Overflow);
}
