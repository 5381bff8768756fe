// Terms in a row's text are matched as whole words, and do not match if they are negated.

#include "evidence/names/words.hpp"

#include "tests/catch.hpp"

using namespace llmcalc;

TEST_CASE("text matching finds only whole words", "[words]") {
  CHECK(Words("LoRA rank 16").affirms("lora"));
  for (const char* other : {"data exploration", "a ranch in Colorado", "QLoRAX"}) CHECK_FALSE(Words(other).has("lora"));
  CHECK(words_of("FlashAttention-v3") == std::vector<std::string>{"flashattention", "v", "3"});
  CHECK(Words("flash_attention 2").has("flash attention 2"));
  CHECK_FALSE(Words("flash, attention").has("flash attention 2"));
}

TEST_CASE("a word that is negated within its clause does not match", "[words]") {
  for (const char* denied : {"no LoRA", "not trained with LoRA", "without any LoRA", "LoRA off", "LoRA: none",
                             "LoRA adapters disabled", "LoRA was not used", "faster than LoRA", "unlike LoRA",
                             "compared with LoRA", "runs with LoRA were left out", "LoRA=0", "LoRA layers: 0.0"}) {
    INFO(denied);
    CHECK(Words(denied).denies("lora"));
  }
  for (const char* said :
       {"no dropout, LoRA", "no dropout and LoRA", "no dropout with LoRA", "LoRA (no bias)", "LoRA without dropout",
        "LoRA; speculation off", "LoRA not merged", "LoRA 0.5", "no adapters at first; then LoRA"}) {
    INFO(said);
    CHECK(Words(said).affirms("lora"));
  }
  CHECK_FALSE(Words("1F1B (non-interleaved)").affirms("interleaved"));
  CHECK(Words("no LoRA in warm-up, LoRA later").affirms("lora"));
}

TEST_CASE("text that gives no information is distinguished from a denial", "[words]") {
  for (const char* silent : {"", "-", "n/a", "not stated", "unknown", "not stated (default)"}) {
    INFO(silent);
    CHECK(Words(silent).silent());
    CHECK_FALSE(Words(silent).says_no());
  }
  for (const char* no : {"none", "None", "no", "off", "false", "disabled", "null"}) {
    INFO(no);
    CHECK(Words(no).says_no());
    CHECK_FALSE(Words(no).silent());
  }
}
