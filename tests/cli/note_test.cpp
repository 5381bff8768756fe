// Notes and remedies have machine-readable keys in addition to their text.

#include <algorithm>
#include <regex>
#include <set>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using test::ask;

namespace {

/// The keys of a report's notes.
std::set<std::string> keys_of(const json::Value& report) {
  std::set<std::string> all;
  if (report.contains("notes_keyed"))
    for (const json::Value& note : report["notes_keyed"]) all.insert(note["key"]);
  return all;
}

}  // namespace

TEST_CASE("every note has a snake_case key, and keyed notes are in the same order as the plain notes", "[note][cli]") {
  for (const char* command :
       {"train gpt2 --hardware h100 --gpus 12 --pp 2", "report mixtral-8x7b --hardware mi300x --tp 8",
        "serve llama-3.1-8b --hardware h100 --rate 4 --num-requests 50", "plan train gpt2 --hardware h100 --gpus 8",
        "fit --hardware rtx-4090", "list models", "scaling --compute 1e20", "explain all gpt2 --hardware h100 --tp 2",
        "diagnose tests/cli/logs/vllm-v1.log --hardware h100",
        "compare --of 'infer gpt2 --hardware h100' --vs '--batch 2'",
        "collective all-reduce --bytes 1GB --ranks 8 --hardware h100", "accuracy memory"}) {
    INFO(command);
    const json::Value report = ask(command);
    REQUIRE(report.contains("notes") == report.contains("notes_keyed"));
    json::Value texts = json::Value::array();
    for (const json::Value& note : report.value("notes_keyed", json::Value::array())) {
      const std::string key = note["key"];
      CHECK(std::regex_match(key, std::regex("[a-z][a-z0-9_]*")));
      texts.push_back(note["text"]);
    }
    CHECK(texts == report.value("notes", json::Value::array()));
  }
}

TEST_CASE("a note's key does not depend on the numbers in its text", "[note][cli]") {
  const std::string train = "train llama-3.1-8b --hardware h100 --tp 4 --gpus ";
  const json::Value few = ask(train + "12"), many = ask(train + "20");
  CHECK(few["notes"] != many["notes"]);
  CHECK(keys_of(few).contains("partial_last_node"));
  CHECK(keys_of(many).contains("partial_last_node"));
  CHECK_FALSE(keys_of(ask(train + "16")).contains("partial_last_node"));
}

TEST_CASE("the key of a remedy is the input that it changes", "[note][cli]") {
  for (const char* command : {"train llama-3.1-8b --hardware h100 --gpus 8 --zero 1 --micro-batch 4",
                              "infer llama-3.1-70b --hardware h100", "report llama-3.1-70b --hardware h100 --zero 1"}) {
    INFO(command);
    const json::Value report = ask(command);
    REQUIRE_FALSE(report["remedies"].empty());
    for (const json::Value& remedy : report["remedies"]) {
      std::string flag = "--" + remedy["key"].get<std::string>();
      std::replace(flag.begin(), flag.end(), '_', '-');
      CHECK(remedy["option"].get<std::string>().starts_with(flag + " "));
    }
  }
}
