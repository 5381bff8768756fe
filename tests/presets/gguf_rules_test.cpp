// llama-quantize's rules for tensor names of newer architectures, counted by hand.

#include "presets/formats/gguf_rules.hpp"

#include "presets/load.hpp"
#include "presets/model_file.hpp"
#include "tests/catch.hpp"
#include "tests/presets/import_text.hpp"
#include "tests/presets/mix_bytes.hpp"
#include "tests/presets/released.hpp"

using namespace llmcalc;
using test::bytes_under;

namespace {

/// Bytes of a block of 256 elements.
constexpr Count q2_k = 84, q3_k = 110, q4_k = 144, q5_k = 176, q6_k = 210, q8_0 = 8 * 34, f16 = 512, f32 = 1024;
constexpr Count blocks(Count rows, Count columns, Count block) { return rows * columns / 256 * block; }
constexpr bool more(Count i, Count n) { return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2; }

/// Quantization types that a mix assigns to matrices in general, values, down projections and attention's output.
struct Hand {
  const char* mix;
  Count base;
  Count (*value)(Count i, Count n);
  Count (*down)(Count i, Count n);
  Count out;
};

}  // namespace

// Qwen3.5-27B: 48 of 64 layers are gated DeltaNets. Their queries, keys and values are one tensor, attn_qkv, which
// counts as a value matrix, as do those of the 16 attention layers.
TEST_CASE("a gated DeltaNet's fused q, k and v have the quantization type of a value matrix", "[mix]") {
  constexpr Count d = 5120, v = 248320, q = 24 * 256, kv = 4 * 256, inner = 48 * 128, qkv = 2 * 16 * 128 + inner,
                  f = 17408, n = 64;
  const ModelCard model = load_model("qwen3.5-27b");
  for (const Hand& h :
       {Hand{"q4_k_m", q4_k, [](Count i, Count of) { return more(i, of) ? q6_k : q4_k; },
             [](Count i, Count of) { return more(i, of) ? q6_k : q4_k; }, q4_k},
        Hand{"q4_k_s", q4_k, [](Count i, Count) { return i < 4 ? q5_k : q4_k; },
             [](Count i, Count of) { return i < of / 8 ? q5_k : q4_k; }, q4_k},
        Hand{"q3_k_m", q3_k, [](Count i, Count) { return i < 2 ? q5_k : q4_k; },
             [](Count i, Count of) { return i < of / 16 ? q5_k : q4_k; }, q4_k},
        Hand{"q2_k", q2_k, [](Count, Count) { return q4_k; }, [](Count, Count) { return q3_k; }, q3_k}}) {
    Count all = blocks(v, d, h.base) + blocks(v, d, q6_k) + 4 * d;
    for (Count i = 0; i < n; ++i) {
      all += blocks(2 * f, d, h.base) + blocks(d, f, h.down(i, n)) + 4 * 2 * d;
      if (i % 4 == 3)  // queries and their gate, keys, values, output, two norms
        all += blocks(2 * q + kv, d, h.base) + blocks(kv, d, h.value(i, n)) + blocks(d, q, h.out) + 4 * 2 * 256;
      else  // the gate, two values per head, output; taps, decay and its bias, a norm
        all += blocks(qkv, d, h.value(i, n)) + blocks(inner + 2 * 48, d, h.base) + blocks(d, inner, h.base) +
               4 * (4 * qkv + 2 * 48 + 128);
    }
    INFO(h.mix);
    CHECK(bytes_under(model, h.mix) == all);
  }
}

