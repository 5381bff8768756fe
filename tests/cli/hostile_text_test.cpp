// Text from files that a terminal, a Markdown viewer or a JSON parser would interpret.

#include "presets/builtin.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "text/names.hpp"
#include "text/utf8.hpp"

using namespace llmcalc;

namespace {

std::string path(const std::string& name) { return test::scratch() + "/" + name; }

const std::string hostile = "a\x1b[31m\x1b]0;x\x07|x\r\n# H \u202E\u2028<script>\u0085\x7f";

json::Value preset(std::span<const Builtin> all, const std::string& name) {
  return json::parse(find_meant(all, name)->text, name);
}

std::string written(const std::string& name, const json::Value& value) {
  test::write_file(path(name), value.dump());
  return path(name);
}

std::string hostile_model() {
  json::Value v = preset(builtin_models(), "gpt2");
  v["name"] = v["title"] = v["notes"] = hostile;
  v["caveats"] = {hostile};
  v.erase("aliases");
  return written("hostile-model.json", v);
}

std::string hostile_hardware() {
  json::Value v = preset(builtin_hardware(), "h100-sxm-80gb");
  v["name"] = v["title"] = v["notes"] = hostile;
  v.erase("aliases");
  return written("hostile-hardware.json", v);
}

/// Checks that every line is plain text, unchanged by printable().
void check_shown(const std::string& out) {
  INFO(printable(out));
  CHECK(model::first_bad_byte(out) == std::nullopt);
  std::string lines = out;
  std::erase(lines, '\n');
  CHECK(printable(lines) == lines);
  CHECK(out.find("\n# H") == std::string::npos);
}

}  // namespace

TEST_CASE("control characters and markup in a file's text are never interpreted, in any output style", "[hostile]") {
  const std::string model = hostile_model(), hardware = " --hardware " + hostile_hardware();
  for (const std::string& command :
       {"params " + model, "memory " + model + " --train", "flops " + model, "train " + model + hardware,
        "infer " + model + hardware, "report " + model + hardware, "fit " + model + hardware,
        "serve " + model + hardware + " --rate 1 --num-requests 3", "explain step.time_s " + model + hardware,
        "plan train " + model + hardware + " --gpus 2 --top 1"}) {
    INFO(printable(command));
    for (const char* style : {"", " --markdown", " --json"}) {
      const test::Ran r = test::llmcalc(command + style);
      CHECK(r.code == 0);
      check_shown(r.out);
      if (style == std::string(" --markdown")) CHECK(r.out.find('<') == std::string::npos);
      if (style == std::string(" --json")) json::parse(r.out, "the report");
    }
  }
}

TEST_CASE("control characters and markup in a file name are never interpreted", "[hostile]") {
  const std::string name = path("m\x1b[31m\xFF.json");
  test::write_file(name, preset(builtin_models(), "gpt2").dump());
  for (const char* style : {"", " --markdown", " --json"})
    check_shown(test::llmcalc("params '" + name + "'" + style).out);
  const test::Ran imported = test::llmcalc("import '" + path("no\x1b\xFF.json") + "'");
  CHECK(imported.code == 2);
  CHECK(printable(imported.err.substr(0, imported.err.size() - 1)) + "\n" == imported.err);
}

TEST_CASE("control characters in a log's model or a report's options are never interpreted", "[hostile]") {
  std::string log = test::read_file(LLMCALC_SOURCE_DIR "/tests/cli/logs/vllm-v1.log");
  const std::size_t at = log.find("model='");
  REQUIRE(at != std::string::npos);
  log.insert(at + 7, "\x07\x1b[31m");
  test::write_file(path("hostile.log"), log);
  for (const char* style : {"", " --markdown", " --json"}) {
    const test::Ran r = test::llmcalc("diagnose " + path("hostile.log") + style);
    CHECK(r.code == 0);
    check_shown(r.out);
    CHECK(r.out.find("\\u0007") == std::string::npos);
  }

  json::Value report = test::ask("params gpt2");
  const std::string a = written("a.json", report);
  report["inputs"]["k\x1b[31m"] = "v\u202E";
  report["model"]["name"] = hostile;
  const test::Ran compared = test::llmcalc("compare " + a + " " + written("b.json", report));
  CHECK(compared.code == 0);
  check_shown(compared.out);
}
