// Alternative names of options.

#include "ask/request/options/synonyms.hpp"
#include "ask/request/options/options.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

TEST_CASE("every synonym maps to an option, and no synonym is an option itself", "[options]") {
  for (const Synonym& s : synonyms()) {
    INFO(s.typed);
    CHECK(find_option(s.flag) != nullptr);
    CHECK((s.instead.empty() || find_option(s.instead) != nullptr));
    CHECK(find_option(s.typed) == nullptr);
  }
}

TEST_CASE("a synonym gives the same answer as its option", "[options][cli]") {
  const auto same = [](const std::string& command, const std::string& typed, const std::string& option) {
    CAPTURE(typed);
    json::Value a = test::ask(command + typed), b = test::ask(command + option);
    CHECK(a == b);
  };
  const std::string infer = "infer llama-3.1-8b --hardware h100 ", train = "train llama-3.1-8b --hardware h100 --fsdp ";
  same(infer, "--quant fp8 --kv fp8", "--weight-precision fp8 --kv-precision fp8");
  same(infer, "--batch-size 4 --input-len=1k --output_len 128", "--batch 4 --prompt 1k --generate 128");
  same(infer, "--tensor-parallel-size 2", "--tp 2");
  same(train, "--batch-size 2 --num-gpus 8", "--micro-batch 2 --gpus 8");
  same("serve llama-3.1-8b --hardware h100 --num-requests 20 ",
       "--request-rate 2 --max-num-seqs 64 --gpu-memory-utilization 0.9",
       "--rate 2 --max-seqs 64 --memory-utilization 0.9");
}

TEST_CASE("an option and its synonym count as one option given twice", "[options][cli]") {
  const test::Ran ran = test::llmcalc("infer gpt2 --hardware h100 --batch 2 --batch-size 4");
  CHECK(ran.code == 2);
  CHECK_THAT(ran.err, Catch::Contains("--batch is specified twice"));
}

TEST_CASE("a latency limit of 10 or more needs a unit", "[options][cli]") {
  const std::string serve = "serve llama-3.1-8b --hardware h100 --rate 1 --num-requests 20 --slo-ttft ";
  const test::Ran bare = test::llmcalc(serve + "500");
  CHECK(bare.code == 2);
  CHECK_THAT(bare.err, Catch::Contains("write 500ms or 500s"));
  CHECK(test::llmcalc(serve + "500ms").code == 0);
  CHECK(test::llmcalc(serve + "2").code == 0);
}

TEST_CASE("the error for a misspelled synonym suggests the synonym if the command accepts it", "[options][cli]") {
  const auto suggests = [](const std::string& command, const std::string& suggestion) {
    const test::Ran ran = test::llmcalc(command);
    CHECK(ran.code == 2);
    CHECK_THAT(ran.err, Catch::Contains("did you mean " + suggestion + "?"));
  };
  suggests("train gpt2 --hardware h100 --bach-size 2", "--batch-size");
  suggests("infer gpt2 --hardware h100 --tensor-paralel-size 2", "--tensor-parallel-size");
  suggests("infer gpt2 --hardware h100 --promt 2", "--prompt");  // an option itself
  CHECK_THAT(test::llmcalc("list models --bach-size 2").err, !Catch::Contains("did you mean"));
}
