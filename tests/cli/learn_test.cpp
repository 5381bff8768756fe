// Training on a text and generation from a prompt, through the command line.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

std::string path(const std::string& name) { return test::scratch() + "/" + name; }

/// Lines with a few variations of one sentence: 16 KB.
std::string text() {
  static const std::array<std::string, 4> who{"the cat", "a dog", "one bird", "no fish"},
      does{"sees", "has", "eats", "is"};
  std::string s;
  for (std::size_t i = 0; s.size() < 16000; ++i)
    s += who[i * 7 % 4] + " " + does[i * i % 4] + " " + who[(i / 3) % 4] + ".\n";
  return s;
}

/// Six words drawn at random. The next character depends on all previous characters of the word. 16 KB.
std::string text_of_words() {
  static const std::array<std::string, 6> words{"abc ", "adb ", "bad ", "cab ", "dac ", "bdd "};
  std::uint32_t state = 1;
  std::string s;
  while (s.size() < 16000) {
    state = state * 1664525 + 1013904223;
    s += words[(state >> 16) % words.size()];
  }
  return s;
}

std::string text_file() {
  static const bool written = (test::write_file(path("text.txt"), text()), true);
  return written ? path("text.txt") : "";
}

/// A byte-level model with one layer and two heads.
std::string written_model(const std::string& name, Count hidden, Count context, const json::Value& position,
                          bool tied) {
  const json::Value model{
      {"llmcalc_model", 1},
      {"name", name},
      {"layers", 1},
      {"hidden", hidden},
      {"vocabulary", 256},
      {"context", context},
      {"block", "serial"},
      {"attention",
       {{"kind", "grouped"},
        {"heads", 2},
        {"kv_heads", 2},
        {"head_width", hidden / 2},
        {"qkv_bias", false},
        {"out_bias", false},
        {"qk_norm", "none"}}},
      {"mlp", {{"kind", "gated"}, {"width", 2 * hidden}, {"activation", "silu"}, {"bias", false}}},
      {"norm", {{"kind", "rms_norm"}, {"placement", "pre"}, {"per_layer", 2}, {"final", true}, {"embedding", false}}},
      {"position", position},
      {"head", {{"tied", tied}, {"bias", false}}}};
  test::write_file(path(name + ".json"), model.dump());
  return path(name + ".json");
}

/// A model small enough to train in a second.
std::string model_file() { return written_model("mini", 16, 32, {{"kind", "learned"}, {"rows", 32}}, true); }

std::string learn(const std::string& out) {
  return "learn " + text_file() + " --out " + path(out) + " --model " + model_file() + " --seq 16 --batch 4";
}

/// A checkpoint shared by all tests.
std::string checkpoint() {
  static const bool made = test::llmcalc(learn("shared.safetensors") + " --steps 60 --rate 0.01").code == 0;
  return made ? path("shared.safetensors") : "";
}

void refused(const std::string& arguments, const std::string& says) {
  const test::Ran r = test::llmcalc(arguments);
  INFO("llmcalc " << arguments << "\n" << r.err);
  CHECK(r.code == 2);
  CHECK(r.out.empty());
  CHECK(r.err.find(says) != std::string::npos);
  CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
}

double perplexity(const json::Value& report, std::size_t row) { return report["held_out"][row]["perplexity"]; }

}  // namespace

TEST_CASE("training improves the loss and reports it next to the baselines", "[learn]") {
  const json::Value v = test::ask(learn("a.safetensors") + " --steps 60 --rate 0.01");
  CHECK(v["learning"]["steps"] == 60);
  CHECK(v["learning"]["tokens"] == 60 * 4 * 16);
  CHECK(v["learnt_model"]["tokenizer"] == "bytes");
  // 256 x 16 tokens, 32 x 16 positions, 4 x 16^2 attention, 3 x 16 x 32 MLP, 3 norms
  CHECK(v["learnt_model"]["parameters"] == 256 * 16 + 32 * 16 + 4 * 256 + 3 * 512 + 3 * 16);
  REQUIRE(v["held_out"].size() == 3);
  CHECK(v["held_out"][0]["name"] == "unigram");
  CHECK(v["held_out"][2]["name"] == "this model");
  CHECK(perplexity(v, 2) < 30);  // 256 initially
  CHECK(perplexity(v, 1) < perplexity(v, 0));
  CHECK(std::filesystem::exists(path("a.safetensors")));
  CHECK_FALSE(std::filesystem::exists(path("a.safetensors.tmp")));
}

