#include "learn/tokens/tokenizer.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "model/random.hpp"
#include "tests/catch.hpp"
#include "text/error.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using namespace std::string_literals;

namespace {

using Tokens = std::vector<std::int32_t>;

/// Texts that are difficult for tokenizers.
std::vector<std::string> difficult_texts() {
  std::vector<std::string> all{
      "",
      " ",
      "   leading, trailing   ",
      "a\n\n\nb\r\n\tc\t\t",
      "\n",
      "caf\xC3\xA9 \xE6\x97\xA5\xE6\x9C\xAC \xF0\x9F\x98\x80\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x94\xAC",
      "e\xCC\x81 is not \xC3\xA9, \xEF\xAC\x81 is not fi, \xC2\xA0 no space, \xE3\x80\x80 wide",
      "\xE2\x96\x81 the mark\xE2\x96\x81, \xE2\x96\x85 and \xE2\x81\x87",
      "<unk></s><s><0x0A><pad>",
      "zero\0byte"s,
      "not UTF-8: \xFF\xC3(\xE2\x82",
      "\xEF\xBF\xBD\xEF\xBB\xBF",
      std::string(70000, 'x') + std::string(70000, ' ') + "\xC3\xA9",
  };
  std::string noise;
  for (std::uint64_t i = 0; i < 1000; ++i)
    noise += static_cast<char>(static_cast<unsigned char>(philox(random_key(1), random_counter(i)).word[0] & 0xffU));
  all.push_back(noise);
  return all;
}

void check_round_trips(const Tokenizer& tokenizer) {
  for (const std::string& text : difficult_texts()) {
    const Tokens tokens = tokenizer.encode(text);
    CHECK(tokenizer.decode(tokens) == text);
    CHECK(std::all_of(tokens.begin(), tokens.end(), [&](auto t) { return t >= 0 && t < tokenizer.vocabulary(); }));
  }
}

std::string lesson() {
  std::string text;
  for (int i = 0; i < 60; ++i)
    text += "the transformer predicts the next token from the tokens before it\n  and the token after that\n\n" +
            std::to_string(i) + " caf\xC3\xA9\n";
  return text;
}

}  // namespace

TEST_CASE("the byte tokenizer has exactly the 256 bytes as tokens", "[tokenizer]") {
  const auto tokenizer = byte_tokenizer();
  CHECK(tokenizer->vocabulary() == 256);
  CHECK(tokenizer->name() == "bytes");
  CHECK(tokenizer->end_of_text() == std::nullopt);
  CHECK(tokenizer->encode("A\xFF\n") == Tokens{65, 255, 10});
  check_round_trips(*tokenizer);
  CHECK_THROWS_WITH(tokenizer->decode(Tokens{256}), "token 256 is not in the tokenizer's vocabulary of 256");
  CHECK_THROWS_AS(tokenizer->decode(Tokens{-1}), InputError);
}

TEST_CASE("the byte tokenizer round-trips through storage", "[tokenizer]") {
  const std::string stored = byte_tokenizer()->serialized();
  CHECK(stored == "llmcalc-tokenizer bytes cbf29ce484222325\n");  // FNV-1a of the empty string is its offset basis
  CHECK(loaded_tokenizer(stored, "x")->vocabulary() == 256);
}

TEST_CASE("a tokenizer that is damaged or from another program is rejected", "[tokenizer]") {
  CHECK_THROWS_WITH(loaded_tokenizer("", "x.safetensors"),
                    "'x.safetensors': the tokenizer does not begin with \"llmcalc-tokenizer \"; it is damaged or was "
                    "written by another program");
  CHECK_THROWS_AS(loaded_tokenizer("llmcalc-tokenizer bytes", "x"), InputError);
  CHECK_THROWS_AS(loaded_tokenizer("llmcalc-tokenizer \nbytes ", "x"), InputError);
  CHECK_THROWS_WITH(
      loaded_tokenizer("llmcalc-tokenizer words cbf29ce484222325\n", "x"),
      "'x': unknown tokenizer \"words\"; supported are bytes, sentencepiece-bpe, tokenizer.model, tokenizer.json");
  CHECK_THROWS_WITH(loaded_tokenizer("llmcalc-tokenizer bytes cbf29ce484222325\n!", "x"),
                    "'x': the tokenizer's checksum does not match its bytes; the file is damaged");
}

