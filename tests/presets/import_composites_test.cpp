// Configs whose text model is a part.

#include "tests/catch.hpp"
#include "tests/presets/import_text.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

TEST_CASE("the text part of a composite config is read and said to be a part", "[import]") {
  const std::string text = R"({"hidden_size": 96, "num_hidden_layers": 2, "num_attention_heads": 6, "head_dim": 16,
    "num_key_value_heads": 2, "intermediate_size": 256, "vocab_size": 1000})";
  const auto wrapped = [&](const std::string& type) {
    return imported(R"({"model_type": ")" + type + R"(", "text_config": )" + text + "}");
  };
  CHECK(wrapped("gemma3").arch.qk_norm == QkNorm::per_head);
  CHECK(wrapped("gemma3").caveats[0] == "text part only: a vision or audio tower beside it is not counted");
  // gemma3_text's defaults: 131072 positions, a window of 4096 on five layers of six.
  CHECK_THAT(wrapped("gemma3").caveats[1],
             Catch::Contains("the family's defaults count: max_position_embeddings 131072"));
  CHECK(wrapped("llama4").arch.has_experts());
  CHECK(wrapped("llava").arch.layers == 2);
  const ModelCard any = imported(R"({"model_type": "something_new", "tie_word_embeddings": true, "text_config":
    {"model_type": "llama", "num_hidden_layers": 2}})");
  CHECK(any.arch.layers == 2);
  CHECK(any.arch.tied_head);
  CHECK(refusal(R"({"model_type": "new", "text_config": {"vocab_size": 5}})").find("\"new_text\"") !=
        std::string::npos);
  CHECK(refusal(R"({"model_type": "new", "text_config": 5})").find("\"text_config\" is not an object") !=
        std::string::npos);
}