TEST_CASE("a model beats bigram counts if the next token depends on more than one token", "[learn]") {
  test::write_file(path("words.txt"), text_of_words());
  const json::Value v = test::ask("learn " + path("words.txt") + " --out " + path("words.safetensors") + " --model " +
                                  written_model("rotary", 32, 16, {{"kind", "rope"}}, false) +
                                  " --seq 16 --batch 4 --steps 300 --rate 0.01");
  CHECK(perplexity(v, 2) < 2.2);  // 6^(1/4) = 1.57 is the lowest possible perplexity of the drawn words
  CHECK(perplexity(v, 2) < perplexity(v, 1));
  CHECK(perplexity(v, 1) < perplexity(v, 0));
}

TEST_CASE("a run resumed after an interrupt equals an uninterrupted run", "[learn]") {
  CHECK(test::llmcalc(learn("whole.safetensors") + " --steps 600").code == 0);
  CHECK(test::signaled(learn("half.safetensors") + " --steps 600", {SIGINT}, std::chrono::milliseconds(20)).code ==
        130);
  CHECK(test::llmcalc("learn " + text_file() + " --out " + path("half.safetensors") + " --resume").code == 0);
  CHECK((test::read_file(path("whole.safetensors")) == test::read_file(path("half.safetensors"))));
  refused("learn " + text_file() + " --out " + path("half.safetensors") + " --resume",
          "has already been trained for "
          "600 steps");
  refused("learn " + text_file() + " --out " + path("half.safetensors") + " --resume --batch 3", "omit --batch");
  refused("learn " + text_file() + " --out " + path("none.safetensors") + " --resume", "does not exist; omit --resume");
  test::write_file(path("other.txt"), text() + "more\n");
  refused("learn " + path("other.txt") + " --out " + path("half.safetensors") + " --resume", "a different text");
}

TEST_CASE("generation gives the same text with and without a cache, and for the same seed", "[learn]") {
  const std::string go = "generate " + checkpoint() + " 'the cat' --tokens 20";
  for (const std::string how : {" --temperature 0", " --seed 4", " --beams 3"}) {
    const test::Ran with = test::llmcalc(go + how), without = test::llmcalc(go + how + " --no-kv-cache");
    INFO(how << with.err);
    CHECK(with.code == 0);
    CHECK(with.out == without.out);
    CHECK(with.out.starts_with("the cat"));
    CHECK(with.out == test::llmcalc(go + how).out);
    CHECK(with.err.find("prefill 7 tokens in ") != std::string::npos);
  }
  CHECK(test::llmcalc(go + " --seed 4").out != test::llmcalc(go + " --seed 5").out);
}

TEST_CASE("generation reports what the cache saves, and the cache changes no token", "[learn]") {
  const std::string go = "generate " + checkpoint() + " 'the cat' --tokens 20 --compare-kv-cache";
  for (const std::string how : {" --temperature 0", " --beams 3"}) {
    const test::Ran r = test::llmcalc(go + how);
    INFO(how << r.err);
    CHECK(r.code == 0);
    CHECK(r.out == test::llmcalc("generate " + checkpoint() + " 'the cat' --tokens 20" + how).out);
    CHECK(r.err.find("\n20 tokens, identical with and without the cache\n") != std::string::npos);
  }
  const json::Value v = test::ask(go)["with_and_without_cache"];
  REQUIRE(v.size() == 2);
  CHECK(v[0]["token_ids"] == v[1]["token_ids"]);
  CHECK(v[0]["tokens_run"] == 7 + 19);            // the last token is never run
  CHECK(v[1]["tokens_run"] == 20 * 7 + 19 * 10);  // 7 + 8 + ... + 26
  CHECK(v[0]["flops"] < v[1]["flops"]);
  refused(go + " --no-kv-cache", "omit --no-kv-cache");
}

