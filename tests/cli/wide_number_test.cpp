// JSON numbers past 2^64, and file text that imitates them.

#include <algorithm>

#include "presets/builtin.hpp"
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

TEST_CASE("a number past 2^64 has every digit in JSON, and is compared as a number", "[wide_number]") {
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
