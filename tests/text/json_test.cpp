#include "text/json.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/catch.hpp"

using namespace llmcalc;
using json::Object;

namespace {

template <typename Act>
std::string sentence(Act act) {
  try {
    act();
  } catch (const InputError& e) {
    return e.what();
  }
  return "nothing was rejected";
}

std::string refusal(const std::string& text) {
  return sentence([&] { json::parse(text, "my.json"); });
}

}  // namespace

TEST_CASE("the error for text that is not JSON states line and column", "[json]") {
  CHECK(refusal("{\n  \"layers\": 32,\n") == "my.json:3:1: unexpected end of input; the file is truncated or not JSON");
  CHECK(refusal("") == "my.json:1:1: unexpected end of input; the file is truncated or not JSON");
  CHECK(refusal("{\"a\": 1,}") == "my.json:1:9: unexpected '}'; the file is not JSON from here on");
  CHECK(refusal("{} {}") == "my.json:1:4: unexpected '{'; the file is not JSON from here on");
  CHECK(refusal("[1,\n  NaN]") == "my.json:2:3: unexpected 'N'; the file is not JSON from here on");
  CHECK_THROWS_AS(json::parse("{\"a\": 010}", "f"), InputError);
  CHECK(refusal("[\"\xff\"]") == "my.json:1:3: unexpected byte 0xff; the file is not JSON from here on");
  CHECK(refusal(std::string("{}\0{", 4)) == "my.json contains a zero byte and is not JSON; save it as UTF-8 text");
}

TEST_CASE("a duplicate key in an object is rejected at any depth", "[json]") {
  CHECK(refusal(R"({"heads": 8, "kv": 1, "heads": 9})") == "my.json:1: key \"heads\" appears twice; remove one");
  CHECK(refusal(R"({"a": [{"b": {"c": 1, "c": 1}}]})") == "my.json:1: key \"c\" appears twice; remove one");
  CHECK(refusal("[{\"id\": 1},\n {\"id\": 2,\n  \"id\": 3}\n]") == "my.json:3: key \"id\" appears twice; remove one");
  CHECK(json::parse(R"({"a": {"x": 1}, "b": {"x": 2}, "x": [{"x": 3}, {"x": 4}]})", "f").at("x")[1].at("x") == 4);
}

TEST_CASE("NaN and Infinity outside strings, as written by Python, become null", "[json]") {
  CHECK(json::without_infinities(R"({"a": [0.0, Infinity], "b": -Infinity, "c": NaN})") ==
        R"({"a": [0.0, null], "b": null, "c": null})");
  const std::string strings = R"({"Infinity": "\"NaN\\", "b": "-Infinity \" NaN"})";
  CHECK(json::without_infinities(strings) == strings);
  CHECK(json::without_infinities("\"\\") == "\"\\");
}

TEST_CASE("a number outside the range of a double is rejected", "[json]") {
  CHECK(refusal("{\"a\": 1e400}") == "my.json:1:11: 1e400 is outside the range of a double; use a smaller number");
  CHECK(refusal("[-1e400]") == "my.json:1:7: -1e400 is outside the range of a double; use a smaller number");
}

TEST_CASE("nested JSON is read up to 64 levels deep, without recursion", "[json]") {
  CHECK_NOTHROW(json::parse(std::string(64, '[') + std::string(64, ']'), "f"));
  const std::string deep = "my.json: nested more than 64 levels deep, which is not supported; reduce the nesting";
  CHECK(refusal(std::string(65, '[') + std::string(65, ']')) == deep);
  CHECK(refusal(std::string(1000000, '[')) == deep);
}

TEST_CASE("a JSON document keeps its values and their order", "[json]") {
  const auto v = json::parse(R"({"z": 1, "a": [true, null, -2, 2.5, "x\n"], "m": {}})", "f");
  CHECK(v.dump() == R"({"z":1,"a":[true,null,-2,2.5,"x\n"],"m":{}})");
  CHECK(json::parse("7", "f").dump() == "7");
  CHECK(json::parse("\xEF\xBB\xBF{\"a\": 1}", "f").at("a") == 1);
}

