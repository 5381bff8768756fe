// GGUF headers: valid ones are read, invalid ones rejected.

#include "tests/catch.hpp"
#include "tests/presets/checkpoint_writer.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

const LlamaSizes tiny{.d = 256, .layers = 2, .vocabulary = 512, .heads = 4, .kv = 2, .head_dim = 64, .ff = 512};

std::vector<WrittenTensor> tiny_tensors() {
  return gguf_llama(tiny, [](const std::string& name, Count) { return name == "attn_v" ? "Q6_K" : "Q4_K"; });
}

/// The error message for a file with these bytes and a hole up to `size`, with paths relative to the folder.
std::string refusal(const std::string& bytes, std::uintmax_t size = 0) {
  const CheckpointFolder folder;
  std::string said = sentence([&] { read_checkpoint(folder.write("x.gguf", bytes, size)); });
  const std::string prefix = folder.path.string() + "/";
  for (std::size_t at = said.find(prefix); at != std::string::npos; at = said.find(prefix))
    said.erase(at, prefix.size());
  return said;
}

/// The error message for a file with one tensor, written by `change`.
template <typename Change>
std::string refused_tensor(const Change& change, std::uintmax_t data = 4096) {
  GgufBytes g;
  g.begin(1, 0);
  change(g);
  return refusal(g.text, (g.text.size() + 31) / 32 * 32 + data);
}

}  // namespace

TEST_CASE("GGUF files of every version and byte order are read to the same content", "[gguf]") {
  const CheckpointFolder folder;
  Count bytes = 0;
  for (const WrittenTensor& t : tiny_tensors())
    bytes += numbers_of(t.shape) / type_called(t.type).block * type_called(t.type).bytes;
  for (const std::uint32_t version : {1U, 2U, 3U})
    for (const bool big : {false, true}) {
      const Checkpoint c = read_checkpoint(
          write_gguf(folder, "x.gguf", llama_keys(tiny), tiny_tensors(), {.version = version, .big = big}));
      CHECK(c.tensors.size() == 2 * 9 + 3);
      CHECK(c.tensor_bytes() == Bytes(bytes));
      CHECK(c.keys["llama.block_count"] == 2);
      CHECK(c.keys["general.name"] == "A Llama");
      CHECK_FALSE(c.keys.contains("tokenizer.ggml.tokens"));  // vocabularies are skipped
      CHECK(c.tensors[0].type->shape == std::vector<Count>{512, 256});
    }
}

// Block sizes in bytes: ggml-common.h.
TEST_CASE("every GGUF type has its published block size", "[gguf]") {
  const std::vector<std::tuple<const char*, Count, Count>> published{
      {"F32", 1, 4},      {"F16", 1, 2},        {"NVFP4", 64, 36},   {"Q1_0", 128, 18},    {"Q2_0", 64, 18},
      {"BF16", 1, 2},     {"Q4_0", 32, 18},     {"Q4_1", 32, 20},    {"Q5_0", 32, 22},     {"Q5_1", 32, 24},
      {"Q8_0", 32, 34},   {"Q2_K", 256, 84},    {"Q3_K", 256, 110},  {"Q4_K", 256, 144},   {"Q5_K", 256, 176},
      {"Q6_K", 256, 210}, {"IQ1_S", 256, 50},   {"IQ1_M", 256, 56},  {"IQ2_XXS", 256, 66}, {"IQ2_XS", 256, 74},
      {"IQ2_S", 256, 82}, {"IQ3_XXS", 256, 98}, {"IQ3_S", 256, 110}, {"IQ4_NL", 32, 18},   {"IQ4_XS", 256, 136},
      {"TQ1_0", 256, 54}, {"TQ2_0", 256, 66},   {"MXFP4", 32, 17}};
  const CheckpointFolder folder;
  for (const auto& [name, block, bytes] : published) {
    const Checkpoint c = read_checkpoint(write_gguf(folder, "x.gguf", {}, {{"a.weight", name, {3, 512}}}));
    REQUIRE(c.tensors.size() == 1);
    CHECK(c.tensors[0].type->bytes == Bytes(3 * 512 / block * bytes));
    CHECK(c.tensors[0].type->format == name);
    REQUIRE(c.tensors[0].type->dtype.has_value());
    const DType format = *c.tensors[0].type->dtype;  // GGUF stores NVFP4's tensor scale as a separate tensor
    CHECK(tensor_bytes(format, 3, 512) == c.tensors[0].type->bytes + Bytes(format.format().tensor_bytes));
  }
}

