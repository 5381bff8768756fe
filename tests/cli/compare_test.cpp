// 'llmcalc compare': reports side by side.

#include <algorithm>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

const char* const plan = "train llama-3.1-8b --hardware h100 --gpus 64 --global-batch 64 --fsdp";

json::Value compared(const std::string& of, const std::string& vs) {
  return test::ask("compare --of '" + of + "' --vs '" + vs + "'");
}

}  // namespace

TEST_CASE("a plan compared with itself shows no difference", "[compare][cli]") {
  const test::Ran r = test::llmcalc("compare --of '" + std::string(plan) + "' --vs '--tp 1'");
  CHECK(r.code == 0);
  CHECK(r.out.find("equals first") != std::string::npos);
}

TEST_CASE("differences match both reports, and a total's difference is split into its parts", "[compare][cli]") {
  const std::string titan = std::string(plan) + " --software torchtitan";
  const json::Value c = compared(titan.c_str(), "--recompute full --tp 2");
  REQUIRE(c["sides"].size() == 2);
  CHECK(c["sides"][0] == test::ask(titan));
  std::size_t found = 0;
  for (const json::Value& d : c["differences"]) {
    std::string pointer = "/" + d["quantity"].get<std::string>();
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    const json::Value::json_pointer at(pointer);
    if (d.contains("a") && c["sides"][0].contains(at) && c["sides"][0].at(at).is_number())
      CHECK(d["a"] == c["sides"][0].at(at).get<double>());
    if (d.contains("b") && c["sides"][1].contains(at) && c["sides"][1].at(at).is_number())
      CHECK(d["b"] == c["sides"][1].at(at).get<double>());
    if (d["quantity"] == "step.time_s") {
      ++found;
      CHECK(d["because"].get<std::string>().find("tensor-parallel collectives +") != std::string::npos);
    }
    if (d["quantity"] == "memory.peak_bytes") {
      ++found;
      CHECK(d["because"].get<std::string>().find("activations saved for backward -") != std::string::npos);
    }
  }
  CHECK(found == 2);
}

TEST_CASE("an option of a comparison's second side replaces the same option of the first side", "[compare][cli]") {
  const json::Value c = compared(plan, "--gpus 8 --global-batch 8");
  CHECK(c["sides"][1]["inputs"]["gpus"] == 8);
  CHECK(c["sides"][1]["inputs"]["zero"] == 3);
}

TEST_CASE("compare compares two searches by their best plans", "[compare][cli]") {
  const std::string search = "plan train llama-3.1-8b --hardware h100 --global-batch 64 --tp 2 --top 2 ";
  const json::Value one = test::ask(search + "--gpus 16"),
                    other = test::ask(search + "--gpus 32 --software megatron-lm");
  const json::Value c = compared(search + "--gpus 16", "--gpus 32");
  REQUIRE(c["sides"].size() == 2);
  CHECK(c["sides"][0] == one);
  CHECK(c["sides"][1]["plans"] == other["plans"]);
  std::size_t found = 0;
  for (const json::Value& d : c["differences"]) {
    std::string pointer = "/" + d["quantity"].get<std::string>();
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    const json::Value::json_pointer at(pointer);
    if (d["quantity"] != "step.time_s" && d["quantity"] != "memory.peak_bytes") continue;
    ++found;
    CHECK(d["a"] == one["plans"][0].at(at).get<double>());
    CHECK(d["b"] == other["plans"][0].at(at).get<double>());
  }
  CHECK(found == 2);
  const std::string a = test::scratch() + "/16.json", b = test::scratch() + "/32.json";
  test::write_file(a, one.dump());
  test::write_file(b, other.dump());
  const test::Ran saved = test::llmcalc("compare " + a + " " + b + " --full");
  CHECK(saved.out.find("gpus 16 and 32") != std::string::npos);
  CHECK(saved.out.find("equals") == std::string::npos);
}