TEST_CASE("without SentencePiece, the error for byte-pair encoding names a remedy", "[tokenizer]") {
  if (has_byte_pairs()) return;
  CHECK_THROWS_WITH(learned_tokenizer("a b c", 300),
                    "byte-pair encoding requires SentencePiece, but this llmcalc was built without it; install it "
                    "(Debian: libsentencepiece-dev) and rebuild, or use plain bytes");
  CHECK_THROWS_WITH(loaded_tokenizer("llmcalc-tokenizer sentencepiece-bpe cbf29ce484222325\n", "x"),
                    Catch::Matchers::Contains("'x': the tokenizer requires SentencePiece"));
}

TEST_CASE("byte-pair encoding round-trips text, and its vocabulary has the requested size", "[tokenizer]") {
  if (!has_byte_pairs()) return;
  const auto tokenizer = learned_tokenizer(lesson(), 320);
  CHECK(tokenizer->name() == "sentencepiece-bpe");
  CHECK(tokenizer->vocabulary() == 320);
  check_round_trips(*tokenizer);
  CHECK(tokenizer->decode(tokenizer->encode(lesson())) == lesson());
}

TEST_CASE("text made of frequent byte pairs is encoded in few tokens", "[tokenizer]") {
  if (!has_byte_pairs()) return;
  const auto tokenizer = learned_tokenizer(lesson(), 400);
  CHECK(tokenizer->encode("the token").size() == 2);
  CHECK(tokenizer->encode("\n").size() == 1);
  CHECK(tokenizer->encode("  ").size() == 1);  // an indent is one token
  CHECK(tokenizer->encode(lesson()).size() < lesson().size() / 3);
  CHECK(tokenizer->encode("\xF0\x9F\x98\x80").size() == 4);  // never seen, so encoded as bytes
}

TEST_CASE("the end-of-text token decodes to an empty string, and no text encodes to it", "[tokenizer]") {
  if (!has_byte_pairs()) return;
  const auto tokenizer = learned_tokenizer(lesson(), 320);
  REQUIRE(tokenizer->end_of_text().has_value());
  const std::int32_t end = *tokenizer->end_of_text();
  CHECK(tokenizer->decode(Tokens{end}).empty());
  for (const std::string& text : difficult_texts()) {
    const Tokens tokens = tokenizer->encode(text);
    CHECK(std::find(tokens.begin(), tokens.end(), end) == tokens.end());
  }
}

TEST_CASE("every token decodes, and tokens outside the vocabulary are rejected", "[tokenizer]") {
  if (!has_byte_pairs()) return;
  const auto tokenizer = learned_tokenizer(lesson(), 320);
  std::set<std::string> texts;
  for (std::int32_t t = 0; t < tokenizer->vocabulary(); ++t) texts.insert(tokenizer->decode(Tokens{t}));
  for (int b = 0; b < 256; ++b) CHECK(texts.contains(std::string(1, static_cast<char>(static_cast<unsigned char>(b)))));
  CHECK_THROWS_WITH(tokenizer->decode(Tokens{320}), "token 320 is not in the tokenizer's vocabulary of 320");
  CHECK_THROWS_AS(tokenizer->decode(Tokens{-1}), InputError);
}

TEST_CASE("byte-pair training is deterministic, and its tokenizer round-trips through storage", "[tokenizer]") {
  if (!has_byte_pairs()) return;
  const auto tokenizer = learned_tokenizer(lesson(), 320);
  const std::string stored = tokenizer->serialized();
  CHECK(learned_tokenizer(lesson(), 320)->serialized() == stored);
  const auto loaded = loaded_tokenizer(stored, "x");
  CHECK(loaded->encode(lesson()) == tokenizer->encode(lesson()));
  CHECK(loaded->serialized() == stored);
}

