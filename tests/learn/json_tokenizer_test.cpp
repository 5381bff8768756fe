// Compares tokenizers read from tokenizer.json with Hugging Face's library (scripts/tokenizer-fixtures), and checks
// rejections.

#include "learn/tokens/json_tokenizer.hpp"

#include "tests/catch.hpp"
#include "tests/sentence.hpp"
#include "text/json.hpp"

using namespace llmcalc;
using namespace llmcalc::model;

namespace {

const std::string folder = LLMCALC_SOURCE_DIR "/tests/learn/tokenizers/";
const char* const families[] = {"gpt-2", "digits", "llama-3", "qwen", "llama-2", "mistral", "gemma", "unigram"};

std::string file_of(const std::string& name) { return json::file_text(folder + name + ".json"); }
json::Value parsed(const std::string& name) { return json::parse(file_of(name), name); }

std::string refusal(const json::Value& file) {
  return test::sentence([&] { json_tokenizer(file.dump(), "t.json"); });
}

}  // namespace

TEST_CASE("token IDs and decoded text match the Hugging Face tokenizers library", "[json_tokenizer]") {
  for (const std::string name : families) {
    const auto t = json_tokenizer(file_of(name), name);
    const json::Value expected = parsed(name + ".expected");
    CHECK(expected.size() >= 23);
    for (const json::Value& e : expected) {
      INFO(name << ": " << e["text"]);
      const std::vector<std::int32_t> ids = t->encode(e["text"].get<std::string>());
      CHECK(ids == e["ids"].get<std::vector<std::int32_t>>());
      CHECK(t->decode(ids) == e["decoded"].get<std::string>());
    }
  }
}

TEST_CASE("decoding tokens one by one gives the same text as decoding them together", "[json_tokenizer]") {
  for (const std::string name : {"gpt-2", "llama-3", "gemma"}) {
    const auto t = json_tokenizer(file_of(name), name);
    const std::string text = "  caf\xC3\xA9 \xF0\x9F\x98\x80, the end.\n";
    std::string again;
    for (const std::int32_t token : t->encode(text)) again += t->decode(std::span(&token, 1));
    CHECK(again == text);
  }
}

TEST_CASE("a tokenizer.json tokenizer round-trips through serialization", "[json_tokenizer]") {
  const auto t = json_tokenizer(file_of("qwen"), "qwen");
  const auto again = loaded_tokenizer(t->serialized(), "a checkpoint");
  CHECK(again->encode("the first day") == t->encode("the first day"));
}

TEST_CASE("the error for an unsupported setting in tokenizer.json names the setting", "[json_tokenizer]") {
  const auto with = [](const std::string& pointer, const json::Value& value) {
    json::Value file = parsed("qwen");
    file[json::Value::json_pointer(pointer)] = value;
    return refusal(file);
  };
  using Catch::Matchers::Contains;
  CHECK_THAT(with("/model/type", "WordPiece"), Contains("unknown model type \"WordPiece\"; BPE"));
  CHECK_THAT(with("/model/dropout", 0.1), Contains("\"dropout\" is set"));
  CHECK_THAT(with("/model/end_of_word_suffix", "</w>"), Contains("\"end_of_word_suffix\" is set"));
  CHECK_THAT(with("/normalizer", {{"type", "Lowercase"}}), Contains("the normalizer \"Lowercase\" is not supported"));
  CHECK_THAT(with("/pre_tokenizer", {{"type", "Whitespace"}}), Contains("the pre-tokenizer \"Whitespace\""));
  CHECK_THAT(with("/pre_tokenizer/pretokenizers/0/pattern/Regex", "\\w+"), Contains("a pattern with \"\\w\""));
  CHECK_THAT(with("/pre_tokenizer/pretokenizers/0/pattern/Regex", "(a"), Contains("ICU cannot compile the pattern"));
  CHECK_THAT(with("/pre_tokenizer/pretokenizers/0/behavior", "Contiguous"), Contains("the behavior \"Contiguous\""));
  CHECK_THAT(with("/post_processor", {{"type", "BertProcessing"}}), Contains("post-processor \"BertProcessing\""));
  CHECK_THAT(with("/decoder", {{"type", "WordPiece"}}), Contains("unknown decoder \"WordPiece\""));
  CHECK_THAT(with("/added_tokens/0/lstrip", true), Contains("\"lstrip\" of token \"<|end|>\" is true"));
}

TEST_CASE("a damaged tokenizer.json is rejected with an error message", "[json_tokenizer]") {
  json::Value file = parsed("gpt-2");
  file["model"]["merges"].push_back("no pair");
  CHECK_THAT(refusal(file), Catch::Matchers::Contains("token \"no\" is not in the vocabulary"));
  file = parsed("gpt-2");
  file["model"]["vocab"]["the"] = std::uint64_t{1} << 40U;
  CHECK_THAT(refusal(file), Catch::Matchers::Contains("token id 1099511627776 exceeds 2097152"));
  file = parsed("gpt-2");
  file["model"]["vocab"].erase("\xC2\xA7");
  CHECK_THAT(refusal(file), Catch::Matchers::Contains("byte 0xa7"));
  file.erase("model");
  CHECK_THAT(refusal(file), Catch::Matchers::Contains("\"model\""));
  CHECK_THROWS_AS(json_tokenizer("{\"model\": {", "t.json"), InputError);
}

TEST_CASE("a long run of a single character is encoded quickly", "[json_tokenizer]") {
  for (const std::string name : {"llama-3", "gemma"}) {
    const auto t = json_tokenizer(file_of(name), name);
    const std::string text(50000, 'e');
    CHECK(t->decode(t->encode(text)) == text);
  }
}
