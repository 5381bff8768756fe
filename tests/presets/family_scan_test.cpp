// PLaMo 2 and 3, RecurrentGemma, xLSTM, RWKV-5 and RWKV-6: published configs, with parameters counted from the shapes
// of their modules.

#include "calc/memory.hpp"
#include "tests/presets/tensor_list.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

// pfnet/plamo-2-1b, 1.29B parameters in its card.
const std::string plamo = R"({"architectures": ["Plamo2ForCausalLM"], "attention_window_size": 2048,
  "bos_token_id": 1, "eos_token_id": 2, "full_attention_idx": null, "hidden_size": 2048, "hidden_size_per_head": 128,
  "intermediate_size": 8192, "mamba_chunk_size": 256, "mamba_d_conv": 4, "mamba_d_state": 64, "mamba_enabled": true,
  "mamba_num_heads": 32, "mamba_step": 2, "max_position_embeddings": 10485760, "model_type": "plamo2",
  "num_attention_heads": 16, "num_hidden_layers": 16, "num_key_value_heads": 1, "rms_norm_eps": 1e-06,
  "tie_word_embeddings": true, "torch_dtype": "bfloat16", "use_cache": true, "vocab_size": 100000})";

/// hub pfnet/plamo-2-1b, modeling_plamo.py, Mamba.
Tensors plamo_scan(Count hidden, Count heads, Count width, Count state, Count rank) {
  const Count inner = heads * width;
  return {{"in_proj", {2 * inner, hidden}},
          {"conv1d.weight", {inner, 1, 4}},
          {"bcdt_proj", {rank + 2 * state, inner}},
          {"dt_proj", {heads, rank}},
          {"dt_bias, A_log, D", {heads}, 3},
          {"dt_norm_weight", {rank}},
          {"B_norm_weight, C_norm_weight", {state}, 2},
          {"out_proj", {hidden, inner}}};
}

// google/recurrentgemma-2b
const std::string griffin = R"({"_block_types": ["recurrent", "recurrent", "attention"],
  "architectures": ["RecurrentGemmaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
  "attention_window_size": 2048, "bos_token_id": 2, "conv1d_width": 4, "embeddings_scale_by_sqrt_dim": true,
  "eos_token_id": 1, "final_w_init_variance_scale": 0.0769, "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh",
  "hidden_size": 2560, "intermediate_size": 15360, "logits_soft_cap": 30.0, "lru_width": 2560,
  "model_type": "recurrent_gemma", "num_attention_heads": 10, "num_hidden_layers": 26, "num_key_value_heads": 1,
  "pad_token_id": 0, "partial_rotary_factor": 0.5, "rms_norm_eps": 1e-06, "rope_theta": 10000.0,
  "torch_dtype": "bfloat16", "use_cache": true, "vocab_size": 256000, "w_init_variance_scale": 0.01})";

/// hf recurrent_gemma/modeling_recurrent_gemma.py, RecurrentGemmaRecurrentBlock.
Tensors griffin_block(Count hidden, Count width, Count blocks) {
  return {{"linear_x, linear_y", {width, hidden}, 2},
          {"linear_x.bias, linear_y.bias", {width}, 2},
          {"conv_1d.weight", {width, 1, 4}},
          {"conv_1d.bias", {width}},
          {"rg_lru.input_gate_weight, recurrent_gate_weight", {blocks, width / blocks, width / blocks}, 2},
          {"rg_lru.input_gate_bias, recurrent_gate_bias", {blocks, width / blocks}, 2},
          {"rg_lru.recurrent_param", {width}},
          {"linear_out", {hidden, width}},
          {"linear_out.bias", {hidden}}};
}

