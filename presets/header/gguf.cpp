#include "presets/header/gguf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <set>
#include <span>
#include <utility>

#include "presets/header/gguf_reader.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

constexpr GgufType of_format(std::uint32_t id, std::string_view name, std::string_view row) {
  const DType t = *dtype(row);
  const Format& f = t.format();
  return {id, name, t, f.group > 0 ? f.group : 1, (f.group > 0 ? f.group_bits : f.element_bits) / 8};
}

constexpr std::array gguf_types{of_format(0, "F32", "fp32"),
                                of_format(1, "F16", "fp16"),
                                of_format(2, "Q4_0", "q4_0"),
                                of_format(3, "Q4_1", "q4_1"),
                                of_format(6, "Q5_0", "q5_0"),
                                of_format(7, "Q5_1", "q5_1"),
                                of_format(8, "Q8_0", "q8_0"),
                                GgufType{9, "Q8_1", std::nullopt, 32, 36},
                                of_format(10, "Q2_K", "q2_k"),
                                of_format(11, "Q3_K", "q3_k"),
                                of_format(12, "Q4_K", "q4_k"),
                                of_format(13, "Q5_K", "q5_k"),
                                of_format(14, "Q6_K", "q6_k"),
                                GgufType{15, "Q8_K", std::nullopt, 256, 292},
                                of_format(16, "IQ2_XXS", "iq2_xxs"),
                                of_format(17, "IQ2_XS", "iq2_xs"),
                                of_format(18, "IQ3_XXS", "iq3_xxs"),
                                of_format(19, "IQ1_S", "iq1_s"),
                                of_format(20, "IQ4_NL", "iq4_nl"),
                                of_format(21, "IQ3_S", "iq3_s"),
                                of_format(22, "IQ2_S", "iq2_s"),
                                of_format(23, "IQ4_XS", "iq4_xs"),
                                GgufType{24, "I8", std::nullopt, 1, 1},
                                GgufType{25, "I16", std::nullopt, 1, 2},
                                GgufType{26, "I32", std::nullopt, 1, 4},
                                GgufType{27, "I64", std::nullopt, 1, 8},
                                of_format(28, "F64", "fp64"),
                                of_format(29, "IQ1_M", "iq1_m"),
                                of_format(30, "BF16", "bf16"),
                                of_format(34, "TQ1_0", "tq1_0"),
                                of_format(35, "TQ2_0", "tq2_0"),
                                of_format(39, "MXFP4", "mxfp4"),
                                GgufType{40, "NVFP4", dtype("nvfp4"), 64, 36},
                                of_format(41, "Q1_0", "q1_0"),
                                of_format(42, "Q2_0", "q2_0")};

/// Completes a type from its format and shape. `name` is the name of its first tensor.
void describe_gguf(TensorType& type, const GgufReader& in, std::string_view name, const GgufType& format) {
  type.dtype = format.dtype;
  if (!type.shape.empty() && type.shape.back() % format.block != 0)
    in.refuse(
        fmt::format("tensor {}: its rows of {} elements are not a multiple of the {} elements of a block of "
                    "{}; the file is damaged",
                    in_quotes(name), type.shape.back(), format.block, format.name));
  try {
    for (const Count n : type.shape) type.numbers = mul(type.numbers, n);
    type.bytes = Bytes(mul(type.numbers / format.block, format.bytes));
  } catch (const Overflow&) {
    in.refuse(fmt::format("tensor {}: its shape exceeds 2^63 elements or bytes; the file is damaged", in_quotes(name)));
  }
}

void add_tensor(TensorList& all, GgufReader& in) {
  const std::string name = in.text(max_gguf_name, "a tensor's name");
  const auto dimensions = in.number<std::uint32_t>();
  if (dimensions > 4)
    in.refuse(fmt::format("tensor {} has {} dimensions; GGUF allows at most 4, so the file is damaged", in_quotes(name),
                          dimensions));
  std::array<Count, 4> sizes{};
  const std::span<Count> shape = std::span(sizes).first(dimensions);
  for (Count& n : shape) n = in.count("a dimension");
  std::reverse(shape.begin(), shape.end());
  const auto id = in.number<std::uint32_t>();
  const auto type = gguf_type(id);
  if (!type)
    in.refuse(fmt::format(
        "tensor {} has unknown type {}, which ggml has removed or which is newer than type {}, the latest supported "
        "type; convert the file to another type",
        in_quotes(name), id, gguf_types.back().id));
  const auto offset = in.number<std::uint64_t>();
  all.add(name, type->name, shape, offset, [&](TensorType& one) { describe_gguf(one, in, name, *type); });
}

