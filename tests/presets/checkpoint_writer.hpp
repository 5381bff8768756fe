#pragma once
// Files with the layout of real checkpoints: exact headers, and holes instead of weights.

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "presets/header/gguf.hpp"
#include "text/json.hpp"
#include "text/safetensors_header.hpp"

namespace llmcalc::test {

/// A temporary folder, removed with the object.
struct CheckpointFolder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("llmcalc_checkpoint_" + std::to_string(getpid()));
  CheckpointFolder() { std::filesystem::create_directories(path); }
  ~CheckpointFolder() { std::filesystem::remove_all(path); }
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;

  std::string file(const std::string& name) const { return (path / name).string(); }
  /// Writes the bytes, followed by a hole up to `size`.
  std::string write(const std::string& name, const std::string& bytes, std::uintmax_t size = 0) const {
    std::filesystem::create_directories((path / name).parent_path());
    std::ofstream(file(name), std::ios::binary) << bytes;
    if (size > bytes.size()) std::filesystem::resize_file(path / name, size);
    return file(name);
  }
};

/// A tensor in a file: its type as named in the file, and its shape, outermost dimension first.
struct WrittenTensor {
  std::string name, type;
  std::vector<Count> shape;
};

using GgufText = std::vector<std::string>;
using GgufPair =
    std::pair<std::string, std::variant<std::uint32_t, float, bool, std::string, GgufText, std::vector<std::int32_t>>>;

/// A GGUF file's bytes without its data, and its total size.
class GgufBytes {
 public:
  std::uint32_t version = 3;
  bool big = false;
  Count alignment = 32;
  std::string text{};
  Count size = 0;

  void number(auto n) {
    auto bytes = std::bit_cast<std::array<char, sizeof n>>(n);
    if (big) std::reverse(bytes.begin(), bytes.end());
    text.append(bytes.data(), bytes.size());
  }
  void length(Count n) { version == 1 ? number(static_cast<std::uint32_t>(n)) : number(static_cast<std::uint64_t>(n)); }
  void string(const std::string& s) {
    length(static_cast<Count>(s.size()));
    text += s;
  }
  void begin(Count tensors, Count pairs) {
    text = "GGUF";
    number(version);
    length(tensors);
    length(pairs);
  }
  void pair(const GgufPair& p) {
    string(p.first);
    std::visit([&](const auto& v) { value(v); }, p.second);
  }
  void tensor(const std::string& name, std::vector<Count> shape, std::uint32_t type, Count offset) {
    string(name);
    number(static_cast<std::uint32_t>(shape.size()));
    std::reverse(shape.begin(), shape.end());
    for (const Count n : shape) length(n);
    number(type);
    number(static_cast<std::uint64_t>(offset));
  }

 private:
  void type(std::uint32_t t) { number(t); }
  void value(std::uint32_t v) { type(4), number(v); }
  void value(float v) { type(6), number(v); }
  void value(bool v) { type(7), number(static_cast<std::uint8_t>(v)); }
  void value(const std::string& v) { type(8), string(v); }
  void value(const GgufText& all) {
    type(9), type(8), length(static_cast<Count>(all.size()));
    for (const std::string& v : all) string(v);
  }
  void value(const std::vector<std::int32_t>& all) {
    type(9), type(5), length(static_cast<Count>(all.size()));
    for (const std::int32_t v : all) number(v);
  }
};

inline GgufType type_called(const std::string& name) {
  for (std::uint32_t id = 0; id < 64; ++id)
    if (const auto t = gguf_type(id); t && t->name == name) return *t;
  throw InputError("no GGUF type is called " + name);
}

inline Count numbers_of(const std::vector<Count>& shape) {
  Count n = 1;
  for (const Count d : shape) n *= d;
  return n;
}

/// Fills `g`. Every tensor starts at the next multiple of the alignment.
inline void fill(GgufBytes& g, const std::vector<GgufPair>& keys, const std::vector<WrittenTensor>& tensors) {
  g.begin(static_cast<Count>(tensors.size()), static_cast<Count>(keys.size()));
  for (const GgufPair& p : keys) g.pair(p);
  const auto aligned = [&](Count n) { return ceil_div(n, g.alignment) * g.alignment; };
  Count offset = 0;
  for (const WrittenTensor& t : tensors) {
    const GgufType type = type_called(t.type);
    g.tensor(t.name, t.shape, type.id, offset);
    offset = aligned(offset + numbers_of(t.shape) / type.block * type.bytes);
  }
  g.size = aligned(static_cast<Count>(g.text.size())) + offset;
}