// The table of 262144 x (35 layers x 256) has the type of the head, which is the token embedding: Q6_K.
// per_layer_model_proj stays in 16 bits.
TEST_CASE("a per-layer input table has the tied head's type, and its projection is not quantized", "[mix]") {
  constexpr Count d = 1536, width = 35 * 256;
  for (const MixedTensor& t : mixed_tensors(load_model("gemma-4-e2b").arch, "q4_k_m", "gemma4_text")) {
    if (t.component != Component::embedding || t.columns == 1) continue;
    if (t.columns == width) CHECK(t.format.name() == "q6_k");
    if (t.rows == width && t.columns == d) CHECK(t.format == dtypes::bf16);
  }
  const ModelCard model = load_model("gemma-4-e2b");
  // All other matrices are quantized: attention (15 layers have k and v projections, 20 do not), MLPs, and the gate and
  // projection of per-layer inputs.
  Count all = blocks(262144, d + width, q6_k) + blocks(width, d, f16);
  Count values = 0;
  for (Count i = 0; i < 35; ++i) {
    const bool full = i % 5 == 4;
    const Count q = 8 * (full ? 512 : 256), kv = full ? 512 : 256, f = i < 15 ? 6144 : 12288;
    const Count value = more(values, 15) ? q6_k : q4_k, down = more(i, 35) ? q6_k : q4_k;
    all += blocks(2 * q + (i < 15 ? kv : 0), d, q4_k) + (i < 15 ? blocks(kv, d, value) : 0) + blocks(2 * f, d, q4_k) +
           blocks(d, f, down) + blocks(2 * 256, d, q4_k);
    values += i < 15;
    const Count head_norms = (i < 15 ? 2 : 1) * (full ? 512 : 256);
    all += 4 * (4 * d + head_norms + d + 1);  // four norms, the head norms, a norm of the per-layer input, and a factor
  }
  CHECK(bytes_under(model, "q4_k_m") == all + 4 * (d + 256));
}

// Gemma 3n E4B: per layer two low-rank matrices of 64, a router of 4 x 2048 and 4 x (16 + 4) coefficients; three
// projections of 2048 x 2048 at each end; per_layer_model_proj. Coefficients are in float32, the others in 16 bits.
TEST_CASE("AltUp's and LAuReL's matrices are not quantized", "[mix]") {
  constexpr Count d = 2048, n = 35, width = n * 256;
  Count saved = 0, coefficients = 0;
  for (const MixedTensor& t : mixed_tensors(load_model("gemma-3n-e4b").arch, "q4_k_m", "gemma3n_text")) {
    if (t.format == dtypes::bf16) saved += t.groups * t.rows * t.columns;
    if (t.format == dtypes::fp32 && t.rows > 1 && t.columns == 4) coefficients += t.rows * t.columns;
  }
  CHECK(saved == n * (2 * 64 * d + 4 * d) + 2 * 3 * d * d + width * d);
  CHECK(coefficients == n * (16 * 4 + 4 * 4));
}

// RWKV-7 1.5B: no rule matches its MLPs and mixers, so all are in the base type. The low-rank matrices of the decay
// (rank 96) are in float32; those of the step, the gate and, except in layer 0, the values (ranks 96, 256, 64) are in
// 16 bits.
TEST_CASE("RWKV's matrices have the base type, and its low-rank matrices are not quantized", "[mix]") {
  constexpr Count d = 2048, n = 24, v = 65536, f = 8192;
  constexpr Count matrices = n * (4 * blocks(d, d, q4_k) + 2 * blocks(f, d, q4_k));
  constexpr Count ranks = n * (2 * 96 * d * 4 + 2 * (96 + 256) * d * 2) + (n - 1) * 2 * 64 * d * 2;
  // Per layer: six token-shift factors and one for the MLP; decay and step biases; the bonus and two key-scaling
  // vectors; a norm with a bias; two more norms with biases. Every layer but the first also has a value-mixing bias.
  constexpr Count vectors = n * (6 * d + d + 2 * d + 3 * d + 2 * d + 4 * d) + (n - 1) * d;
  constexpr Count ends = blocks(v, d, q4_k) + blocks(v, d, q6_k) + 4 * 4 * d;  // a norm after the table, one at the end
  CHECK(bytes_under(load_model("rwkv7-1.5b"), "q4_k_m") == matrices + ranks + 4 * vectors + ends);
}

// Kimi-Linear: q, k and v of a KDA layer have attention's names. 20 of its 27 layers have a value matrix; the latent
// attention layers do not.
TEST_CASE("KDA's q, k and v have the quantization types of attention's q, k and v", "[mix]") {
  Count values = 0, first = 0;
  for (const MixedTensor& t : mixed_tensors(load_model("kimi-linear-48b-a3b").arch, "q4_k_s", "kimi_linear")) {
    if (t.component != Component::attention || t.rows != 4096 || t.columns != 2304 || t.format.name() != "q5_k")
      continue;
    ++values;
    first += t.layer;
  }
  CHECK(values == 4);
  CHECK(first == 0 + 1 + 2 + 4);
}