// NX-AI/xLSTM-7b
const std::string lstm = R"({"add_embedding_dropout": false, "add_forward_backend_padding": false, "add_out_norm": true,
  "add_post_blocks_norm": true, "add_post_norm": false, "add_qk_norm": false, "architectures": ["xLSTMForCausalLM"],
  "autocast_kernel_dtype": "bfloat16", "bos_token_id": 0, "cell_norm_eps": 1e-06, "chunk_size": 64,
  "chunkwise_kernel": "chunkwise--triton_xl_chunk", "embedding_dim": 4096, "eos_token_id": 2, "eps": 1e-06,
  "ffn_proj_factor": 2.667, "ffn_round_up_to_multiple_of": 64, "force_bos_token_insert": true, "gate_soft_cap": 15.0,
  "head_dim": 512, "igate_bias_init_range": -10.0, "inference_state_dtype": "float32",
  "mlstm_round_up_to_multiple_of": 64, "mode": "inference", "model_type": "xlstm", "norm_eps": 1e-06,
  "norm_reduction_force_float32": true, "num_blocks": 32, "num_heads": 8, "output_logit_soft_cap": 30.0,
  "pad_token_id": 1, "qk_dim_factor": 0.5, "return_last_states": true, "sequence_kernel": "native_sequence__triton",
  "step_kernel": "triton", "tie_word_embeddings": false, "torch_dtype": "float32", "use_bias": false,
  "use_cache": true, "v_dim_factor": 1.0, "vocab_size": 50304, "weight_mode": "single"})";

// RWKV/rwkv-6-world-1b6 and RWKV/rwkv-5-world-1b5, which differ only in the class.
std::string earlier_rwkv(int version, Count layers, Count hidden) {
  const std::string v = std::to_string(version);
  return R"({"architectures": ["Rwkv)" + v + R"(ForCausalLM"], "attention_hidden_size": )" + std::to_string(hidden) +
         R"(, "bos_token_id": 0, "eos_token_id": 0, "head_size": 64, "head_size_divisor": 8, "hidden_size": )" +
         std::to_string(hidden) + R"(, "intermediate_size": null, "layer_norm_epsilon": 1e-05, "model_type": "rwkv)" +
         v + R"(", "num_attention_heads": 64, "num_hidden_layers": )" + std::to_string(layers) +
         R"(, "rescale_every": 6, "tie_word_embeddings": false, "use_cache": false, "vocab_size": 65536})";
}

/// hub RWKV/rwkv-6-world-1b6, modeling_rwkv6.py; modeling_rwkv5.py if the ranks are 0.
Tensors rwkv_layer(Count d, Count inner, Count mix_rank, Count decay_rank) {
  const Tensors both{{"receptance, key, value, gate, output", {d, d}, 5},
                     {"time_faaaa, time_decay", {d}, 2},
                     {"ln_x, ln1, ln2", {2 * d}, 3},
                     {"feed_forward.key, value", {inner, d}, 2},
                     {"feed_forward.receptance", {d, d}},
                     {"feed_forward.time_maa_k, time_maa_r", {d}, 2}};
  if (mix_rank == 0) return together({both, {{"time_mix_k, v, r, g", {d}, 4}}});
  return together({both,
                   {{"time_maa_x, w, k, v, r, g", {d}, 6},
                    {"time_maa_w1", {d, 5 * mix_rank}},
                    {"time_maa_w2", {5, mix_rank, d}},
                    {"time_decay_w1", {d, decay_rank}},
                    {"time_decay_w2", {decay_rank, d}}}});
}

Tensors rwkv_ends(Count d) { return {{"embeddings, head", {65536, d}, 2}, {"pre_ln, ln_out", {2 * d}, 2}}; }

}  // namespace

TEST_CASE("PLaMo 2's parameter count matches its tensor shapes", "[import][family]") {
  const Tensors each = together({gated_mlp("mlp", 2048, 8192), {{"norms", {2048}, 4}}});
  const Tensors attention =
      together({projections(2048, 16, 1, 128), {{"q_weight", {16, 128}}, {"k_weight", {1, 128}}}});
  const Arch a = check_tensors(plamo,
                               together({in_layers(8, plamo_scan(2048, 32, 128, 64, 128)),
                                         in_layers(8, attention),
                                         in_layers(16, each),
                                         {{"embed_tokens", {100000, 2048}}, {"norm", {2048}}}}),
                               1291441920);
  CHECK(a.mixers[0].layers == LayerSet::every(0, 2, 16));
  CHECK(a.mixers[0].recurrent.chunk == 256);
  CHECK(a.local.reach.tokens == 2048);
  CHECK(a.local.layers == LayerSet::every(1, 2, 16));
  // Per head a state of 64 x 128 in float32 and three inputs of the convolution; at most 2048 keys and values.
  const Count state = 8 * (4 * 32 * 64 * 128 + 2 * 3 * 32 * 128);
  CHECK(cache_bytes(a, {}, 5000) == Bytes(state + 8 * 2048 * 2 * 2 * 128));
}

