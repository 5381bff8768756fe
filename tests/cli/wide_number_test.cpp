// JSON numbers above 2^64, and file text that imitates them.

#include <algorithm>

#include "presets/builtin.hpp"
#include "report/ask.hpp"
#include "report/render/render.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

std::string scratch_file(const std::string& name, const json::Value& value) {
  test::write_file(test::scratch() + "/" + name, value.dump());
  return test::scratch() + "/" + name;
}

}  // namespace

TEST_CASE("text from a file is never read as a JSON number", "[wide_number]") {
  json::Value v = json::parse(find_meant(builtin_models(), "gpt2")->text, "gpt2");
  for (const char* title : {"\x01wide:0,\"injected\":1", "\x01wide:1", "\x01wide:1e999"}) {
    v["title"] = title;
    const json::Value report = test::ask("params " + scratch_file("wide.json", v));
    CHECK(report["model"]["title"].is_string());
    CHECK_FALSE(report["model"].contains("injected"));
  }
  json::Value report = test::ask("params gpt2");
  const std::string good = scratch_file("good.json", report);
  for (const char* total : {"\x01wide:abc", "\x01wide:1e999"}) {
    report["parameters"]["total"] = total;
    const std::string edited = scratch_file("edited.json", report);
    CHECK(test::llmcalc("compare " + good + " " + edited).code == 0);
    CHECK(test::llmcalc("compare " + edited + " " + good).code == 0);
  }
}

TEST_CASE("a number above 2^64 has every digit in JSON, and is compared as a number", "[wide_number]") {
  const std::string command = "flops llama-3.1-405b --seq 1M";  // 6 x 405e9 x 1e6 and attention: 2.7e19
  const test::Ran r = test::llmcalc(command + " --json");
  REQUIRE(r.code == 0);
  const std::size_t at = r.out.find("\"model_total\": ") + 15;
  std::string digits = r.out.substr(at, r.out.find(',', at) - at);
  CHECK(digits.size() == 20);
  for (std::size_t end = digits.size(); end > 3;) digits.insert(end -= 3, ",");
  CHECK(test::llmcalc(command + " --exact").out.find(digits) != std::string::npos);
  const json::Value longer = test::ask("compare --of '" + command + "' --vs '--seq 2M'");
  const auto& all = longer["differences"];
  const auto total =
      std::find_if(all.begin(), all.end(), [](const json::Value& d) { return d["quantity"] == "flops.model_total"; });
  REQUIRE(total != all.end());
  CHECK((*total)["a"] == json::parse(r.out, "the report")["flops"]["model_total"].get<double>());
  CHECK((*total)["b"].get<double>() > 2 * (*total)["a"].get<double>());
}

TEST_CASE("an integer above 2^53 is followed by its digits as text, and a smaller one is not", "[wide_number]") {
  // 6 x 124,439,808 x 1024 for the parameters of GPT-2 is 7.6e11; with 1e6 times as many tokens, 7.6e17.
  const json::Value small = test::ask("flops gpt2 --seq 1024")["flops"],
                    large = test::ask("flops llama-3.1-405b --seq 1M")["flops"];
  CHECK(small["model_total"].get<std::int64_t>() < (std::int64_t{1} << 53));
  CHECK_FALSE(small.contains("model_total_text"));
  CHECK(large["forward"].is_number());
  CHECK(large["forward_text"] == large["forward"].dump());  // below 2^64, the parser preserves every digit
  const std::string digits = large["model_total_text"];     // above 2^64
  CHECK(digits.size() == 20);
  CHECK(std::stod(digits) == large["model_total"].get<double>());
  CHECK(large["formulas"]["6nd_text"] == large["formulas"]["6nd"].dump());
}

TEST_CASE("2^53 is not repeated as text, and 2^53 + 1 is", "[wide_number]") {
  const std::int64_t most = std::int64_t{1} << 53;
  const json::Value numbers{{"a", most}, {"b", most + 1}, {"c", -most - 1}, {"d", 1e300}, {"e", ~std::uint64_t{0}}};
  const json::Value printed = json::parse(dump(numbers), "numbers");
  CHECK(printed.size() == 8);
  CHECK(printed["b_text"] == "9007199254740993");
  CHECK(printed["c_text"] == "-9007199254740993");
  CHECK(printed["e_text"] == "18446744073709551615");
}

TEST_CASE("a large input of a saved answer is read from its digits, even if a program rounded the number",
          "[wide_number]") {
  const std::string command = "train gpt2 --hardware h100 --tokens 9007199254740993";
  const json::Value first = test::ask(command);
  json::Value request{{"command", "train"}, {"model", "gpt2"}, {"hardware", "h100"}, {"inputs", first["inputs"]}};
  CHECK(request["inputs"]["tokens_text"] == "9007199254740993");
  request["inputs"]["tokens"] = 9007199254740992.0;  // as JavaScript reads it
  CHECK(json::parse(dump(ask(request)), "the answer")["inputs"]["tokens_text"] == "9007199254740993");
}

TEST_CASE("a saved report without a text copy of its large numbers compares equal to one with it", "[wide_number]") {
  json::Value saved = test::ask("flops llama-3.1-405b --seq 100k");
  REQUIRE(saved["flops"].contains("model_total_text"));
  std::vector<std::string> texts;
  for (const auto& [key, value] : saved["flops"].items())
    if (key.ends_with("_text")) texts.push_back(key);
  for (const std::string& key : texts) saved["flops"].erase(key);
  CHECK(test::llmcalc("check --baseline " + scratch_file("saved.json", saved)).code == 0);
}