TEST_CASE("the prompt can be read from standard input, and the answer can be printed as JSON", "[learn]") {
  test::write_file(path("prompt"), "the dog\n");
  const json::Value v = test::ask("generate " + checkpoint() + " --tokens 5 --temperature 0 < " + path("prompt"));
  CHECK(v["generation"]["prompt"] == "the dog");
  CHECK(v["generation"]["tokens"] == 5);
  CHECK(v["generation"]["token_ids"].size() == 5);
  CHECK(v["generation"]["ended"] == "length");
}

TEST_CASE("generation stops at the last position, with a note", "[learn]") {
  const test::Ran r = test::llmcalc("generate " + checkpoint() + " 'the cat' --tokens 500");
  CHECK(r.code == 0);
  CHECK(r.err.find("the text ends at the model's limit of 32 learned positions") != std::string::npos);
  refused("generate " + checkpoint() + " '" + std::string(40, 'a') + "' --json",
          "the prompt has 40 tokens but the model has 32 learned positions");
}

TEST_CASE("generated text is shown in whole UTF-8 characters", "[learn]") {
  const test::Ran r = test::llmcalc("generate " + checkpoint() + " 'caf\xC3\xA9' --tokens 8");
  CHECK(r.code == 0);
  CHECK(r.out.starts_with("caf\xC3\xA9"));
  refused("generate " + checkpoint() + " 'caf\xC3'", "is not UTF-8 text");
}

TEST_CASE("an unusable training text is rejected with a one-sentence error", "[learn]") {
  refused("learn " + text_file() + " --device tpu", "--device: expected cpu, cuda or cuda:N, got \"tpu\"");
  refused("learn /nowhere/x.txt", "cannot read '/nowhere/x.txt'");
  refused("learn " + test::scratch(), "is a folder");
  refused("learn /dev/zero", "'/dev/zero' is neither a file nor a pipe");
  test::write_file(path("empty.txt"), "");
  refused("learn " + path("empty.txt"), "is empty");
  test::write_file(path("latin.txt"), "caf\xE9 " + text());
  refused("learn " + path("latin.txt"), "is not UTF-8 text: byte 0xe9 at offset 3");
  test::write_file(path("short.txt"), "abc");
  refused("learn " + path("short.txt") + " --out " + path("short.safetensors"), "too short for training");
  CHECK_FALSE(std::filesystem::exists(path("short.safetensors")));
}

TEST_CASE("impossible training options are rejected before training starts", "[learn]") {
  const std::string go = "learn " + text_file() + " --out " + path("x.safetensors") + " ";
  refused(go + "--steps 0", "--steps");
  refused(go + "--rate 0", "--rate: expected a number above 0");
  refused(go + "--rate -1", "--rate");
  refused(go + "--tokenizer words", "--tokenizer: expected bytes or bpe, got \"words\"");
  refused(go + "--tokenizer bytes --vocabulary 400", "omit it");
  refused(go + "--precision fp16", "--precision: expected fp32 or bf16, got \"fp16\"");
  refused(go + "--model gtp-5", "unknown model");
  refused(go + "--model gpt2 --seq 2048", "exceeds the 1024 learned positions");
  refused(go + "--seq 100k", "pass a longer text or a smaller --seq");
  refused("learn " + text_file() + " --out /nowhere/x.safetensors", "/nowhere/x.safetensors");
  test::write_file(path("precious.safetensors"), "not ours");
  refused("learn " + text_file() + " --out " + path("precious.safetensors"),
          "exists and is not a checkpoint written by llmcalc; pass another --out, or --force to replace it");
  CHECK(test::read_file(path("precious.safetensors")) == "not ours");
  CHECK_FALSE(std::filesystem::exists(path("x.safetensors")));
}

