// Checkpoints of T5, BERT and related models: stacks, heads of the class named in the config, and tied tables.

#include "tests/presets/checkpoint_shapes.hpp"

using namespace llmcalc;
using namespace llmcalc::test;
using namespace llmcalc::test::shapes;

namespace {
Shapes t5_attention(const std::string& before) {
  return under(before, {{"q.weight", {64, d}}, {"k.weight", {64, d}}, {"v.weight", {64, d}}, {"o.weight", {d, 64}}});
}
/// A stack of T5 v1.1 with 2 layers.
Shapes t5_stack(const std::string& stack, bool decodes) {
  Shapes all{{stack + ".final_layer_norm.weight", {d}},
             {stack + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight", {32, 4}}};
  for (const std::string block : {".block.0.", ".block.1."}) {
    const std::string last = decodes ? "layer.2." : "layer.1.";
    all = all + t5_attention(stack + block + "layer.0.SelfAttention.") +
          Shapes{{stack + block + "layer.0.layer_norm.weight", {d}}};
    if (decodes)
      all = all + t5_attention(stack + block + "layer.1.EncDecAttention.") +
            Shapes{{stack + block + "layer.1.layer_norm.weight", {d}}};
    all = all + under(stack + block + last, {{"DenseReluDense.wi_0.weight", {f, d}},
                                             {"DenseReluDense.wi_1.weight", {f, d}},
                                             {"DenseReluDense.wo.weight", {d, f}},
                                             {"layer_norm.weight", {d}}});
  }
  return all;
}
json::Value t5_config() {
  return {{"model_type", "t5"},
          {"d_model", d},
          {"num_layers", 2},
          {"num_heads", 4},
          {"d_kv", 16},
          {"d_ff", f},
          {"vocab_size", V},
          {"n_positions", 512},
          {"feed_forward_proj", "gated-gelu"},
          {"tie_word_embeddings", false},
          {"torch_dtype", "bfloat16"}};
}
}  // namespace

// google/flan-t5-*: "shared" is the token embedding; some files repeat it for each stack.
TEST_CASE("T5's encoder and decoder are read from a checkpoint without counting copies of its embedding",
          "[checkpoint][families]") {
  const Shapes all = Shapes{{"shared.weight", {V, d}}, {"lm_head.weight", {V, d}}} + t5_stack("encoder", false) +
                     t5_stack("decoder", true);
  check_read(t5_config(), all);
  check_read(t5_config(), all, {{"encoder.embed_tokens.weight", {V, d}}, {"decoder.embed_tokens.weight", {V, d}}},
             {"copies of the token embedding"});
  json::Value more = t5_config();
  more["num_decoder_layers"] = 3;
  CHECK_THAT(sentence([&] { read(more, all); }), Catch::Contains("disagree: 5 layers versus 4"));
}

namespace {
/// Two BERT layers and the embedding tables.
Shapes bert_body(const std::string& before, Count positions, Count types) {
  Shapes all{{"embeddings.word_embeddings.weight", {V, d}},
             {"embeddings.position_embeddings.weight", {positions, d}},
             {"embeddings.token_type_embeddings.weight", {types, d}},
             {"embeddings.LayerNorm.weight", {d}},
             {"embeddings.LayerNorm.bias", {d}}};
  for (const std::string layer : {"encoder.layer.0.", "encoder.layer.1."})
    all = all +
          under(layer, biased({{"attention.self.query", {d, d}},
                               {"attention.self.key", {d, d}},
                               {"attention.self.value", {d, d}},
                               {"attention.output.dense", {d, d}},
                               {"intermediate.dense", {f, d}},
                               {"output.dense", {d, f}}})) +
          under(layer, {{"attention.output.LayerNorm.weight", {d}},
                        {"attention.output.LayerNorm.bias", {d}},
                        {"output.LayerNorm.weight", {d}},
                        {"output.LayerNorm.bias", {d}}});
  return under(before, all);
}
json::Value bert_config(const std::string& type, const std::string& name, Count positions, Count types) {
  json::Value c =
      config(type, {{"architectures", {name}}, {"max_position_embeddings", positions}, {"type_vocab_size", types}});
  for (const char* key : {"tie_word_embeddings", "head_dim", "num_key_value_heads"}) c.erase(key);
  return c;
}
}  // namespace

// google-bert/bert-base-uncased: its file has the heads of BertForPreTraining, its config names BertForMaskedLM.
TEST_CASE("a BERT checkpoint is read as the class named in its config", "[checkpoint][families]") {
  const Shapes body = bert_body("bert.", 128, 2);
  const Shapes pooler = biased({{"bert.pooler.dense", {d, d}}}), pair = biased({{"cls.seq_relationship", {2, d}}});
  const Shapes masked = biased({{"cls.predictions.transform.dense", {d, d}}}) +
                        Shapes{{"cls.predictions.transform.LayerNorm.weight", {d}},
                               {"cls.predictions.transform.LayerNorm.bias", {d}},
                               {"cls.predictions.bias", {V}}};
  const Shapes tied{{"cls.predictions.decoder.weight", {V, d}}, {"cls.predictions.decoder.bias", {V}}};
  const std::string left_out = "heads omitted by the model class", copy = "head tied to the token embedding";
  check_read(bert_config("bert", "BertForMaskedLM", 128, 2), body + masked, pooler + pair + tied, {copy, left_out});
  check_read(bert_config("bert", "BertModel", 128, 2), body + pooler, masked + pair + tied, {left_out});
  check_read(bert_config("bert", "BertForPreTraining", 128, 2), body + masked + pooler + pair);
}

TEST_CASE("RoBERTa's head is read from a checkpoint without counting its tied copy of the embedding",
          "[checkpoint][families]") {
  const Shapes head =
      biased({{"lm_head.dense", {d, d}}}) +
      Shapes{{"lm_head.layer_norm.weight", {d}}, {"lm_head.layer_norm.bias", {d}}, {"lm_head.bias", {V}}};
  const Shapes tied{{"lm_head.decoder.weight", {V, d}}, {"lm_head.decoder.bias", {V}}};
  check_read(bert_config("xlm-roberta", "XLMRobertaForMaskedLM", 130, 1), bert_body("roberta.", 130, 1) + head, tied,
             {"head tied to the token embedding"});
}
