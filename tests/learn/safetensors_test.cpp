#include "learn/safetensors.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "tests/catch.hpp"
#include "tests/sentence.hpp"
#include "text/error.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using namespace std::string_literals;

namespace {

namespace fs = std::filesystem;

using test::sentence;

/// A temporary folder, removed at the end. `shown` strips its path from error messages.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("llmcalc_safetensors_" + std::to_string(getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }

  std::string file(const std::string& name) const { return (path / name).string(); }

  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(file(name), std::ios::binary) << content;
    return file(name);
  }
  std::string read(const std::string& name) const {
    std::ostringstream content;
    content << std::ifstream(file(name), std::ios::binary).rdbuf();
    return content.str();
  }
  std::string shown(std::string sentence) const {
    const std::string prefix = path.string() + "/";
    for (std::size_t at = sentence.find(prefix); at != std::string::npos; at = sentence.find(prefix))
      sentence.erase(at, prefix.size());
    return sentence;
  }
};

/// A file with this header and `data` bytes of data, all with the value 7.
std::string content(const std::string& header, std::size_t data) {
  std::string text(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) text[i] = static_cast<char>((header.size() >> (8 * i)) & 0xff);
  return text + header + std::string(data, '\7');
}

/// The error message for a file with this header and `data` bytes of data.
std::string refused(const std::string& header, std::size_t data) {
  const Folder folder;
  const std::string path = folder.write("x.safetensors", content(header, data));
  return folder.shown(sentence([&] { const SafetensorsFile file(path); }));
}

std::string one(const std::string& entry) { return "{\"a\":" + entry + "}"; }

template <typename T>
std::span<const std::byte> bytes(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

const std::vector<float> weights{1, 2, 3, 4, 5, 6};
const std::vector<std::uint8_t> letters{'a', 'b', 'c'};

std::vector<StoredTensor> tensors() {
  return {{"w", "F32", {2, 3}, bytes(weights)}, {"letters", "U8", {3}, bytes(letters)}, {"none", "BF16", {0, 5}, {}}};
}

}  // namespace

TEST_CASE("a written safetensors file reads back unchanged", "[safetensors]") {
  const Folder folder;
  const std::string path = folder.file("x.safetensors");
  const Metadata metadata{{"step", "12"}, {"text", "\"quoted\"\n\xC3\xA9"}};
  write_safetensors(path, tensors(), metadata);
  CHECK_FALSE(fs::exists(path + ".tmp"));
  const SafetensorsFile file(path);
  CHECK(file.metadata() == metadata);
  CHECK(file.text("step") == "12");
  REQUIRE(file.entries().size() == 3);
  const auto& w = file.entry("w", "F32", std::vector<Count>{2, 3});
  CHECK(w.bytes == Bytes(24));
  std::vector<float> back(6);
  file.read(w, std::as_writable_bytes(std::span(back)));
  CHECK(back == weights);
  CHECK(std::memcmp(file.bytes(file.entry("letters")).data(), "abc", 3) == 0);
  CHECK(file.bytes(file.entry("none")).empty());
  CHECK(file.has("w"));
  CHECK_FALSE(file.has("v"));
}

TEST_CASE("a written file matches the safetensors format byte for byte", "[safetensors]") {
  const Folder folder;
  write_safetensors(folder.file("x"), std::vector<StoredTensor>{{"ab", "U8", {3}, bytes(letters)}});
  // 51 bytes of JSON, padded with spaces to a multiple of 8.
  const std::string header = "{\"ab\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}}";
  CHECK(folder.read("x") == "\x38\0\0\0\0\0\0\0"s + header + std::string(56 - header.size(), ' ') + "abc");
}