// microsoft/Phi-3-mini-4k-instruct-gguf, q4: 2393231072 bytes with a header of 737504. Its llama.cpp (2024) stored
// attn_qkv in Q5_K; the current one uses Q6_K in the 16 layers with more bits.
TEST_CASE("attention's fused q, k and v have the quantization type of a value matrix", "[mix]") {
  constexpr Count d = 3072, n = 32;
  const Count today = bytes_under(load_model("phi-3-mini-4k"), "q4_k_m");
  constexpr Count fused = 16 * blocks(3 * d, d, q4_k) + 16 * blocks(3 * d, d, q6_k);
  CHECK(today - fused + n * blocks(3 * d, d, q5_k) == 2393231072 - 737504);
  CHECK(mixed_tensors(load_model("gpt-2-124m").arch, "q4_k_m", "").size() >
        mixed_tensors(load_model("gpt-2-124m").arch, "q4_k_m", "gpt2").size());
  // The converter splits these fused matrices, so the file is the same as without fusion.
  for (const char* name : {"internlm2-7b", "baichuan2-7b"}) {
    ModelCard split = load_model(name);
    const Count bytes = bytes_under(split, "q4_k_m");
    split.family = "";
    CHECK(bytes_under(split, "q4_k_m") == bytes);
  }
}

TEST_CASE("a model file records the family, which determines the fused matrices", "[mix]") {
  const ModelCard config = test::imported(test::small("phi3", ""));
  const ModelCard file = read_model_file(model_file_json(config), "m.json");
  CHECK(file.family == "phi3");
  CHECK(bytes_under(file, "q4_k_m") == bytes_under(config, "q4_k_m"));
  CHECK(older_fused_type(config.arch, "q4_k_m", "phi3") == "q5_k");
  CHECK(older_fused_type(config.arch, "q4_k_s", "phi3").empty());
  CHECK(older_fused_type(config.arch, "q4_k_m", "internlm2").empty());
}

// Ling 1.5 and 2.0 are both bailing_moe. Ling 1.5 has no q and k norms, and the converter splits its fused matrix.
TEST_CASE("Ling 2.0 has one fused matrix where Ling 1.5 has three", "[mix]") {
  ModelCard model = load_model("ling-mini-2.0");
  const auto tensors = [&] { return mixed_tensors(model.arch, "q4_k_m", model.family).size(); };
  const std::size_t fused = tensors(), layers = static_cast<std::size_t>(model.arch.layers);
  model.arch.qk_norm = QkNorm::none;
  const std::size_t norms = layers;  // one operator normalizes both q and k
  CHECK((tensors() + norms == fused + 2 * layers || tensors() + 2 * norms == fused + 2 * layers));
}

// LFM2's first layer has no keys, so its file's first number of queries per key is 0, and values stay in the base type
// although its attention has 4 queries per key.
TEST_CASE("quantization rules use the first layer's ratio of query heads to KV heads", "[mix]") {
  for (const MixedTensor& t : mixed_tensors(load_model("lfm2-1.2b").arch, "iq4_xs", "lfm2"))
    if (t.component == Component::attention) CHECK(t.format.name() != "q5_k");
  Count values = 0;
  for (const MixedTensor& t : mixed_tensors(load_model("llama-3.2-1b").arch, "iq4_xs", "llama"))
    values += t.component == Component::attention && t.format.name() == "q5_k";
  CHECK(values == 16);
}

// NVIDIA-Nemotron-Nano-9B-v2: 25 of 56 layers are MLPs. With Q4_K_S, the down projections of the first 7 MLPs, not of
// MLPs in the first 7 layers, are in Q5_K.
TEST_CASE("quantization rules number the MLPs of a hybrid model in order of appearance", "[mix]") {
  const ModelCard model = test::imported(R"({"model_type": "nemotron_h", "hidden_size": 96, "num_attention_heads": 6,
    "num_key_value_heads": 2, "intermediate_size": 256, "vocab_size": 512, "mamba_num_heads": 4, "mamba_head_dim": 64, "n_groups": 2,
    "num_hidden_layers": 56, "hybrid_override_pattern": "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-"})");
  Count downs = 0, last = 0, wide = 0;
  for (const MixedTensor& t : mixed_tensors(model.arch, "q4_k_s", model.family)) {
    if (t.component != Component::mlp || t.rows != model.arch.hidden || t.rows == 1) continue;
    ++downs;
    if (t.format.name() != "q5_k" && t.format.name() != "q5_1") continue;
    ++wide;
    last = t.layer;
  }
  CHECK(downs == 25);
  CHECK(wide == 56 / 8);
  CHECK(last == 15);  // M-M-M-MM-M-M-M*-: layers 1, 3, 5, 8, 10, 12 and 15
}

