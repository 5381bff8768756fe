// Attention kernels named in the text of training rows.

#include "evidence/convert/words/attention_words.hpp"

#include "evidence/convert/training/training_conversion.hpp"
#include "evidence/convert/training/training_row.hpp"
#include "evidence/rows/training_case.hpp"
#include "tests/catch.hpp"
#include "tests/evidence/rows.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

TEST_CASE("attention kernels are recognized by whole words", "[attention-words]") {
  using K = AttentionKernel;
  for (const auto& [text, kernel] : {std::pair{"FlashAttention 1.0.8", K::flash_1},
                                     {"memory-efficient attention (xformers)", K::flash_1},
                                     {"mem-efficient", K::flash_1},
                                     {"flash-attention 2", K::flash_2},
                                     {"FA2", K::flash_2},
                                     {"FlashAttention v1", K::flash_1},
                                     {"flash-attn 2.5.8", K::flash_2},
                                     {"FA3", K::vendor},
                                     {"flash attention 3", K::vendor},
                                     {"flash_attention_3", K::vendor},
                                     {"FlashAttention v3", K::vendor},
                                     {"flash-attn version 3", K::vendor},
                                     {"CK flash attention (ROCm)", K::flash},
                                     {"SDPA (math backend)", K::unfused},
                                     {"without flash attention", K::unfused},
                                     {"SDPA", K::flash_2},
                                     {"TE", K::vendor},
                                     {"cuDNN flash attention", K::vendor},
                                     {"flash attention", K::flash},
                                     {"splash attention", K::flash},
                                     {"Megatron fused softmax kernel", K::fused_softmax},
                                     {"unfused", K::unfused},
                                     {"eager", K::unfused},
                                     {"no flash", K::unfused},
                                     {"none (a remark of any words)", K::unfused}}) {
    INFO(text);
    const AttentionSaid a = attention_called(text);
    CHECK(a.kernel == kernel);
    CHECK(a.stated);
    CHECK(a.assumed == "");
  }
  for (const char* fused : {"fused", "fused attention"}) {
    CHECK(attention_called(fused).kernel == K::vendor);
    CHECK_THAT(attention_called(fused).assumed, Catch::StartsWith("attention with the vendor's flash kernel"));
  }
  CHECK_FALSE(attention_called("").stated);
  CHECK_FALSE(attention_called("not stated").stated);
}

TEST_CASE("an unknown attention term is reported as an assumption", "[attention-words]") {
  CHECK(attention_called("flashish").assumed ==
        "attention with a flash kernel: \"flashish\" is not known, did you mean \"flash\"?");
  CHECK(attention_called("block sparse").assumed ==
        "attention with a flash kernel: \"block\" and \"sparse\" are not known");
  CHECK(attention_called("ring attention").assumed == "attention with a flash kernel: \"ring\" is not known");
  CHECK(attention_called("Megatron attention").assumed ==
        "attention with a flash kernel: \"Megatron attention\" names no kernel");
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  row.attention = "ring attention";
  const TrainingCase c = training_case(row, devices_once());
  CHECK(c.input_assumed);
  CHECK(c.assumed.back() == attention_called("ring attention").assumed);
}

TEST_CASE("all attention terms in the published rows are known", "[attention-words]") {
  for (const TrainingRow& row : training_rows()) CHECK(attention_called(row.attention).assumed == "");
}
