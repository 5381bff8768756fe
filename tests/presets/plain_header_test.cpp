// Plain safetensors headers are read in one pass, and all others by the general reader, with the same result.

#include "text/plain_header.hpp"

#include "presets/header/safetensors.hpp"
#include "tests/catch.hpp"
#include "tests/presets/checkpoint_writer.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// A tensor as one line of text.
std::string line(std::string_view name, std::string_view dtype, std::span<const Count> shape, Count begin, Count end) {
  return fmt::format("{} {} {} {} {}", name, dtype, fmt::join(shape, "x"), begin, end);
}

std::string path_of(const CheckpointFolder& folder, const std::string& header, Count data) {
  const std::string bytes = safetensors_bytes(header);
  return folder.write("m.safetensors", bytes, bytes.size() + static_cast<std::uintmax_t>(data));
}

/// The tensors that read_plain_header() finds; absent if it returns false.
std::optional<std::vector<std::string>> plain_lines(const std::string& path) {
  const BinaryFile file(path, "a safetensors file");
  std::vector<std::string> all;
  const auto add = [&](const PlainTensor& t) {
    all.push_back(line(t.name, t.dtype, t.shape, t.begin, t.end));
    return true;
  };
  return read_plain_header(file, safetensors_header_length(file), add) ? std::optional(all) : std::nullopt;
}

std::vector<std::string> general_lines(const std::string& path) {
  std::vector<std::string> all;
  for (const SafetensorsEntry& e : safetensors_header(BinaryFile(path, "a safetensors file")).entries)
    all.push_back(line(e.name, e.dtype, e.shape, e.offset, e.offset + e.bytes.value));
  return all;
}

/// The tensors of the checkpoint at `path`.
std::vector<std::string> checkpoint_lines(const std::string& path) {
  std::vector<std::string> all;
  const Checkpoint c = read_checkpoint(path);
  for (const CheckpointTensor& t : c.tensors) {
    const auto begin = static_cast<Count>(t.offset);
    all.push_back(line(t.name, t.type->format, t.type->shape, begin, begin + t.type->bytes.value));
  }
  return all;
}

using Headers = std::vector<std::string>;

const std::string first = R"("a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]})",
                  second = R"("b":{"dtype":"BF16","shape":[],"data_offsets":[24,26]})";

}  // namespace

TEST_CASE("a plain header has the same tensors as read by the general reader", "[safetensors]") {
  const CheckpointFolder folder;
  const std::string metadata = R"("__metadata__":{"format":"pt","more":"{\"a\": \"}\\\"é\u00e9\"}"})";
  const std::string spaced = R"( "b" : { "data_offsets" : [ 24 , 26 ],)"
                             "\n\t"
                             R"("shape":[ ],"dtype":"BF16" } )";
  for (const std::string& header :
       Headers{"{" + first + "," + second + "}", "{" + metadata + "," + first + "," + second + "}   ",
               "{" + first + "," + second + "," + metadata + "}\n", "{" + first + "," + spaced + "}",
               R"({"long":{"dtype":"U8","shape":[1,26],"data_offsets":[0,26]},)"
               R"("none":{"dtype":"U8","shape":[0],"data_offsets":[26,26]}})"}) {
    const std::string path = path_of(folder, header, 26);
    CAPTURE(header);
    CHECK(plain_lines(path) == general_lines(path));
    CHECK(checkpoint_lines(path) == general_lines(path));
  }
}

TEST_CASE("tensors are in the order of their data, whatever their order in the header", "[safetensors]") {
  const CheckpointFolder folder;
  const std::string path = path_of(folder, "{" + second + "," + first + "}", 26);
  CHECK(plain_lines(path) == std::vector<std::string>{"b BF16  24 26", "a F32 2x3 0 24"});
  CHECK(checkpoint_lines(path) == std::vector<std::string>{"a F32 2x3 0 24", "b BF16  24 26"});
}

TEST_CASE("a header that is not plain is read by the general reader", "[safetensors]") {
  const CheckpointFolder folder;
  for (const std::string& header :
       Headers{R"({"\u0061":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)" + second + "}",
               R"({"é":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)" + second + "}",
               R"({"a":{"dtype":"F32","shape":[2,3.0],"data_offsets":[0,2.4e1]},)" + second + "}"}) {
    const std::string path = path_of(folder, header, 26);
    CAPTURE(header);
    CHECK(plain_lines(path) == std::nullopt);
    CHECK(checkpoint_lines(path) == general_lines(path));
  }
}

TEST_CASE("the plain-header reader declines a malformed header, and the general reader reports the error",
          "[safetensors]") {
  const CheckpointFolder folder;
  for (const std::string& header : Headers{
           "{}", "{" + first, "{" + first + ",}", "{" + first + "}}", "{" + first + "} x", "{" + first + second + "}",
           R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24,26]}})", R"({"a":{"dtype":"F32","shape":[2,3]}})",
           R"({"a":{"dtype":"F32","shape":[2,3],"shape":[2,3],"data_offsets":[0,24]}})",
           R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24],"more":[]}})",
           R"({"a":{"dtype":"F32","shape":[02,3],"data_offsets":[0,24]}})",
           R"({"a":{"dtype":"F32","shape":[-2,-3],"data_offsets":[0,24]}})",
           R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,99999999999999999999]}})",
           R"({"__metadata__":{"a":"1","a":"2"},)" + first + "}", R"({"__metadata__":{"a":1},)" + first + "}",
           R"({"__metadata__":{},"__metadata__":{},)" + first + "}"}) {
    CAPTURE(header);
    CHECK(plain_lines(path_of(folder, header, 24)) == std::nullopt);
  }
  const auto said = [&](const std::string& header, Count data) {
    return sentence([&] { read_checkpoint(path_of(folder, header, data)); });
  };
  CHECK_THAT(said("{" + first + "," + second + "}", 27), Catch::Contains("the tensors end at 26, but the file has 27"));
  CHECK_THAT(said("{" + first + "," + second + "}", 25), Catch::Contains("\"data_offsets\" end at 26, past the 25"));
  CHECK_THAT(said("{" + first + R"(,"a":{"dtype":"U8","shape":[2],"data_offsets":[24,26]}})", 26),
             Catch::Contains("header:1: key \"a\" appears twice"));
  CHECK_THAT(said(R"({"a":{"dtype":"F31","shape":[2,3],"data_offsets":[0,24]}})", 24),
             Catch::Contains("unknown dtype \"F31\""));
}

TEST_CASE("entries may be longer than the blocks in which a header is read", "[safetensors]") {
  const CheckpointFolder folder;
  for (const std::size_t length : {65'000U, 65'536U, 300'000U}) {
    std::string header = R"({"__metadata__":{"a":")" + std::string(length, 'x') + R"("})";
    for (Count i = 0; i < 3000; ++i)
      header += fmt::format(R"(,"layers.{}.experts.{}.weight":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}})",
                            i / 1000, i % 1000, 7, 7 * i, 7 * i + 7);
    const std::string path = path_of(folder, header + "}", 21'000);
    CHECK(plain_lines(path) == general_lines(path));
  }
}