TEST_CASE("a byte-pair tokenizer with any damaged byte is rejected", "[tokenizer]") {
  if (!has_byte_pairs()) return;
  const std::string stored = learned_tokenizer(lesson(), 300)->serialized();
  for (std::size_t i = 0; i < stored.size(); ++i) {
    std::string damaged = stored;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    REQUIRE_THROWS_AS(loaded_tokenizer(damaged, "x"), InputError);
  }
  for (std::size_t size = 0; size < stored.size(); size += 17)
    REQUIRE_THROWS_AS(loaded_tokenizer(stored.substr(0, size), "x"), InputError);
  // A valid checksum over an invalid model: FNV-1a of "a" is published as af63dc4c8601ec8c.
  CHECK_THROWS_WITH(loaded_tokenizer("llmcalc-tokenizer sentencepiece-bpe af63dc4c8601ec8c\na", "x"),
                    Catch::Matchers::Contains("'x': its tokenizer is not a SentencePiece model"));
}

TEST_CASE("byte-pair training handles text with rare, reserved, repeated or invalid characters", "[tokenizer]") {
  if (!has_byte_pairs()) return;
  std::string many_characters, reserved_lines;
  for (int i = 0; i < 2000; ++i) {
    many_characters +=
        {static_cast<char>(0xE4), static_cast<char>(0x80 + i / 64 % 64), static_cast<char>(0x80 + i % 64)};
    reserved_lines += "\tif (x) \xE2\x96\x81 \xE2\x96\x85 return;\n";
  }
  for (const std::string& text : {many_characters, reserved_lines, std::string(200000, 'x'), std::string(200000, ' '),
                                  "a"s, "a\xFF"s, "</s> <unk>"s, "abc\0def abc"s}) {
    const auto tokenizer = learned_tokenizer(text, 300);
    CHECK(tokenizer->vocabulary() <= 300);
    CHECK(tokenizer->decode(tokenizer->encode(text)) == text);
    check_round_trips(*tokenizer);
  }
  CHECK(learned_tokenizer(reserved_lines, 300)->encode(" return").size() == 1);
}

TEST_CASE("a short text yields a smaller vocabulary than requested", "[tokenizer]") {
  if (!has_byte_pairs()) return;
  const auto tokenizer = learned_tokenizer("ab ab ab", 100000);
  CHECK(tokenizer->vocabulary() > 258);
  CHECK(tokenizer->vocabulary() < 270);
  check_round_trips(*tokenizer);
}

TEST_CASE("byte-pair training rejects a vocabulary that is too small or too large, and a text without lines",
          "[tokenizer]") {
  if (!has_byte_pairs()) return;
  CHECK_THROWS_WITH(learned_tokenizer(lesson(), 259),
                    "a vocabulary of 259 is out of range for byte-pair encoding; set it to 260 or more");
  CHECK_THROWS_AS(learned_tokenizer(lesson(), -1), InputError);
  CHECK_THROWS_AS(learned_tokenizer(lesson(), Count{1} << 40), InputError);
  CHECK(learned_tokenizer(lesson(), 260)->vocabulary() == 260);
  for (const char* text : {"", "\n\n", "\t", "\xFF"})
    CHECK_THROWS_WITH(learned_tokenizer(text, 300),
                      "the text has no line to train byte-pair encoding on; pass a longer text");
}

TEST_CASE("byte-pair training prints no output", "[tokenizer]") {
  if (!has_byte_pairs()) return;
  std::FILE* const caught = std::tmpfile();
  REQUIRE(caught != nullptr);
  const int before = dup(2);
  dup2(fileno(caught), 2);
  const auto tokenizer = learned_tokenizer(lesson(), 300);
  std::fflush(stderr);
  dup2(before, 2);
  close(before);
  CHECK(std::ftell(caught) == 0);
  CHECK(lseek(fileno(caught), 0, SEEK_END) == 0);
  std::fclose(caught);
}