TEST_CASE("a file from another writer is read with any header order and without metadata", "[safetensors]") {
  const Folder folder;
  const std::string header =
      "{\"b\":{\"dtype\":\"F16\",\"shape\":[],\"data_offsets\":[8,10]},"
      "\"__metadata__\":{\"format\":\"pt\"},"
      "\"a\":{\"shape\":[1,1],\"data_offsets\":[0,8],\"dtype\":\"I64\"}}   ";
  const SafetensorsFile file(folder.write("x", content(header, 10)));
  REQUIRE(file.entries().size() == 2);
  CHECK(file.entries()[0].name == "a");
  CHECK(file.entries()[1].name == "b");
  CHECK(file.entries()[1].shape.empty());
  CHECK(file.text("format") == "pt");
  const SafetensorsFile empty(folder.write("y", content("{}", 0)));
  CHECK(empty.entries().empty());
}

TEST_CASE("every dtype has its published size", "[safetensors]") {
  for (const auto& [dtype, size] :
       {std::pair("F64", 8), {"F32", 4}, {"BF16", 2}, {"F16", 2}, {"I64", 8}, {"I32", 4}, {"U8", 1}, {"F8_E4M3", 1}})
    CHECK(stored_bytes(dtype) == Bytes(size));
  CHECK(stored_bytes("F8") == std::nullopt);
  CHECK(stored_bytes("F4") == std::nullopt);
  const std::vector<Count> shape{3, 3};
  CHECK(safetensors_bytes("F4", shape, "x") == Bytes(5));
}

TEST_CASE("a truncated file, or one that is not a safetensors file, is rejected", "[safetensors]") {
  const Folder folder;
  const auto refusal = [&](const std::string& what) {
    return folder.shown(sentence([&] { const SafetensorsFile file(folder.write("x", what)); }));
  };
  CHECK(refusal("abc") == "'x' has 3 bytes, too few for a safetensors file; it is truncated or has a different format");
  CHECK(refusal("\x09\0\0\0\0\0\0\0{}"s) ==
        "'x': the header length, 9, exceeds the file size of 10 bytes; it is truncated or not a safetensors file");
  CHECK(refusal("\xff\xff\xff\xff\xff\xff\xff\xff{}"s) ==
        "'x': the header length, 18446744073709551615, exceeds the file size of 10 bytes; it is truncated or not a "
        "safetensors file");
  CHECK(refusal(content("", 0)) == "'x': the header does not begin with a brace; it is not a safetensors file");
  CHECK(refusal(content("[1]", 0)) == "'x': the header does not begin with a brace; it is not a safetensors file");
  CHECK(refusal(content("{\"a\":", 0)) ==
        "'x', header:1:6: unexpected end of input; the file is truncated or not JSON");
  CHECK(folder.shown(sentence([&] { const SafetensorsFile file(folder.file("y")); })) ==
        "cannot read 'y': No such file or directory");
  CHECK(sentence([&] { const SafetensorsFile file(folder.path.string()); }) ==
        "cannot read '" + folder.path.string() + "': it is not a regular file; pass a safetensors file");
}

TEST_CASE("a pipe without a writer is rejected immediately", "[safetensors]") {
  const Folder folder;
  REQUIRE(mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  CHECK(folder.shown(sentence([&] { const SafetensorsFile file(folder.file("pipe")); })) ==
        "cannot read 'pipe': it is not a regular file; pass a safetensors file");
}

TEST_CASE("tensor offsets that are out of range, overlap or leave a gap are rejected", "[safetensors]") {
  CHECK(refused(one(R"({"dtype":"U8","shape":[4],"data_offsets":[0,4]})"), 3) ==
        "'x.safetensors', tensor \"a\": \"data_offsets\" end at 4, past the 3 bytes of data; the file is truncated or "
        "damaged");
  CHECK(refused(one(R"({"dtype":"U8","shape":[4],"data_offsets":[4,0]})"), 4) ==
        "'x.safetensors', tensor \"a\": \"data_offsets\" is not a pair of begin and end; the file is damaged");
  CHECK(refused(one(R"({"dtype":"U8","shape":[4],"data_offsets":[4]})"), 4) ==
        "'x.safetensors', tensor \"a\": \"data_offsets\" is not a pair of begin and end; the file is damaged");
  CHECK(refused(one(R"({"dtype":"U8","shape":[4],"data_offsets":[-1,3]})"), 4) ==
        "'x.safetensors', tensor \"a\", \"data_offsets\"[0]: expected a whole number of at least 0, got -1");
  CHECK(refused(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[2],)"
                R"("data_offsets":[3,5]}})",
                5) ==
        "'x.safetensors', tensor \"b\": \"data_offsets\" 3 to 5 overlap the previous tensor, which ends at 4; the file "
        "is damaged");
  CHECK(refused(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[2],)"
                R"("data_offsets":[5,7]}})",
                7) ==
        "'x.safetensors', tensor \"b\": \"data_offsets\" 5 to 7 leave a gap after 4; the file is damaged");
  CHECK(refused(one(R"({"dtype":"U8","shape":[4],"data_offsets":[0,4]})"), 6) ==
        "'x.safetensors': the tensors end at 4, but the file has 6 bytes of data; the file is damaged");
}

