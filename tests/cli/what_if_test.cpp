// Changes to the hardware on the command line: memory, network and prices.

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

TEST_CASE("--memory replaces or scales the memory of a device", "[hardware][cli]") {
  const std::string words = "infer llama-3.1-8b --hardware h100";
  const auto memory = [&](const std::string& more) {
    return test::ask(words + more)["hardware"]["memory_bytes"].get<Count>();
  };
  CHECK(memory(" --memory 40GiB") == Count{40} << 30);
  CHECK(memory(" --memory 24GB") == 24'000'000'000);
  CHECK(memory(" --memory 1.5x") == 3 * memory("") / 2);
}

TEST_CASE("less memory changes the verdict, and more memory lengthens the context", "[hardware][cli]") {
  const std::string words = "infer llama-3.1-8b --hardware rtx-4090";
  CHECK(test::ask(words + " --memory 12GiB")["verdict"]["fit"] == "no");
  const auto longest = [&](const std::string& more) {
    return test::ask(words + more)["limits"]["max_context"].get<Count>();
  };
  CHECK(longest(" --memory 2x") > 2 * longest(""));
}

TEST_CASE("--require-fit yes rejects a plan whose fit is only likely", "[fit][cli]") {
  const std::string words = "train llama-3.1-8b --hardware h100 --gpus 8 --pp 4 --global-batch 32";
  REQUIRE(test::ask(words)["verdict"]["fit"] == "likely");
  CHECK(test::llmcalc(words + " --require-fit").code == 0);
  CHECK(test::llmcalc(words + " --require-fit yes").code == 1);
  CHECK(test::llmcalc("train --require-fit yes llama-3.2-1b --hardware mi300x").code == 0);
  CHECK(test::llmcalc("serve llama-3.1-8b --hardware h100 --rate 1 --num-requests 5 --require-fit yes").code == 0);
}

TEST_CASE("--network scales the links between nodes only", "[hardware][cli]") {
  const auto step = [](const std::string& more) {
    return test::ask("train llama-3.1-8b --hardware h100 --overlap 0 " + more)["step"]["time_s"].get<double>();
  };
  CHECK(step("--gpus 64 --fsdp --network 2x") < step("--gpus 64 --fsdp"));
  CHECK(step("--gpus 8 --fsdp --network 2x") == step("--gpus 8 --fsdp"));
}

TEST_CASE("--price sets the price of each device", "[hardware][cli]") {
  const json::Value v =
      test::ask("plan train llama-3.2-1b --hardware h100,mi300x --gpus 8 --tokens 1B --price h100=2.5,mi300x=1.25");
  for (const json::Value& row : v["rivals"])
    CHECK(row["price_usd_per_hour"] == (row["hardware"] == "mi300x" ? 1.25 : 2.5));
  const json::Value one = test::ask("train llama-3.2-1b --hardware h100 --tokens 1B --price h100=2.5,a100=1");
  CHECK(one["run"]["cost_usd"].get<double>() == Approx(2.5 * one["run"]["gpu_hours"].get<double>()));
}

TEST_CASE("the error for a mistake in what-if options is one sentence", "[hardware][cli]") {
  const auto refused = [](const std::string& words, const std::string& sentence) {
    const test::Ran ran = test::llmcalc(words);
    CHECK(ran.code == 2);
    CHECK_THAT(ran.err, Catch::Contains(sentence));
  };
  refused("infer gpt2 --hardware h100 --memory 0x", "--memory");
  refused("infer gpt2 --hardware h100 --memory 0GB", "expected a size above 0");
  refused("infer gpt2 --hardware h100 --network 2", "expected a factor, for example 2x");
  refused("infer gpt2 --hardware rtx-4090 --network 2x", "rtx-4090 has no network between nodes");
  refused("train gpt2 --hardware h100 --tokens 1B --price h10=2", "unknown hardware \"h10\"");
  refused("train gpt2 --hardware h100 --tokens 1B --price 2,h100=2", "expected a price for each device");
  refused("plan train gpt2 --hardware h100,a100 --gpus 8 --tokens 1B --price 2", "set a price for each");
  refused("infer gpt2 --hardware h100 --require-fit=maybe", "expected yes or likely");
}