TEST_CASE("PLaMo 2 has attention every mamba_step layers, without a window in full_attention_idx layers",
          "[import][family]") {
  const auto of = [](const std::string& more) {
    return arch(R"({"model_type": "plamo2", "hidden_size": 64, "num_hidden_layers": 8, "num_attention_heads": 2,
      "num_key_value_heads": 1, "hidden_size_per_head": 32, "mamba_num_heads": 4, "intermediate_size": 96,
      "vocab_size": 100, "max_position_embeddings": 4096)" +
                more + "}");
  };
  const Arch four = of(R"(, "mamba_step": 4, "full_attention_idx": [2])");
  CHECK(others_of(four.layers, {2, 6}) == four.mixers[0].layers);
  CHECK(four.local.layers == LayerSet::every(6, 1, 7));
  CHECK(of(R"(, "mamba_step": 16)").mixers[0].layers == LayerSet::every(0, 1, 7));  // attention only in the last layer
  CHECK(of(R"(, "mamba_enabled": false)").mixers.size() == 0);
  CHECK(of("").mixers[0].recurrent.rank == 64);  // max(64, hidden / 16)
  CHECK_THROWS_WITH(of(R"(, "n_expert": 8)"), Catch::Contains("\"n_expert\""));
}

TEST_CASE("PLaMo 3 has q and k norms, four norms per layer, and windows in all but every eighth layer",
          "[import][family]") {
  const Arch a = check_tensors(R"({"model_type": "plamo3", "hidden_size": 64, "num_hidden_layers": 16,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 96, "vocab_size": 100,
    "max_position_embeddings": 4096, "window_size": 128, "sliding_window_pattern": 8, "rope_theta": 1000000,
    "rope_local_theta": 10000, "hidden_activation": "swiglu", "attention_bias": false})",
                               together({in_layers(16, projections(64, 4, 2, 16)),
                                         in_layers(16, gated_mlp("mlp", 64, 96)),
                                         in_layers(16, {{"norms", {64}, 4}, {"q_norm, k_norm", {16}, 2}}),
                                         {{"embed_tokens", {100, 64}}, {"norm", {64}}}}),
                               16 * (3 * 64 * 64 + 3 * 64 * 96 + 4 * 64 + 2 * 16) + 101 * 64);
  CHECK(a.local.reach.tokens == 128);
  CHECK(a.local.layers == others_of(16, {7, 15}));
}

TEST_CASE("RecurrentGemma's parameter count matches its tensor shapes", "[import][family]") {
  const Tensors each = {{"gate_proj, up_proj, down_proj", {7680, 2560}, 3},
                        {"gate_proj.bias, up_proj.bias", {7680}, 2},
                        {"down_proj.bias", {2560}},
                        {"norms", {2560}, 2}};
  const Arch a =
      check_tensors(griffin,
                    together({in_layers(18, griffin_block(2560, 2560, 10)),
                              in_layers(8, together({projections(2560, 10, 1, 256), {{"o_proj.bias", {2560}}}})),
                              in_layers(26, each),
                              {{"embed_tokens", {256000, 2560}}, {"final_norm", {2560}}}}),
                    2682862080);
  CHECK(a.tied_head);
  CHECK(a.local.layers == LayerSet::every(2, 3, 26));
  CHECK(a.mixers[0].recurrent.heads == 10);
  // A float32 state and three inputs of the convolution per channel; keys and values of 2048 tokens.
  CHECK(cache_bytes(a, {}, 8192) == Bytes(18 * 2560 * (4 + 2 * 3) + 8 * 2048 * 2 * 2 * 256));
}