// Falcon-40B: llama.cpp has separate rules. The token embedding is the head, in Q8_0.
TEST_CASE("the quantization types of Falcon's tensors follow separate rules", "[mix]") {
  const ModelCard model = load_model("falcon-40b");
  constexpr Count d = 8192, v = 65024, qkv = (128 + 2 * 8) * 64, f = 4 * d, n = 60;
  const auto by_hand = [](Count base, auto value, auto down, Count out) {
    Count all = blocks(v, d, q8_0) + 4 * 2 * d;
    for (Count i = 0; i < n; ++i)
      all += blocks(qkv, d, value(i)) + blocks(d, d, out) + blocks(f, d, base) + blocks(d, f, down(i)) + 4 * 4 * d;
    return all;
  };
  CHECK(bytes_under(model, "q4_k_m") == by_hand(
                                            q4_k, [](Count i) { return more(i, n) ? q6_k : q4_k; },
                                            [](Count i) { return i < n / 16   ? q6_k
                                                                 : more(i, n) ? q5_k
                                                                              : q4_k; },
                                            q4_k));
  CHECK(bytes_under(model, "q3_k_l") == by_hand(
                                            q3_k, [](Count) { return q5_k; }, [](Count) { return q4_k; }, q4_k));
  CHECK(bytes_under(model, "q3_k_m") == by_hand(
                                            q3_k, [](Count i) { return i < 2 ? q5_k : q4_k; },
                                            [](Count i) { return i < n / 16   ? q5_k
                                                                 : more(i, n) ? q4_k
                                                                              : q3_k; },
                                            q3_k));
  CHECK(bytes_under(model, "q4_k_s") ==
        by_hand(
            q4_k, [](Count i) { return i < 4 ? q5_k : q4_k; }, [](Count) { return q4_k; }, q4_k));
}

// Files of GLM-4.5 have the MTP module as block 92, so the rules count 93 layers and 93 values. The sums are from
// llama.cpp's list of tensors with their types, including router biases of 4 bytes for each of 160 and 128 experts.
TEST_CASE("quantization rules count MTP modules in GGUF files as layers", "[mix]") {
  CHECK(bytes_under(load_model("glm-4.5"), "q4_k_m", 1) == 215300973824);
  CHECK(bytes_under(load_model("glm-4.5"), "q5_k_m", 1) == 252933383424);
  CHECK(bytes_under(load_model("glm-4.5-air"), "q4_k_m", 1) == 72149810176);
  CHECK(bytes_under(load_model("glm-4.5-air"), "q5_k_m", 1) == 82542967808);
}

TEST_CASE("a GGUF file stores a 4-byte router bias per expert that is not counted as a parameter", "[mix]") {
  ModelCard model = load_model("deepseek-v3");
  const Count with = bytes_under(model, "q4_k_m");
  model.arch.moe.router_correction = false;
  CHECK(with - bytes_under(model, "q4_k_m") == 58 * 256 * 4);
}

// Llama 3.1 8B: the token embedding and the head have 128,256 x 4,096 elements each.
TEST_CASE("Q2_0 files have a Q4_K token embedding, Q1_0 files a Q1_0 one, and both have a Q6_K head", "[mix]") {
  const ModelCard model = load_model("llama-3.1-8b");
  constexpr Count table = 128256 * 4096 / 256, norms = 65 * 4096;
  const Count inside = 8030261248 - 2 * table * 256 - norms;
  CHECK(bytes_under(model, "q2_0") == inside / 64 * 18 + table * (q4_k + q6_k) + 4 * norms);
  CHECK(bytes_under(model, "q1_0") == inside / 128 * 18 + table * (2 * 18 + q6_k) + 4 * norms);
}
