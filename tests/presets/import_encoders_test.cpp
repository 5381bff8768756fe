// BERT and its kin, T5.

#include "tests/catch.hpp"
#include "tests/presets/import_text.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

TEST_CASE("BERT's head is that of the class that its config names", "[import]") {
  const auto head = [](const char* name) {
    return arch(small("bert", R"("architectures": [")" + std::string(name) + "\"]")).head;
  };
  CHECK(arch(small("bert", "")).head == ModelHead{.kind = HeadKind::none, .pooler = true});
  CHECK(head("BertModel") == ModelHead{.kind = HeadKind::none, .pooler = true});
  CHECK(head("BertForMaskedLM") == ModelHead{.kind = HeadKind::masked_token});
  CHECK(head("BertForPreTraining") == ModelHead{.kind = HeadKind::masked_token, .pooler = true, .sentence_pair = true});
  CHECK(refusal(small("bert", R"("architectures": ["BertForTokenClassification"])")) ==
        "c.json: \"architectures\" names BertForTokenClassification, whose head is not known; expected BertModel, "
        "BertForMaskedLM, BertForPreTraining or BertForNextSentencePrediction");
  CHECK(refusal(small("bert", R"("is_decoder": true)")) ==
        "c.json: \"is_decoder\" is true; BERT is known as an encoder alone");
}

TEST_CASE("T5 has as many layers in its decoder as in its encoder unless it says otherwise", "[import]") {
  const auto t5 = [](const std::string& more) {
    return arch(R"({"model_type": "t5", "d_model": 96, "num_layers": 3, "num_heads": 4, "d_kv": 16, "d_ff": 256,
      "vocab_size": 1000)" +
                more + "}");
  };
  CHECK(t5("").layers == 6);
  CHECK(t5("").mixers[0].layers == layers({3, 4, 5}));
  CHECK(t5(R"(, "num_decoder_layers": 1)").mixers[0].layers == layers({3}));
  CHECK(t5("").mlp == MlpKind::plain);
  CHECK(t5("").activation == Activation::relu);
  CHECK(t5("").tied_head);
  CHECK(t5(R"(, "feed_forward_proj": "gated-gelu")").mlp == MlpKind::gated);
  CHECK(t5(R"(, "feed_forward_proj": "gated-gelu")").activation == Activation::gelu_tanh);
}