TEST_CASE("checking a hundred thousand JSON keys for duplicates is fast", "[json]") {
  std::string text = "{\"k\": 0";
  for (int i = 0; i < 100000; ++i) text += ",\"k" + std::to_string(i) + "\": 0";
  CHECK(json::parse(text + "}", "f").size() == 100001);
}

TEST_CASE("a JSON count must be a whole number below 2^63", "[json]") {
  const auto v = json::parse(R"({"heads": -3, "half": 2.5, "float": 32.0, "text": "32", "huge": 9223372036854775808,
                                 "vast": 99999999999999999999, "yes": true, "null": null, "zero": 0, "list": [1],
                                 "most": 9223372036854775807})",
                             "my.json");
  const Object o(v, "my.json");
  const auto refused = [&](std::string_view key) { return sentence([&] { o.positive(key); }); };
  CHECK(refused("heads") == "my.json, \"heads\": expected a whole number of at least 1, got -3");
  CHECK(refused("half") == "my.json, \"half\": expected a whole number of at least 1, got 2.5");
  CHECK(refused("text") == "my.json, \"text\": expected a whole number of at least 1, got \"32\"");
  CHECK(refused("huge") ==
        "my.json, \"huge\": expected a whole number of at least 1 and below 2^63, got 9223372036854775808");
  CHECK(refused("vast") == "my.json, \"vast\": expected a whole number of at least 1 and below 2^63, got 1e+20");
  CHECK(refused("yes") == "my.json, \"yes\": expected a whole number of at least 1, got true");
  CHECK(refused("null") == "my.json, \"null\": expected a whole number of at least 1, got nothing");
  CHECK(refused("absent") == "my.json, \"absent\": expected a whole number of at least 1, got nothing");
  CHECK(refused("list") == "my.json, \"list\": expected a whole number of at least 1, got a list");
  CHECK(refused("zero") == "my.json, \"zero\": expected a whole number of at least 1, got 0");
  CHECK(o.count("zero") == 0);
  CHECK(o.count("most") == INT64_MAX);
  CHECK(o.count_or("null", 7) == 7);
  CHECK(o.positive_or("absent", 8) == 8);
  CHECK(sentence([&] { o.positive_or("heads", 8); }) == refused("heads"));
}

TEST_CASE("flags, strings, numbers and lists in JSON must have the expected type", "[json]") {
  const auto v = json::parse(R"({"flag": 1, "text": 5, "number": "5", "e": 1e6, "counts": [1, 2, -1], "texts": ["a", 2],
                                 "inner": {"x": []}, "on": true, "ok": [0, 4]})",
                             "my.json");
  const Object o(v, "my.json");
  CHECK(sentence([&] { o.flag("flag"); }) == "my.json, \"flag\": expected true or false, got 1");
  CHECK(sentence([&] { o.text("text"); }) == "my.json, \"text\": expected a string in quotes, got 5");
  CHECK(sentence([&] { o.number_or("number", 1); }) == "my.json, \"number\": expected a finite number, got \"5\"");
  CHECK(sentence([&] { o.counts("counts"); }) ==
        "my.json, \"counts\"[2]: expected a whole number of at least 0, got -1");
  CHECK(sentence([&] { o.texts("texts"); }) == "my.json, \"texts\"[1]: expected a string in quotes, got 2");
  CHECK(sentence([&] { o.object("e"); }) == "my.json, \"e\": expected an object in braces, got 1000000.0");
  CHECK(sentence([&] { o.object("inner").flag("x"); }) ==
        "my.json, \"inner\", \"x\": expected true or false, got a list");
  CHECK(sentence([&] {
          o.first_of({"n_embd", "hidden"});
        }) == "my.json: expected one of \"n_embd\", \"hidden\", got none");
  CHECK(o.first_of({"n_embd", "e"}) == "e");
  CHECK(o.number_or("e", 0) == 1e6);
  CHECK(o.number_or("absent", 0.5) == 0.5);
  CHECK(o.flag("on"));
  CHECK(o.flag_or("absent", true));
  CHECK(o.text_or("absent", "x") == "x");
  CHECK(o.counts("ok") == std::vector<Count>{0, 4});
}

