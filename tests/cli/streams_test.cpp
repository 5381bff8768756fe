// Output that cannot be written never destroys results: standard streams, checkpoints, termination signals.

#include <csignal>
#include <filesystem>
#include <map>

#include "cli/command.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

std::string path(const std::string& name) { return test::scratch() + "/" + name; }

std::string text_file() {
  std::string text;
  for (int i = 0; text.size() < 16000; ++i) text += i % 3 == 0 ? "the cat sees a dog.\n" : "one bird has no fish.\n";
  test::write_file(path("streams.txt"), text);
  return path("streams.txt");
}

std::string learn(const std::string& out, const std::string& how) {
  return "learn " + text_file() + " --model docs/examples/tiny-llama.json --seq 16 --batch 4 --out " + path(out) + " " +
         how;
}

bool is_checkpoint(const std::string& name) {
  return test::llmcalc("generate " + path(name) + " The --tokens 2").code == 0;
}

/// One call of every command that answers within seconds. calibrate, which takes a minute, reads tables instead.
std::map<std::string_view, std::string> calls() {
  REQUIRE(test::llmcalc(learn("walk.safetensors", "--steps 2")).code == 0);
  test::write_file(path("config.json"),
                   R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 8, "num_hidden_layers": 1,
                      "num_attention_heads": 2, "vocab_size": 16, "max_position_embeddings": 64})");
  return {{"params", "gpt2"},
          {"memory", "gpt2"},
          {"flops", "gpt2"},
          {"train", "gpt2 --hardware h100"},
          {"infer", "gpt2 --hardware h100"},
          {"report", "gpt2 --hardware h100"},
          {"explain", "parameters gpt2"},
          {"fit", "llama-3.1-8b --hardware rtx-4090"},
          {"serve", "llama-3.1-8b --hardware h100 --rate 4 --num-requests 100"},
          {"plan", "train gpt2 --hardware h100 --max-gpus 2"},
          {"compare", "--of 'train gpt2 --hardware h100' --vs '--dp 2'"},
          {"accuracy", "memory"},
          {"diagnose", "tests/cli/logs/vllm-v0.log"},
          {"sweep", "train gpt2 --hardware h100 --seq 512,1024"},
          {"scaling", "--compute 1e20"},
          {"collective", "all-reduce --bytes 1kB --ranks 2"},
          {"list", "models"},
          {"show", "gpt2"},
          {"import", path("config.json")},
          {"schema", "params"},
          {"validate", "docs/examples/tiny-llama.json --train --seq 8"},
          {"calibrate", "--from evidence/operators/rtx-pro-6000/llama-3.1-8b --out " + path("tables.json")},
          {"learn", learn("again.safetensors", "--steps 2").substr(6)},
          {"generate", path("walk.safetensors") + " The --tokens 3"},
          {"perplexity", path("walk.safetensors") + " CONTRIBUTING.md --window 16"},
          {"check", ""}};
}

/// Sets the SIGHUP disposition that the program inherits, for the object's lifetime.
class Hangup {
 public:
  explicit Hangup(void (*how)(int)) : before_(std::signal(SIGHUP, how)) {}
  ~Hangup() { std::signal(SIGHUP, before_); }
  Hangup(const Hangup&) = delete;
  Hangup& operator=(const Hangup&) = delete;

 private:
  void (*before_)(int);
};

}  // namespace

TEST_CASE("every command exits with the documented code for any closed or full stream", "[streams][long]") {
  const auto all = calls();
  for (const Command& c : commands()) {
    const std::string name(c.name);
    if (name == "mcp") continue;  // reads its input: tests/cli/mcp_test.cpp
    REQUIRE(all.contains(c.name));
    const std::string call = name + " " + all.at(c.name);
    INFO(call);
    CHECK(test::llmcalc(call).code == 0);
    for (const char* no_error : {"2>&-", "2>/dev/full", "<&- 2>&-"}) {
      const test::Ran r = test::llmcalc(call, {.streams = no_error});
      CHECK(r.code == 0);
      CHECK_FALSE(r.out.empty());
    }
    for (const char* no_output : {">&-", ">/dev/full"}) {
      const test::Ran r = test::llmcalc(call, {.streams = no_output});
      CHECK(r.code == 2);
      CHECK_THAT(r.err, Catch::Contains("llmcalc: cannot write the output: "));
    }
    for (const char* neither : {">&- 2>&-", ">/dev/full 2>/dev/full", "<&- >&- 2>&-"})
      CHECK(test::llmcalc(call, {.streams = neither}).code == 2);
  }
}

