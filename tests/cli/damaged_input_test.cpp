// Files, names and environments that once threw exceptions other than InputError.

#include <filesystem>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/presets/checkpoint_writer.hpp"
#include "text/utf8.hpp"

using namespace llmcalc;

namespace {

std::string path(const std::string& name) { return test::scratch() + "/" + name; }

std::string written(const std::string& name, const json::Value& value) {
  test::write_file(path(name), value.dump());
  return path(name);
}

}  // namespace

TEST_CASE("compare rejects an edited report with a one-sentence error", "[damaged]") {
  const json::Value good = test::ask("params gpt2"),
                    plan = test::ask("plan train gpt2 --hardware h100 --gpus 2 --top 1");
  const std::string a = written("good.json", good), p = written("plan.json", plan);
  const auto refused = [&](const std::string& first, json::Value report, const std::string& pointer,
                           const json::Value& value, const std::string& said) {
    report[json::Value::json_pointer(pointer)] = value;
    const std::string b = written("edited.json", report);
    const test::Ran r = test::llmcalc("compare " + first + " " + b);
    INFO(pointer << " " << value << "\n" << r.err);
    CHECK(r.code == 2);
    CHECK(r.err == "llmcalc: " + b + said + "\n");
  };
  refused(a, good, "/model", "x", ", \"model\": expected an object in braces, got \"x\"");
  refused(a, good, "/model/name", 5, ", \"model\", \"name\": expected a string in quotes, got 5");
  refused(a, good, "/command", 5, ", \"command\": expected a string in quotes, got 5");
  refused(a, good, "/hardware", json::Value::array(), ", \"hardware\": expected an object in braces, got a list");
  refused(a, good, "/inputs", "x", ", \"inputs\": expected an object in braces, got \"x\"");
  refused(p, plan, "/plans", "x", ", \"plans\": expected a list, got \"x\"");
  refused(p, plan, "/plans", json::Value::object(), " has no plan to compare; search with more GPUs, or other options");
  refused(p, plan, "/plans/0", 1, ", \"plans\"[0]: expected an object in braces, got 1");
  refused(p, plan, "/plans/0/inputs", "x", ", \"plans\"[0], \"inputs\": expected an object in braces, got \"x\"");
}

TEST_CASE("the error for an overlong name or a circular link is one sentence", "[damaged]") {
  const std::string longest(300, 'a');
  CHECK(test::refusal_in("show " + longest).starts_with("llmcalc: unknown preset \"aaa"));
  std::filesystem::create_symlink("circle", path("circle"));
  CHECK(test::refusal_in("show " + path("circle")) ==
        "llmcalc: cannot access '" + path("circle") + "': Too many levels of symbolic links\n");
  test::write_file(path("text.txt"), "some words of a text, and some more words of it\n");
  for (const std::string& out : {longest, path("circle")}) {
    const std::string said = test::refusal_in("learn " + path("text.txt") + " --steps 1 --out " + out);
    CHECK(said.starts_with("llmcalc: cannot "));
    CHECK(std::count(said.begin(), said.end(), '\n') == 1);
  }
}

TEST_CASE("if the system cannot start threads, the work runs on the existing ones", "[damaged]") {
  const test::Shell no_threads{.before = "ulimit -s 100000000000;"};  // larger than any thread stack
  const std::string plan = "plan train gpt2 --hardware h100 --gpus 4 --top 1 --json";
  const test::Ran alone = test::llmcalc(plan, no_threads);
  CHECK(alone.code == 0);
  CHECK(alone.out == test::llmcalc(plan).out);
  const test::Ran check = test::llmcalc("check --json", no_threads);
  CHECK(check.code == 0);
}

TEST_CASE("invalid UTF-8 in names of a GGUF file is read as printable text", "[damaged]") {
  const test::CheckpointFolder folder;
  const test::LlamaSizes tiny{.d = 256, .layers = 2, .vocabulary = 512, .heads = 4, .kv = 2, .head_dim = 64, .ff = 512};
  std::vector<test::GgufPair> keys = test::llama_keys(tiny);
  std::erase_if(keys, [](const test::GgufPair& pair) { return pair.first == "general.name"; });
  keys.push_back({"general.name", std::string("na\xFFme\x1b[31m")});
  std::vector<test::WrittenTensor> all = test::gguf_llama(tiny, [](const std::string&, Count) { return "Q8_0"; });
  all.push_back({"strange\xFF", "F32", {7}});
  const std::string file = test::write_gguf(folder, "m.gguf", keys, all);
  for (const char* command : {"import ", "params ", "show "}) {
    const test::Ran r = test::llmcalc(command + file);
    INFO(command << r.err);
    CHECK(r.code == 0);
    CHECK(model::first_bad_byte(r.out) == std::nullopt);
    CHECK(r.out.find('\x1b') == std::string::npos);
  }
}