TEST_CASE("a data size that disagrees with dtype and shape is rejected", "[safetensors]") {
  CHECK(refused(one(R"({"dtype":"F32","shape":[2,2],"data_offsets":[0,12]})"), 12) ==
        "'x.safetensors', tensor \"a\": \"data_offsets\" span 12 bytes, but \"dtype\" and \"shape\" require 16; the "
        "file is damaged");
  CHECK(refused(one(R"({"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,12]})"), 12) ==
        "'x.safetensors', tensor \"a\": the shape exceeds 2^63 bits; the file is damaged");
  CHECK(refused(one(R"({"dtype":"U8","shape":[-3],"data_offsets":[0,3]})"), 3) ==
        "'x.safetensors', tensor \"a\", \"shape\"[0]: expected a whole number of at least 0, got -3");
}

TEST_CASE("duplicate names, unknown dtypes and unknown fields are rejected", "[safetensors]") {
  const std::string entry = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  CHECK(refused("{\"a\":" + entry + ",\"a\":" + entry + "}", 0) ==
        "'x.safetensors', header:1: key \"a\" appears twice; remove one");
  CHECK_THAT(
      refused(one(R"({"dtype":"F9","shape":[1],"data_offsets":[0,1]})"), 1),
      Catch::StartsWith("'x.safetensors', tensor \"a\": unknown dtype \"F9\"; valid dtypes are F64, F32, BF16, "));
  CHECK(refused(one(R"({"shape":[1],"data_offsets":[0,1]})"), 1) ==
        "'x.safetensors', tensor \"a\", \"dtype\": expected a string in quotes, got nothing");
  CHECK(refused(one("7"), 0) == "'x.safetensors', tensor \"a\": expected an object in braces, got 7");
  CHECK(refused(one(R"({"dtype":"U8","shape":[0],"data_offsets":[0,0],"stride":[1]})"), 0).find("\"stride\"") !=
        std::string::npos);
  CHECK(refused(R"({"__metadata__":{"step":3}})", 0) ==
        "'x.safetensors', \"__metadata__\", \"step\": expected a string in quotes; the file is damaged");
}

TEST_CASE("the error for a missing tensor or a wrong shape names the tensor", "[safetensors]") {
  const Folder folder;
  write_safetensors(folder.file("x"), tensors());
  const SafetensorsFile file(folder.file("x"));
  CHECK(folder.shown(sentence([&] { file.entry("v"); })) ==
        "'x': tensor \"v\" is missing; this file belongs to a different model or program");
  CHECK(folder.shown(sentence([&] {
    file.entry("w", "F32", std::vector<Count>{3, 2});
  })) == "'x', tensor \"w\": expected F32 [3, 2], got F32 [2, 3]; this file belongs to a different model");
  CHECK(folder.shown(sentence([&] { file.text("step"); })) ==
        "'x', \"__metadata__\": \"step\" is missing; this file belongs to a different program");
  std::vector<std::byte> small(3);
  CHECK_THROWS_AS(file.read(file.entry("w"), small), InputError);
}

TEST_CASE("a file truncated during reading is rejected", "[safetensors]") {
  const Folder folder;
  write_safetensors(folder.file("x"), tensors());
  const SafetensorsFile file(folder.file("x"));
  fs::resize_file(folder.file("x"), 20);
  CHECK(folder.shown(sentence([&] { file.bytes(file.entry("w")); })) ==
        "cannot read 'x', tensor \"w\": the file was truncated while being read");
}

