// llama-quantize's mixes against the sizes of published files. A file is its tensors and a header, which is the same
// for every type of one model.

#include "presets/gguf_mix.hpp"

#include "calc/memory.hpp"
#include "presets/load.hpp"
#include "presets/weight_formats.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

Count bytes_under(const char* model, std::string_view mix) {
  const Arch a = load_model(model).arch;
  Plan p;
  p.weight_precision = gguf_mix(a, mix);
  return weights_bytes(a, p).value;
}

struct PublishedFile {
  const char *model, *mix;
  Count bytes, header;
};

}  // namespace

// TheBloke/Llama-2-7B-Chat-GGUF; bartowski/Meta-Llama-3.1-8B-Instruct-GGUF and Llama-3.2-3B-Instruct-GGUF, which hold
// 64 rotary factors of float32 too; Qwen/Qwen2.5-Coder-7B-Instruct-GGUF; unsloth/Qwen3-30B-A3B-Instruct-2507-GGUF;
// TheBloke/Mistral-7B-Instruct-v0.2-GGUF; lmstudio-community/Meta-Llama-3-8B-Instruct-GGUF. Two files of a repository
// have one header, which checks both; a header alone is known from its file and these rules.
TEST_CASE("a mix of llama-quantize has the bytes of published files", "[mix]") {
  constexpr Count rotary = 4 * 64;
  for (const PublishedFile& f : {PublishedFile{"llama-2-7b", "q4_k_m", 4081004224, 741056},
                                 PublishedFile{"llama-2-7b", "q8_0", 7161089728, 741056},
                                 PublishedFile{"llama-3.1-8b", "q4_k_m", 4920739232, 7840928 + rotary},
                                 PublishedFile{"llama-3.1-8b", "q8_0", 8540775840, 7840928 + rotary},
                                 PublishedFile{"llama-3.2-3b", "q4_k_m", 2019377696, 7837984 + rotary},
                                 PublishedFile{"qwen2.5-7b", "q4_k_m", 4683073536, 5953536},
                                 PublishedFile{"qwen2.5-7b", "q5_k_m", 5444831232, 5953536},
                                 PublishedFile{"qwen3-30b-a3b", "q6_k", 25092532640, 5970336},
                                 PublishedFile{"qwen3-30b-a3b", "q8_0", 32483932576, 5970336},
                                 PublishedFile{"mistral-7b-v0.1", "q4_k_s", 4140374304, 735520},
                                 PublishedFile{"llama-3-8b", "q4_k_m", 4920733888, 7835840}}) {
    INFO(f.model << " " << f.mix);
    CHECK(bytes_under(f.model, f.mix) == f.bytes - f.header);
  }
}

// The rules with today's llama.cpp for the shape of Llama 2 7B, which the file of 2023 (2825940672 bytes) did not
// follow.
TEST_CASE("the mix of Q2_K is today's", "[mix]") { CHECK(bytes_under("llama-2-7b", "q2_k") == 2532122624); }

TEST_CASE("a mix keeps norms, biases and routers in float32 and names the format of most numbers", "[mix]") {
  const auto formats = [](const char* model, std::string_view mix) {
    return weight_formats_text(gguf_mix(load_model(model).arch, mix));
  };
  CHECK(formats("llama-2-7b", "q4_k_m") == "fp32 (norm), q6_k (lm_head), q4_k");
  CHECK(formats("qwen3-30b-a3b", "q4_k_m") == "fp32 (router, norm), q6_k (lm_head), q4_k");
  CHECK(formats("gpt-oss-20b", "mxfp4_moe") == "fp32 (router, norm), mxfp4 (experts), q8_0");
}

TEST_CASE("rows that are no whole blocks take a type with smaller blocks", "[mix]") {
  // 576 columns are no multiple of 256: q4_k becomes q5_0, q6_k becomes q8_0 (SmolLM2 135M, tied).
  Arch a = load_model("llama-3.2-1b").arch;
  a.hidden = a.embedding_width = 576;
  a.heads = 9;
  a.kv_heads = 3;
  for (const MixedTensor& t : mixed_tensors(a, "q4_k_m"))
    if (t.columns == 576 && t.rows > 1) CHECK((t.format.name() == "q5_0" || t.format.name() == "q8_0"));
}

TEST_CASE("every mix prices every model", "[mix]") {
  for (const std::string_view mix : gguf_mixes()) {
    CHECK(is_gguf_mix(mix));
    CHECK(bytes_under("mixtral-8x7b", mix) > 0);
    CHECK(bytes_under("deepseek-v3", mix) > 0);
  }
  CHECK_FALSE(is_gguf_mix("q4_k_xl"));
}