TEST_CASE("the second side of a comparison can use another model", "[compare][cli]") {
  const json::Value c = compared("train gpt2 --hardware h100", "gpt2-medium --micro-batch 2");
  CHECK(c["sides"][0] == test::ask("train gpt2 --hardware h100"));
  CHECK(c["sides"][1]["model"]["name"] == "gpt-2-355m");
  CHECK(c["sides"][1]["inputs"]["micro_batch"] == 2);
}

TEST_CASE("compare rejects missing, unknown and incompatible reports", "[compare][cli]") {
  const auto refused = [](const std::string& words) {
    const test::Ran r = test::llmcalc(words);
    CHECK(r.code == 2);
    return r.err;
  };
  CHECK(refused("compare --of '" + std::string(plan) + "'") ==
        "llmcalc: --of and --vs must be used together; pass both\n");
  CHECK(refused("compare") ==
        "llmcalc: 'llmcalc compare' needs two reports saved with --json, or --of and --vs; see --help for examples\n");
  CHECK(refused("compare --of 'walk llama-3-8b' --vs '--tp 2'").find("--of: expected a command") != std::string::npos);
  const std::string train = test::scratch() + "/train.json", infer = test::scratch() + "/infer.json";
  test::write_file(train, test::ask("train gpt2 --hardware h100").dump());
  test::write_file(infer, test::ask("infer gpt2 --hardware h100").dump());
  CHECK(refused("compare " + train + " " + infer) == "llmcalc: " + train + " is from 'llmcalc train' and " + infer +
                                                         " from 'llmcalc infer'; compare reports of the same "
                                                         "command\n");
  const std::string none = test::scratch() + "/none.json";
  test::write_file(none, test::ask("plan train llama-3.1-405b --hardware h100 --gpus 1 --offload none").dump());
  CHECK(refused("compare " + none + " " + none) ==
        "llmcalc: " + none + " has no plan to compare; search with more GPUs, or other options\n");
}

TEST_CASE("training weights are reported in their storage format, not in the compute format", "[compare][cli]") {
  const std::string narrow = " --precision fp8";
  const json::Value fp8 = test::ask(plan + narrow), bf16 = test::ask(plan);
  CHECK(fp8["memory"]["weights_bytes"] == bf16["memory"]["weights_bytes"]);
  CHECK(fp8["inputs"]["weight_precision"] == "bf16");
  CHECK(test::ask(std::string(plan) + " --weight-precision fp32")["inputs"]["weight_precision"] == "fp32");
  const test::Ran r = test::llmcalc("compare --of '" + std::string(plan) + "' --vs '--precision fp8' --full");
  CHECK(r.code == 0);
  CHECK(r.out.find("precision bf16 and fp8") != std::string::npos);
  CHECK(r.out.find("weight_precision") == std::string::npos);
}

TEST_CASE("a comparison leads with the quantity that its reports were computed for", "[compare][cli]") {
  const test::Ran r = test::llmcalc(
      "compare --of 'infer llama-3.1-8b --hardware h100 --software vllm' --vs '--weight-precision fp8' --full");
  REQUIRE(r.code == 0);
  CHECK_THAT(r.out, Catch::Contains("\n--weight-precision fp8: ") && Catch::Contains(" % less time per token"));
  CHECK(r.out.find("end of the 90 % interval") == std::string::npos);
  const std::size_t token = r.out.find("time of one"), tenth = r.out.find("change in time per token");
  REQUIRE(tenth != std::string::npos);
  CHECK(token < tenth);
  CHECK(r.out.find(" %", tenth) != std::string::npos);  // a share, as in the comparison of steps
}

TEST_CASE("two versions of a stack are compared by key, lists of objects included", "[compare][cli]") {
  const json::Value differences = test::ask("compare --software vllm@0.10 vllm@0.19")["differences"];
  REQUIRE_FALSE(differences.empty());
  for (const json::Value& d : differences) CHECK(d["a"] != d["b"]);
}