TEST_CASE("no damaged header leads to a read past the end of the file", "[safetensors]") {
  const Folder folder;
  write_safetensors(folder.file("x"), tensors(), {{"step", "12"}});
  const std::string whole = folder.read("x");
  const std::size_t header = whole.size() - 27;
  for (std::size_t i = 0; i < header; ++i)
    for (const int flip : {1, 0x10, 0x80}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      const std::string path = folder.write("y", damaged);
      try {
        const SafetensorsFile file(path);
        for (const auto& e : file.entries()) CHECK(file.bytes(e).size() == static_cast<std::size_t>(e.bytes.value));
      } catch (const InputError&) {
      }
    }
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string path = folder.write("y", whole.substr(0, size));
    CHECK_THROWS_AS(SafetensorsFile(path), InputError);
  }
}

TEST_CASE("tensors that the safetensors format cannot represent are not written", "[safetensors]") {
  const Folder folder;
  const auto refusal = [&](const std::vector<StoredTensor>& what, const Metadata& metadata = {}) {
    return folder.shown(sentence([&] { write_safetensors(folder.file("x"), what, metadata); }));
  };
  CHECK(refusal({{"a", "U8", {3}, bytes(letters)}, {"a", "U8", {3}, bytes(letters)}}) ==
        "cannot write 'x', tensor \"a\": duplicate name");
  CHECK(refusal({{"__metadata__", "U8", {3}, bytes(letters)}}) ==
        "cannot write 'x', tensor \"__metadata__\": duplicate name");
  CHECK(refusal({{"a", "U8", {4}, bytes(letters)}}) ==
        "cannot write 'x', tensor \"a\": 3 bytes do not match the 4 of its dtype and shape");
  CHECK(refusal({{"a", "F7", {3}, bytes(letters)}}).find("unknown dtype") != std::string::npos);
  CHECK(refusal({{"\xFF", "U8", {3}, bytes(letters)}}) ==
        "cannot write 'x': a tensor name or a metadata text is not UTF-8");
  CHECK(refusal({}, {{"text", "\xFF"}}) == "cannot write 'x': a tensor name or a metadata text is not UTF-8");
  CHECK(fs::is_empty(folder.path));
}

TEST_CASE("a failed write leaves the last good file intact", "[safetensors]") {
  const Folder folder;
  folder.write("x", "the last good one");
  const std::vector<std::uint8_t> large(100000, 1);
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = before;
  limit.rlim_cur = 50000;
  REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  const std::string said = sentence([&] {
    write_safetensors(folder.file("x"), std::vector<StoredTensor>{{"a", "U8", {100000}, bytes(large)}});
  });
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, handler);
  CHECK(folder.shown(said) == "cannot write 'x': File too large; the file is unchanged");
  CHECK(folder.read("x") == "the last good one");
  CHECK(std::distance(fs::directory_iterator(folder.path), {}) == 1);
}

TEST_CASE("a file is not written into a missing folder or over a folder", "[safetensors]") {
  const Folder folder;
  const auto refusal = [&](const std::string& path) {
    return folder.shown(sentence([&] { write_safetensors(path, tensors()); }));
  };
  CHECK(refusal(folder.file("no/x")) ==
        "cannot write 'no/x': cannot create a file in its folder: No such file or directory; the file is unchanged");
  fs::create_directory(folder.file("sub"));
  CHECK(refusal(folder.file("sub")) == "cannot write 'sub': it is a folder; pass a file name");
}

TEST_CASE("writing through a symbolic link keeps the link and replaces its target", "[safetensors]") {
  const Folder folder;
  fs::create_directory(folder.file("sub"));
  folder.write("sub/real", "old");
  fs::create_symlink("sub/real", folder.file("link"));
  write_safetensors(folder.file("link"), tensors());
  CHECK(fs::is_symlink(folder.file("link")));
  CHECK(SafetensorsFile(folder.file("sub/real")).entries().size() == 3);
}
