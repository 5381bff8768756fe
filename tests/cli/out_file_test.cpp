// Output files named by options: files that llmcalc did not write are preserved unless --force is given, while pipes
// and devices are written to.

#include <filesystem>
#include <utility>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

std::string path(const std::string& name) { return test::scratch() + "/" + name; }

const std::string train = "train gpt2 --hardware h100 --trace ", sweep = "sweep params gpt2,gpt2-medium --out ",
                  convert = "accuracy convert tests/cli/measurements/dense.json ",
                  tables = "calibrate --from evidence/operators/rtx-pro-6000/llama-3.1-8b --out ";

/// Every command that writes a file, and content of other programs that resembles its output.
std::vector<std::pair<std::string, std::string>> writers() {
  return {{train + path("trace.json"), R"({"traceEvents":[],"displayTimeUnit":"ms"})"},
          {sweep + path("rows.csv"), "model,answer\r\ngpt2,1\r\n"},
          {sweep + path("rows.jsonl"), "{\"id\":1}\n"},
          {convert + path("rows.jsonl"), "{\"id\":1,\"text\":\"a data set\"}\n"},
          {tables + path("hardware.json"), R"({"name":"mine","memory":"1 GB"})"},
          {"learn " + path("text.txt") + " --steps 1 --model docs/examples/tiny-llama.json --seq 16 --out " +
               path("model.safetensors"),
           "not a checkpoint"}};
}

}  // namespace

TEST_CASE("a file that llmcalc did not write is preserved unless --force is given; its own files are replaced",
          "[out_file][cli]") {
  std::string text;
  while (text.size() < 16000) text += "the cat sees a dog.\n";
  test::write_file(path("text.txt"), text);
  for (const auto& [command, foreign] : writers()) {
    INFO(command);
    const std::string file = command.substr(command.rfind(' ') + 1);
    test::write_file(file, foreign);
    const test::Ran kept = test::llmcalc(command);
    CHECK(kept.code == 2);
    CHECK_THAT(kept.err, Catch::StartsWith("llmcalc: '" + file + "' exists and is not a") &&
                             Catch::Contains(", or --force to replace it\n"));
    CHECK(test::read_file(file) == foreign);
    CHECK(test::llmcalc(command + " --force").code == 0);
    CHECK(test::read_file(file) != foreign);
    CHECK(test::llmcalc(command).code == 0);
    test::write_file(file, "");
    CHECK(test::llmcalc(command).code == 0);
    CHECK_FALSE(test::read_file(file).empty());
  }
}

TEST_CASE("--force without a file to write is rejected", "[out_file][cli]") {
  test::refused("train gpt2 --hardware h100 --force", "--force has no effect without --trace; add --trace");
  test::refused("sweep params gpt2 --force", "--force has no effect without --out; add --out");
  test::refused("accuracy training --force", "--force applies only to accuracy convert, --html and --out; omit it");
}

TEST_CASE("a trace can be written to standard output and to other files that are not regular", "[out_file][cli]") {
  const test::Ran piped = test::llmcalc(train + "/dev/stdout", {.behind = "| cat"});
  CHECK_THAT(piped.out, Catch::StartsWith("{\"otherData\"") && Catch::Contains("GPT-2"));
  const test::Ran redirected = test::llmcalc(train + "/dev/stdout");
  CHECK(redirected.out == piped.out);
  CHECK(test::llmcalc(train + "/dev/null").code == 0);
  CHECK(std::filesystem::is_character_file("/dev/null"));
}

TEST_CASE("a sweep can be written to a pipe, which cannot be resumed", "[out_file][cli]") {
  const std::string reader = "rm -f " + path("p.csv") + "; mkfifo " + path("p.csv") + "; cat " + path("p.csv") + " >" +
                             path("read.csv") + " &";
  test::llmcalc(sweep + path("p.csv"), {.before = reader, .streams = "; wait"});
  CHECK(test::read_file(path("read.csv")) == test::llmcalc("sweep params gpt2,gpt2-medium").out);
  test::refused(sweep + path("p.csv") + " --resume",
                "'" + path("p.csv") + "' is not a regular file; pass another --out");
  std::filesystem::remove(path("p.csv"));
}
