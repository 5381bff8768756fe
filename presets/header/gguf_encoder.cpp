// GGUF encoders. Sources for keys and tensors: github.com/ggml-org/llama.cpp, conversion/{bert,t5}.py.

#include <array>

#include "presets/header/gguf_model.hpp"

namespace llmcalc {

namespace {

using json::Value;

/// BERT and its relatives, which are a single architecture in GGUF, without poolers or heads. Files omit the first
/// position rows, which RoBERTa never uses. Only DistilBERT has no token types.
void bert(const GgufModel& m, Value& c) {
  c["max_position_embeddings"] = m.side("position_embd.weight", 0);
  c["add_pooling_layer"] = false;
  if (m.tensor("token_types.weight") != nullptr) {
    c["type_vocab_size"] = m.side("token_types.weight", 0);
    return;
  }
  c["model_type"] = "distilbert";
  c["hidden_dim"] = c["intermediate_size"];
}

/// T5. Version 1.1 has gated GELU MLPs, the original T5 plain ReLU MLPs.
void t5(const GgufModel& m, Value& c) {
  c["num_decoder_layers"] = m.count_or("decoder_block_count", layers_of(c));
  c["relative_attention_num_buckets"] = m.count("attention.relative_buckets_count");
  c["feed_forward_proj"] = m.tensor("enc.blk.0.ffn_gate.weight") != nullptr ? "gated-gelu" : "relu";
}
void t5_encoder(const GgufModel& m, Value& c) {
  t5(m, c);
  c["architectures"] = {"T5EncoderModel"};
}

/// NomicBERT without a head. Biases are detected from their tensors.
void nomic_bert(const GgufModel& m, Value& c) {
  c["activation_function"] = m.in_a_layer("ffn_gate.weight") ? "swiglu" : "gelu";
  c["qkv_proj_bias"] = m.in_a_layer("attn_qkv.bias");
  c["mlp_fc1_bias"] = c["mlp_fc2_bias"] = m.in_a_layer("ffn_up.bias");
  c["rotary_emb_fraction"] = 1.0;
  c["type_vocab_size"] = m.tensor("token_types.weight") != nullptr ? m.side("token_types.weight", 0) : 0;
}
/// ModernBERT without its head. A file may contain a head's dense layer and norm, "cls".
void modern_bert(const GgufModel& m, Value& c) {
  c["architectures"] = {"ModernBertModel"};
  copy(m, c, "attention.sliding_window", "local_attention");
  copy(m, c, "attention.sliding_window_pattern", "global_attn_every_n_layers");
}
void eurobert(const GgufModel&, Value& c) { c["architectures"] = {"EuroBertModel"}; }

constexpr std::array gguf_encoder_rows{
    GgufFamily{"bert", "bert", bert},
    GgufFamily{"nomic-bert", "nomic_bert", nomic_bert},
    GgufFamily{"modern-bert", "modernbert", modern_bert},
    GgufFamily{"eurobert", "eurobert", eurobert},
    GgufFamily{"t5", "t5", t5},
    GgufFamily{"t5encoder", "t5", t5_encoder},
};

}  // namespace

std::span<const GgufFamily> gguf_encoders() { return gguf_encoder_rows; }

}  // namespace llmcalc