/// Throws InputError unless all tensors are within the data, do not overlap, and begin at multiples of the alignment.
/// The tensors are in the order of their offsets.
void check_places(const GgufReader& in, std::span<const CheckpointTensor> tensors, std::uint64_t alignment) {
  const std::uint64_t begin = (in.position() + alignment - 1) / alignment * alignment;
  const std::uint64_t data = in.size() > begin ? in.size() - begin : 0;
  std::uint64_t end = 0;
  for (const CheckpointTensor& t : tensors) {
    const auto bytes = static_cast<std::uint64_t>(t.type->bytes.value);
    if (t.offset > data || bytes > data - t.offset)
      in.refuse(
          fmt::format("tensor {}: its {} bytes at offset {} extend past the {} bytes of data; the file is truncated "
                      "or damaged",
                      in_quotes(t.name), bytes, t.offset, data));
    if (t.offset < end)
      in.refuse(
          fmt::format("tensor {}: it begins at offset {} and overlaps the previous tensor, which ends at {}; the "
                      "file is damaged",
                      in_quotes(t.name), t.offset, end));
    if (t.offset % alignment != 0)
      in.refuse(
          fmt::format("tensor {}: its offset of {} is not a multiple of the alignment of {}; the file is "
                      "damaged",
                      in_quotes(t.name), t.offset, alignment));
    end = t.offset + bytes;
  }
}

std::uint64_t alignment_of(const GgufReader& in, const json::Value& keys) {
  const Count n = json::Object(keys, in.where()).count_or("general.alignment", 32);
  if (n < 1 || n > 1 << 20 || !std::has_single_bit(static_cast<std::uint64_t>(n)))
    in.refuse(fmt::format("\"general.alignment\": expected a power of 2 up to 2^20, got {}", n));
  return static_cast<std::uint64_t>(n);
}

json::Value read_pairs(GgufReader& in, std::uint64_t pairs) {
  json::Value keys = json::Value::object();
  auto& list = keys.get_ref<json::Value::object_t&>();
  std::set<std::string> known;
  for (std::uint64_t i = 0; i < pairs; ++i) {
    std::string key = in.text(max_gguf_name, "a key");
    if (!known.insert(key).second) in.refuse(fmt::format("key {} appears twice; the file is damaged", in_quotes(key)));
    if (auto value = in.value(key)) list.emplace_back(std::move(key), std::move(*value));
  }
  return keys;
}

/// Checks the keys of a later file of a split checkpoint: its part number and, if stated, its architecture.
void check_part(const GgufReader& in, const json::Value& keys, const Checkpoint& c) {
  const json::Object own(keys, in.where());
  const auto number = static_cast<Count>(c.files.size());
  if (const Count stated = own.count_or("split.no", number); stated != number)
    in.refuse(
        fmt::format("\"split.no\" is {}, but its name implies part {}, counted from 0; rename it", stated, number));
  if (!c.is_gguf()) return;
  const std::string first = json::Object(c.keys, c.where).text_or("general.architecture", "");
  const std::string arch = own.text_or("general.architecture", first);
  if (arch != first)
    in.refuse(fmt::format("\"general.architecture\" is {}, but {} in the first part; it belongs to another model",
                          in_quotes(arch), in_quotes(first)));
}

}  // namespace

std::optional<GgufType> gguf_type(std::uint32_t id) {
  for (const GgufType& t : gguf_types)
    if (t.id == id) return t;
  return std::nullopt;
}

void add_gguf(Checkpoint& c, const BinaryFile& file) {
  GgufReader in(file);
  const auto tensors = in.counted("tensors", max_gguf_tensors), pairs = in.counted("keys", max_gguf_keys);
  json::Value keys = read_pairs(in, pairs);
  check_part(in, keys, c);
  const std::size_t before = c.tensors.size();
  if (before == 0) c.tensors.reserve(tensors);
  for (std::uint64_t i = 0; i < tensors; ++i) add_tensor(c.tensors, in);
  c.tensors.sort_by_offset(before);
  check_places(in, c.tensors.from(before), alignment_of(in, keys));
  c.file_bytes += Bytes(file.size());
  c.files.push_back(file.path());
  if (!c.is_gguf()) c.keys = std::move(keys);
}

}  // namespace llmcalc
