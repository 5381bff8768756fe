// Tokenizer files that would take hours on a short text, and the limits that stop them.

#include <chrono>

#include "learn/text_steps.hpp"
#include "learn/tokens/json_tokenizer.hpp"
#include "tests/catch.hpp"
#include "tests/sentence.hpp"
#include "text/json.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using Catch::Matchers::Contains;

namespace {

const std::string no_other = "exceeds the backtracking limit on this text; use a different tokenizer";

std::unique_ptr<Tokenizer> cut_by(const json::Value& pre_tokenizer) {
  const std::string path = LLMCALC_SOURCE_DIR "/tests/learn/tokenizers/llama-2.json";
  json::Value file = json::parse(json::file_text(path), path);
  file["pre_tokenizer"] = pre_tokenizer;
  return json_tokenizer(file.dump(), "t.json");
}

json::Value split(const json::Value& pattern) {
  return {{"type", "Split"}, {"pattern", pattern}, {"behavior", "Isolated"}, {"invert", false}};
}

json::Value replace(const std::string& from, const std::string& to) {
  return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}

TextSteps normalizing(const json::Value& normalizers) {
  const json::Value file{{"normalizer", {{"type", "Sequence"}, {"normalizers", normalizers}}}};
  return text_steps(json::Object(file, "t.json"));
}

}  // namespace

TEST_CASE("a pattern with exponential backtracking is rejected", "[hostile_tokenizer]") {
  for (const char* pattern : {"(a+)+b", "(a|a)*b", "(a|aa)+b"}) {
    INFO(pattern);
    const std::string said = test::sentence([&] { cut_by(split({{"Regex", pattern}}))->encode(std::string(40, 'a')); });
    CHECK_THAT(said, Contains("the pattern \"" + std::string(pattern) + "\"") && Contains(no_other));
  }
}

TEST_CASE("the regex step limit applies to the full text, not to each match or piece", "[hostile_tokenizer]") {
  // (a+)+b tries the 2^19 ways to split 20 letters, then the ways to split 19, and so on: about 400 of the 2000 units
  // of 10,000 steps allowed for a short text.
  const std::string word = std::string(20, 'a') + " ";
  std::string text;
  const auto whole = cut_by(split({{"Regex", "(a+)+b"}}));
  const auto pieces =
      cut_by({{"type", "Sequence"}, {"pretokenizers", {split({{"String", "\u2581"}}), split({{"Regex", "(a+)+b"}})}}});
  for (const Tokenizer* t : {whole.get(), pieces.get()}) {
    CHECK_FALSE(t->encode(word).empty());
    text.clear();
    for (int i = 0; i < 20; ++i) text += word;
    CHECK_THAT(test::sentence([&] { t->encode(text); }), Contains(no_other));
  }
}

TEST_CASE("the split patterns of known tokenizers handle long texts of repeated characters", "[hostile_tokenizer]") {
  for (const std::string name : {"gpt-2", "llama-3", "qwen", "digits"}) {
    const std::string path = LLMCALC_SOURCE_DIR "/tests/learn/tokenizers/" + name + ".json";
    const auto t = json_tokenizer(json::file_text(path), path);
    for (const std::string part :
         {"the cat sees a dog. ", "    \n", "AAAA", "12345 ", "\u65E5\u672C\u8A9E", "'s't!?"}) {
      std::string text;
      while (text.size() < 100'000) text += part;
      INFO(name << " " << part);
      CHECK(t->decode(t->encode(text)) == text);
    }
  }
}

TEST_CASE("a Replace normalizer takes time linear in the length of the text", "[hostile_tokenizer]") {
  std::string text, expected;
  for (int i = 0; i < 1'000'000; ++i) text += "a b ", expected += "a\u2581b\u2581";
  const TextSteps steps = normalizing(json::Value::array({replace(" ", "\u2581")}));
  const auto start = std::chrono::steady_clock::now();
  CHECK((steps.normalized(text) == expected));
  // Moving the remainder of the 4 MB for each of 2 million spaces takes a minute; copying it once takes 10 ms.
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
  CHECK(normalizing(json::Value::array({replace("aa", "a")})).normalized("aaaaa") ==
        "aaa");  // replacements are not applied to their own results
}

TEST_CASE("normalizers may not expand text more than Unicode normalization forms do", "[hostile_tokenizer]") {
  std::string ligatures;
  for (int i = 0; i < 1000; ++i) ligatures += "\uFDFA";  // 18 letters in NFKC, including 3 spaces: The Unicode Standard
  const std::string longest = normalizing({{{"type", "NFKC"}}, replace(" ", "\u2581")}).normalized(ligatures);
  CHECK(longest.size() == 1000 * (15 * 2 + 3 * 3));

  json::Value doubling = json::Value::array();
  for (int i = 0; i < 40; ++i) doubling.push_back(replace("t", "tt"));
  const std::string text(1000, 't');
  const auto said = [&](const json::Value& normalizers) {
    return test::sentence([&] { normalizing(normalizers).normalized(text); });
  };
  CHECK_THAT(said(doubling), Contains("to more than 20096 bytes"));  // 16 x 1000 + 4096
  CHECK_THAT(said(json::Value::array({replace("t", std::string(100'000, 'x'))})),
             Contains("normalizers expand a part of this text to more than"));
  CHECK_THAT(said({{{"type", "Prepend"}, {"prepend", text + text + text + std::string(30'000, 'x')}}}),
             Contains("normalizers expand a part of this text to more than"));
  json::Value many = json::Value::array();
  for (int i = 0; i < 65; ++i) many.push_back({{"type", "NFC"}});
  CHECK_THAT(said(many), Contains("more than 64 normalizers is not supported"));
  CHECK_THAT(said(json::Value::array({replace(std::string(1001, 't'), "t")})),
             Contains("a replacement of 1001 bytes is not supported"));
}