TEST_CASE("reading a JSON list as an object is rejected", "[json]") {
  const auto list = json::parse("[1]", "my.json");
  CHECK(sentence([&] { Object(list, "my.json"); }) == "my.json: expected an object in braces, got a list");
}

TEST_CASE("the error for an unread key suggests the nearest known key", "[json]") {
  const auto v = json::parse(R"({"heads": 8, "hedas": 9, "zzz": 1})", "my.json");
  const Object o(v, "my.json");
  CHECK(o.unread() == std::vector<std::string>{"heads", "hedas", "zzz"});
  CHECK(o.count("heads") == 8);
  CHECK_FALSE(o.has("layers"));
  CHECK(o.unread() == std::vector<std::string>{"hedas", "zzz"});
  CHECK(sentence([&] { o.refuse_unread(); }) == "my.json: unknown key \"hedas\"; did you mean \"heads\"?");
  CHECK(o.has("hedas"));
  CHECK(sentence([&] { o.refuse_unread(); }) == "my.json: unknown key \"zzz\"; valid keys are heads, hedas, layers");
  CHECK(o.has("zzz"));
  CHECK_NOTHROW(o.refuse_unread());
}

TEST_CASE("an integer up to 2^53 may be written with a decimal point or an exponent", "[json]") {
  const auto v = json::parse(R"({"e": 3.072e3, "point": 32.0, "most": 9007199254740992.0, "past": 9007199254740994.0,
    "half": 0.5, "minus": -1.0})",
                             "my.json");
  const json::Object o(v, "my.json");
  CHECK(o.count("e") == 3072);
  CHECK(o.positive("point") == 32);
  CHECK(o.count("most") == Count{1} << 53);
  for (const char* key : {"past", "half", "minus"}) CHECK_THROWS_AS(o.count(key), InputError);
}

TEST_CASE("a JSON document is read from a pipe as from a file, up to the same size limit", "[json]") {
  const auto folder = std::filesystem::temp_directory_path() / ("llmcalc_pipe_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string pipe = (folder / "pipe").string();
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const auto through = [&](const std::string& text) {
    std::thread writer([&] { std::ofstream(pipe) << text; });
    std::string read;
    const std::string said = sentence([&] { read = json::file_text(pipe); });
    writer.join();
    return read.empty() ? said : read;
  };
  CHECK(through("{\"a\": 1}") == "{\"a\": 1}");
  CHECK(through(std::string(json::max_bytes, ' ')).size() == json::max_bytes);
  CHECK(through(std::string(json::max_bytes + 1, ' ')) == pipe + " exceeds the limit of 64 MiB");
  std::filesystem::remove_all(folder);
}

TEST_CASE("an unreadable JSON file is reported with the reason", "[json]") {
  const auto folder = std::filesystem::temp_directory_path() / ("llmcalc_json_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string missing = (folder / "x.json").string(), large = (folder / "large.json").string();
  const auto refused = [](const std::string& path) { return sentence([&] { json::file_text(path); }); };
  CHECK(refused(missing) == "cannot read '" + missing + "': no such file");
  CHECK(refused(missing + "/y") == "cannot read '" + missing + "/y': no such file");
  CHECK(refused(folder.string()) == "cannot read '" + folder.string() + "': it is a folder; pass a JSON file");
  CHECK(refused("/dev/null") == "cannot read '/dev/null': it is not a regular file; pass a JSON file");
  std::ofstream(large) << "{}";
  CHECK(json::file_text(large) == "{}");
  std::filesystem::resize_file(large, std::uintmax_t{1} << 30);
  CHECK(refused(large) == large + " is 1.0 GiB, above the limit of 64 MiB");
  std::filesystem::resize_file(large, json::max_bytes + 1);
  CHECK(refused(large) == large + " is 64.0 MiB, above the limit of 64 MiB");
  std::filesystem::resize_file(large, 0);
  std::filesystem::permissions(large, std::filesystem::perms::none);
  if (geteuid() != 0) CHECK(refused(large) == "cannot read '" + large + "': Permission denied");
  std::filesystem::remove_all(folder);
}