TEST_CASE("the error for a model too large for memory states the bytes that it needs", "[learn]") {
  const std::string go = "learn " + text_file() + " --out " + path("x.safetensors") + " ";
  const test::Ran r = test::llmcalc(go + "--model gpt-3-175b");
  CHECK(r.code == 2);
  CHECK(r.err.find("training this model with this batch size needs ") != std::string::npos);
  CHECK(r.err.find(" bytes) and this machine has ") != std::string::npos);
}

TEST_CASE("a damaged or foreign checkpoint is rejected", "[learn]") {
  refused("generate /nowhere/x.safetensors hello", "cannot read '/nowhere/x.safetensors'");
  test::write_file(path("text.safetensors"), "this is a text");
  refused("generate " + path("text.safetensors") + " hello", "text.safetensors'");
  std::string bytes = test::read_file(checkpoint());
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  test::write_file(path("bad.safetensors"), bytes);
  refused("generate " + path("bad.safetensors") + " hello", "\"checksum\" does not match the tensors and texts");
  refused("generate " + checkpoint() + " hello --temperature -1", "--temperature");
  refused("generate " + checkpoint() + " hello --top-p 2", "--top-p");
  refused("generate " + checkpoint() + " hello --beams 2 --seed 3", "searches without sampling");
  refused("generate " + checkpoint() + " hello --temperature 0 --top-k 5", "--temperature 0 does not sample");
  refused("generate " + checkpoint() + " ''  </dev/null", "the prompt is empty");
  refused("generate " + checkpoint() + " hello --beams 1e9", "at most 256 texts differ in their first token");
  CHECK(test::llmcalc("generate " + checkpoint() + " hello --beams 256 --tokens 2").code == 0);
}

TEST_CASE("a NaN loss ends training with exit code 1 and names the step and the operator", "[learn]") {
  const test::Ran r = test::llmcalc(learn("nan.safetensors") + " --steps 30 --rate 1e30");
  CHECK(r.code == 1);
  CHECK(r.err.find("llmcalc: step ") != std::string::npos);
  CHECK(r.err.find("is not finite, first ") != std::string::npos);
  CHECK(r.err.find("--rate") != std::string::npos);
}

TEST_CASE("Ctrl-C ends training with a checkpoint, the loss table and exit code 130", "[learn]") {
  const std::string out = path("interrupted.safetensors");
  const test::Ran stopped = test::interrupted("learn " + text_file() + " --out " + out + " --model " + model_file() +
                                              " --seq 16 --batch 4 --steps 100000000");
  CHECK(stopped.code == 130);
  CHECK(stopped.out.find("Interrupted. Perplexity ") != std::string::npos);
  const test::Ran r = test::llmcalc("generate " + out + " hello --tokens 3");
  CHECK(r.code == 0);
  CHECK(test::llmcalc("learn " + text_file() + " --out " + out + " --resume --minutes 0.001").code == 0);
}

TEST_CASE("Ctrl-C ends generation with the text so far and validation with a message, with exit code 130", "[learn]") {
  const std::string endless = path("endless.safetensors");
  const std::string model = " --model docs/examples/tiny-llama.json --seq 16 --batch 4 --steps 1";
  REQUIRE(test::llmcalc("learn " + text_file() + " --out " + endless + model).code == 0);
  const test::Ran text = test::interrupted("generate " + endless + " hello --tokens 100000");
  CHECK(text.code == 130);
  CHECK(text.out.starts_with("hello"));
  CHECK(text.out.ends_with("\n"));
  CHECK(text.err.starts_with("prefill "));
  const test::Ran search = test::interrupted("generate " + endless + " hello --tokens 100000 --beams 50");
  CHECK(search.code == 130);
  CHECK(search.out.starts_with("hello"));
  CHECK(search.out.ends_with("\n"));
  const test::Ran run = test::interrupted("validate --suite full");
  CHECK(run.code == 130);
  CHECK(run.out.empty());
  CHECK(run.err == "stopped\n");
}