inline std::string write_gguf(const CheckpointFolder& folder, const std::string& name,
                              const std::vector<GgufPair>& keys, const std::vector<WrittenTensor>& tensors,
                              GgufBytes g = {}) {
  fill(g, keys, tensors);
  return folder.write(name, g.text, static_cast<std::uintmax_t>(g.size));
}

/// A safetensors file: the length of its header, then the header.
inline std::string safetensors_bytes(const std::string& header) {
  std::string text(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) text[i] = static_cast<char>((header.size() >> (8 * i)) & 0xff);
  return text + header;
}

inline std::string write_safetensors(const CheckpointFolder& folder, const std::string& name,
                                     const std::vector<WrittenTensor>& tensors) {
  json::Value header = json::Value::object();
  Count end = 0;
  for (const WrittenTensor& t : tensors) {
    const Count begin = end;
    end += llmcalc::safetensors_bytes(t.type, t.shape, t.name).value;
    header[t.name] = {{"dtype", t.type}, {"shape", t.shape}, {"data_offsets", {begin, end}}};
  }
  const std::string bytes = safetensors_bytes(header.dump());
  return folder.write(name, bytes, bytes.size() + static_cast<std::uintmax_t>(end));
}

/// Sizes of a Llama, with names as in configs.
struct LlamaSizes {
  Count d = 4096, layers = 32, vocabulary = 32000, heads = 32, kv = 32, head_dim = 128, ff = 11008;
};

/// The tensors of a Llama in GGUF, with matrices in `type_of(name, layer)`.
template <typename TypeOf>
std::vector<WrittenTensor> gguf_llama(const LlamaSizes& s, const TypeOf& type_of) {
  std::vector<WrittenTensor> all{{"token_embd.weight", type_of("token_embd", 0), {s.vocabulary, s.d}}};
  for (Count i = 0; i < s.layers; ++i) {
    const std::string layer = "blk." + std::to_string(i) + ".";
    const auto matrix = [&](const std::string& name, Count out, Count in) {
      all.push_back({layer + name + ".weight", type_of(name, i), {out, in}});
    };
    all.push_back({layer + "attn_norm.weight", "F32", {s.d}});
    matrix("attn_q", s.heads * s.head_dim, s.d);
    matrix("attn_k", s.kv * s.head_dim, s.d);
    matrix("attn_v", s.kv * s.head_dim, s.d);
    matrix("attn_output", s.d, s.heads * s.head_dim);
    all.push_back({layer + "ffn_norm.weight", "F32", {s.d}});
    matrix("ffn_gate", s.ff, s.d);
    matrix("ffn_up", s.ff, s.d);
    matrix("ffn_down", s.d, s.ff);
  }
  all.push_back({"output_norm.weight", "F32", {s.d}});
  all.push_back({"output.weight", type_of("output", 0), {s.vocabulary, s.d}});
  return all;
}

inline std::vector<GgufPair> llama_keys(const LlamaSizes& s) {
  const auto u = [](Count n) { return static_cast<std::uint32_t>(n); };
  return {{"general.architecture", std::string("llama")},
          {"general.name", std::string("A Llama")},
          {"llama.context_length", u(4096)},
          {"llama.embedding_length", u(s.d)},
          {"llama.block_count", u(s.layers)},
          {"llama.feed_forward_length", u(s.ff)},
          {"llama.attention.head_count", u(s.heads)},
          {"llama.attention.head_count_kv", u(s.kv)},
          {"llama.attention.layer_norm_rms_epsilon", 1e-5F},
          {"tokenizer.ggml.tokens", GgufText{"<unk>", "<s>", "</s>"}},
          {"tokenizer.ggml.token_type", std::vector<std::int32_t>{2, 3, 3}},
          {"tokenizer.ggml.add_bos_token", true}};
}

}  // namespace llmcalc::test