TEST_CASE("RecurrentGemma accepts any pattern of known block types and rejects unknown types", "[import][family]") {
  const auto with = [](const std::string& more) {
    return R"({"model_type": "recurrent_gemma", "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
      "intermediate_size": 96, "vocab_size": 100, )" +
           more + "}";
  };
  const Arch a = arch(with(R"("block_types": ["attention", "recurrent"], "lru_width": 80)"));
  CHECK(a.mixers[0].layers == LayerSet::every(1, 2, 4));
  CHECK(a.mixers[0].recurrent.width() == 80);
  CHECK(a.mlp_width == 48);
  CHECK(refusal(with(R"("block_types": ["mamba"])")) ==
        "c.json: \"block_types\" contains \"mamba\"; expected recurrent or attention");
  CHECK_THAT(refusal(with(R"("lru_width": 66)")), Catch::Contains("a multiple of \"num_attention_heads\""));
}

TEST_CASE("xLSTM's parameter count matches its tensor shapes", "[import][family]") {
  const Tensors layer = together({{{"q, k", {2048, 4096}, 2},
                                   {"v, ogate_preact, out_proj", {4096, 4096}, 3},
                                   {"igate_preact, fgate_preact", {8, 4096}, 2},
                                   {"igate_preact.bias, fgate_preact.bias", {8}, 2},
                                   {"multihead_norm", {4096}},
                                   {"norm_mlstm, norm_ffn", {4096}, 2}},
                                  gated_mlp("ffn", 4096, 10944)});
  const Arch a = check_tensors(
      lstm, together({in_layers(32, layer), {{"embeddings, lm_head", {50304, 4096}, 2}, {"out_norm", {4096}}}}),
      6865424896);  // arXiv:2503.13427: 6,865,424,896
  CHECK(a.recurrent.chunk == 64);
  CHECK(cache_elements_per_token(a) == 0);
  // 8 heads with a state of 256 x 512, a normalizer of 256 and its scale, in float32 (arXiv:2503.13427).
  CHECK(cache_bytes(a, {}, 1) == Bytes(Count{32} * 8 * 4 * (256 * 512 + 256 + 1)));
}

TEST_CASE("xLSTM's number of heads must divide its widths", "[import][family]") {
  CHECK_THAT(refusal(R"({"model_type": "xlstm", "hidden_size": 100, "num_hidden_layers": 2, "num_heads": 7,
    "vocab_size": 100})"),
             Catch::Contains("7 heads do not divide a width of 128 evenly"));  // 100 rounded up to a multiple of 64
}

// The paper's count: 13 D^2 L + 464 D L + 4 D + 2 D V for RWKV-6, 13 D^2 L + 14 D L + 4 D + 2 D V for RWKV-5
// (arXiv:2404.05892, table of the models), with an MLP of width 3.5 D.
TEST_CASE("parameter counts of RWKV-6 and RWKV-5 match their tensor shapes and the paper's formula",
          "[import][family]") {
  const auto of = [](Count per_layer, Count d, Count layers) {
    return 13 * d * d * layers + per_layer * d * layers + 4 * d + 2 * d * 65536;
  };
  const Tensors finch = together({in_layers(24, rwkv_layer(2048, 7168, 32, 64)), rwkv_ends(2048)});
  const Arch a = check_tensors(earlier_rwkv(6, 24, 2048), finch, of(464, 2048, 24));
  CHECK(a.recurrent.mix_rank == 32);
  CHECK(a.recurrent.heads == 32);
  CHECK(cache_elements_per_token(a) == 0);
  // A state of 64 x 64 per head in float32, and the last token for both shifts.
  CHECK(cache_bytes(a, {}, 100) == Bytes(Count{24} * (4 * 32 * 64 * 64 + 2 * 2 * 2048)));
  const Tensors eagle = together({in_layers(24, rwkv_layer(2048, 7168, 0, 0)), rwkv_ends(2048)});
  check_tensors(earlier_rwkv(5, 24, 2048), eagle, of(14, 2048, 24));
  // 7B: ranks of 64 and 128.
  const Tensors large = together({in_layers(32, rwkv_layer(4096, 14336, 64, 128)), rwkv_ends(4096)});
  check_tensors(earlier_rwkv(6, 32, 4096), large, numbers(large));
}
