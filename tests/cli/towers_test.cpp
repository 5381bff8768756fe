// Towers beside a model: rows of their own, in no other number, and a note where bytes are counted.

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using test::ask;

TEST_CASE("params shows a vision tower and its projector beside the total", "[cli][towers]") {
  const json::Value kimi = ask("params kimi-k3")["parameters"];
  CHECK(kimi["vision"] == 401214464);
  CHECK(kimi["projector"] == 46144512);
  CHECK(kimi["total"] == 2779484393568);  // the text model alone
  CHECK_FALSE(kimi.contains("audio"));
  const json::Value qwen = ask("params qwen3.5-27b")["parameters"];
  CHECK(qwen["vision"] == 460730096);  // its merger included
  CHECK_FALSE(qwen.contains("projector"));
  CHECK_FALSE(ask("params gpt-2-124m")["parameters"].contains("vision"));
}

TEST_CASE("memory says how many bytes of towers it does not count", "[cli][towers]") {
  const char* note = "hold 460730096 parameters beside the text model";
  CHECK_THAT(ask("memory qwen3.5-27b --infer")["notes"].dump(), Catch::Contains(note));
  CHECK_THAT(ask("memory qwen3.5-27b")["notes"].dump(), Catch::Contains(note));
  CHECK(ask("params qwen3.5-27b")["notes"].dump().find(note) == std::string::npos);
  CHECK(ask("memory llama-3.1-8b --infer").value("notes", json::Value()).dump().find("towers") == std::string::npos);
}

TEST_CASE("a tower's parameters are explained by the sum of its modules", "[cli][towers]") {
  CHECK_THAT(test::llmcalc("explain parameters.vision kimi-k3").out, Catch::Contains("401,214,464"));
  CHECK_THAT(test::llmcalc("explain parameters.projector kimi-k3").out, Catch::Contains("46,144,512"));
  CHECK(test::llmcalc("explain parameters.audio kimi-k3").code == 2);
}