TEST_CASE("only the header of a 400 GB GGUF file is read", "[gguf]") {
  const LlamaSizes large{.d = 16384, .layers = 126, .vocabulary = 128256, .heads = 128, .kv = 8, .ff = 53248};
  const CheckpointFolder folder;
  const std::string path = write_gguf(folder, "x.gguf", llama_keys(large),
                                      gguf_llama(large, [](const std::string&, Count) { return "Q8_0"; }));
  CHECK(std::filesystem::file_size(path) > 400'000'000'000);
  CHECK(read_checkpoint(path).tensors.size() == 126 * 9 + 3);
}

TEST_CASE("all parts of a split GGUF file are read, whichever part is given", "[gguf]") {
  const CheckpointFolder folder;
  const std::vector<WrittenTensor> all = tiny_tensors(), half(all.begin(), all.begin() + 10),
                                   rest(all.begin() + 10, all.end());
  std::vector<GgufPair> keys = llama_keys(tiny);
  keys.push_back({"split.tensors.count", static_cast<std::uint32_t>(all.size())});
  write_gguf(folder, "m-00001-of-00002.gguf", keys, half);
  const std::string second = write_gguf(folder, "m-00002-of-00002.gguf", {{"split.no", 1U}}, rest);
  for (const std::string& path : {second, folder.file("m-00001-of-00002.gguf"), folder.path.string()}) {
    const Checkpoint c = read_checkpoint(path);
    CHECK(c.tensors.size() == all.size());
    CHECK(c.files.size() == 2);
    CHECK(c.keys["llama.block_count"] == 2);
  }
  std::filesystem::remove(folder.path / "m-00001-of-00002.gguf");
  CHECK(sentence([&] { read_checkpoint(second); }) == "'" + second + "' is part 2 of 2, but '" +
                                                          folder.file("m-00001-of-00002.gguf") +
                                                          "' is missing; pass a checkpoint with all its parts");
  write_gguf(folder, "m-00001-of-00002.gguf", keys, {half.begin(), half.end() - 1});
  CHECK_THAT(sentence([&] { read_checkpoint(second); }),
             Catch::Contains("\"split.tensors.count\" is 21, but its parts contain 20 tensors"));
}

TEST_CASE("a truncated or invalid GGUF file is rejected", "[gguf]") {
  CHECK(refusal("") ==
        "'x.gguf': the header extends past the end of the file at 0 bytes; the file is truncated or damaged");
  CHECK(refusal("GGML\3\0\0\0") == "'x.gguf': not a GGUF file; it does not begin with \"GGUF\"");
  GgufBytes old{.version = 4};
  old.begin(0, 0);
  CHECK(refusal(old.text) == "'x.gguf': GGUF version 4 is not supported; expected version 1, 2 or 3");
  GgufBytes whole;
  fill(whole, llama_keys(tiny), tiny_tensors());
  for (std::size_t n = 8; n < whole.text.size(); n += 7)
    CHECK_THAT(refusal(whole.text.substr(0, n)), Catch::Contains("truncated"));
  CHECK_THAT(refusal(whole.text, static_cast<std::uintmax_t>(whole.size) - 33), Catch::Contains("past the"));
}

TEST_CASE("absurd counts and lengths in a GGUF file are rejected before allocation", "[gguf]") {
  GgufBytes g;
  g.begin(0, 1'000'000'000);
  CHECK(refusal(g.text, 1 << 20) ==
        "'x.gguf': the header states 1000000000 keys; at most 65536 are supported, so the file is damaged");
  g.begin(Count{1} << 62, 0);
  CHECK_THAT(refusal(g.text), Catch::Contains("the header states 4611686018427387904 tensors"));
  g.begin(0, 1);
  g.length(Count{1} << 40);
  CHECK(refusal(g.text) ==
        "'x.gguf': a key has 1099511627776 bytes; at most 65535 are supported, so the file is damaged");
  const auto value = [](std::uint32_t type, Count length) {
    GgufBytes v;
    v.begin(0, 1);
    v.string("k");
    v.number(type);
    if (type == 9) v.number(std::uint32_t{4});
    v.length(length);
    return v.text;
  };
  CHECK_THAT(refusal(value(8, Count{1} << 40), 1 << 20), Catch::Contains("past the end of the file at 1048576 bytes"));
  CHECK_THAT(refusal(value(9, Count{1} << 62), 1 << 20), Catch::Contains("a list of 4611686018427387904 values"));
  CHECK_THAT(refusal(value(9, Count{1} << 28), Count{2} << 30), Catch::Contains("longer than the supported 512 MiB"));
  CHECK_THAT(refusal(value(77, 1)), Catch::Contains("key \"k\" has a value of type 77"));
}

TEST_CASE("GGUF tensors that exceed the file, overlap or have absurd shapes are rejected", "[gguf]") {
  const auto said = [](std::vector<Count> shape, std::uint32_t type, Count offset) {
    return refused_tensor([&](GgufBytes& g) { g.tensor("a\x1b[31m", std::move(shape), type, offset); });
  };
  CHECK(said({32, 64}, 0, 0) ==
        "'x.gguf': tensor \"a?[31m\": its 8192 bytes at offset 0 extend past the 4096 bytes of data; the file is "
        "truncated or damaged");
  CHECK_THAT(said({1}, 0, -32), Catch::Contains("past the 4096 bytes of data"));
  CHECK_THAT(said({Count{1} << 62, 4}, 0, 0), Catch::Contains("exceeds 2^63 elements or bytes"));
  CHECK_THAT(said({-1}, 0, 0), Catch::Contains("a dimension is 18446744073709551615, which exceeds 2^63"));
  CHECK_THAT(said({4, 33}, 8, 0),
             Catch::Contains("its rows of 33 elements are not a multiple of the 32 elements of a block of Q8_0"));
  CHECK_THAT(said({32}, 4, 0), Catch::Contains("has unknown type 4, which"));
  CHECK_THAT(said({1, 1, 1, 1, 1}, 0, 0), Catch::Contains("has 5 dimensions"));
  CHECK_THAT(said({1}, 0, 4), Catch::Contains("its offset of 4 is not a multiple of the alignment of 32"));
  const auto two = [](const std::string& second, Count offset) {
    GgufBytes g;
    g.begin(2, 0);
    g.tensor("a", {64}, 0, 0);
    g.tensor(second, {64}, 0, offset);
    return refusal(g.text, 8192);
  };
  CHECK_THAT(two("b", 32),
             Catch::Contains("it begins at offset 32 and overlaps the previous tensor, which ends at 256"));
  CHECK_THAT(two("a", 256), Catch::Contains("tensor \"a\" appears twice"));
}

TEST_CASE("duplicate keys and invalid alignments in a GGUF file are rejected", "[gguf]") {
  GgufBytes g;
  fill(g, {{"k", 1U}, {"k", 2U}}, {});
  CHECK(refusal(g.text) == "'x.gguf': key \"k\" appears twice; the file is damaged");
  fill(g, {{"general.alignment", 24U}}, {});
  CHECK(refusal(g.text) == "'x.gguf': \"general.alignment\": expected a power of 2 up to 2^20, got 24");
}

TEST_CASE("a damaged byte in a GGUF header never crashes the reader", "[gguf]") {
  const CheckpointFolder folder;
  GgufBytes whole;
  fill(whole, {{"general.architecture", std::string("llama")}, {"l", std::vector<std::int32_t>{1, 2}}},
       {{"a", "Q8_0", {2, 32}}, {"b", "F32", {4}}});
  for (std::size_t i = 0; i < whole.text.size(); ++i)
    for (const int bit : {0, 6, 7}) {
      std::string bytes = whole.text;
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << bit));
      const std::string said =
          sentence([&] { read_checkpoint(folder.write("x.gguf", bytes, static_cast<std::uintmax_t>(whole.size))); });
      CHECK((said == "nothing was rejected" || said.starts_with("'")));
    }
}