TEST_CASE("bad input gives exit code 2 for any closed or full stream", "[streams]") {
  for (const Command& c : commands())
    for (const char* streams : {"2>&-", "2>/dev/full", ">&- 2>&-", ">/dev/full 2>/dev/full", "<&- >&- 2>&-"}) {
      INFO(c.name << " --nonsense " << streams);
      CHECK(test::llmcalc(std::string(c.name) + " --nonsense", {.streams = streams}).code == 2);
    }
}

TEST_CASE("a file never reuses the descriptor of a closed stream", "[streams]") {
  CHECK(test::llmcalc(learn("closed.safetensors", "--steps 2"), {.streams = "<&- >&- 2>&-"}).code == 2);
  CHECK(is_checkpoint("closed.safetensors"));
}

TEST_CASE("a reader that closes the pipe does not change the result of check", "[streams]") {
  json::Value saved = test::ask("params gpt2");
  saved["parameters"]["total"] = 1;
  test::write_file(path("saved.json"), saved.dump());
  // The shell writes the program's exit code, because a pipeline's exit code is that of its last command.
  test::llmcalc("check --baseline " + path("saved.json"),
                {.before = "sleep 0.3;", .streams = "; echo $? >'" + path("code") + "'", .behind = "| true"});
  CHECK(test::read_file(path("code")) == "1\n");
}

TEST_CASE("training continues if its progress output fails", "[streams]") {
  const test::Ran r = test::llmcalc(learn("full.safetensors", "--minutes 0.03"), {.streams = "2>/dev/full"});
  CHECK(r.code == 0);
  CHECK(r.out.find("Perplexity ") != std::string::npos);
  CHECK(is_checkpoint("full.safetensors"));
}

TEST_CASE("training writes a checkpoint on every termination signal", "[streams]") {
  const Hangup heard(SIG_DFL);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const std::string out = "signal-" + std::to_string(signal) + ".safetensors";
    const test::Ran r = test::signaled(learn(out, "--steps 100000000"), {signal});
    INFO(r.err);
    CHECK(r.code == 128 + signal);
    CHECK(r.err.find("stopped; the trained model is saved in '" + path(out) + "'") != std::string::npos);
    CHECK(r.out.find("Interrupted. Perplexity ") != std::string::npos);
    CHECK(is_checkpoint(out));
    CHECK_FALSE(std::filesystem::exists(path(out) + ".tmp"));
  }
}

TEST_CASE("a second signal ends training immediately", "[streams]") {
  const test::Ran r = test::signaled(learn("twice.safetensors", "--steps 100000000"), {SIGINT, SIGTERM});
  CHECK((r.code == 128 + SIGINT || r.code == 128 + SIGTERM));  // the system may deliver the two signals in either order
  CHECK(r.out.empty());
  CHECK(r.err.ends_with("stopped\n"));
}

TEST_CASE("a signal ignored from the start, as under nohup, stays ignored", "[streams]") {
  const Hangup ignored(SIG_IGN);
  const test::Ran r = test::signaled(learn("nohup.safetensors", "--minutes 0.02"), {SIGHUP});
  CHECK(r.code == 0);
  CHECK(r.out.find("Interrupted") == std::string::npos);
}

TEST_CASE("a checkpoint beyond the file size limit is reported, and the previous one is kept", "[streams]") {
  REQUIRE(test::llmcalc(learn("limit.safetensors", "--steps 2")).code == 0);
  const std::string before = test::read_file(path("limit.safetensors"));
  REQUIRE(before.size() > 64 * 1024);
  const test::Ran r = test::llmcalc(learn("limit.safetensors", "--steps 30"), {.before = "ulimit -f 16;"});
  CHECK(r.code == 2);
  CHECK(r.err.ends_with("llmcalc: cannot write '" + path("limit.safetensors") +
                        "': File too large; the file is unchanged\n"));
  CHECK(r.err.find("training continues") != std::string::npos);
  CHECK((test::read_file(path("limit.safetensors")) == before));
  CHECK_FALSE(std::filesystem::exists(path("limit.safetensors.tmp")));
}
