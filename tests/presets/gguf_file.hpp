#pragma once
// Builders of GGUF files: keys and tensors as llama.cpp's converters write them.

#include <string>
#include <vector>

#include "calc/parameters.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"
#include "tests/presets/checkpoint_writer.hpp"

namespace llmcalc::test {

using List = std::vector<std::int32_t>;

/// A GGUF file under construction: matrices in bf16, all else in float32.
class GgufFile {
 public:
  GgufFile(std::string architecture, Count layers, Count width, Count vocabulary, bool tied, bool normed = true)
      : architecture_(std::move(architecture)), width_(width) {
    keys_ = {{"general.architecture", architecture_}};
    key("block_count", layers);
    key("embedding_length", width);
    key("context_length", 262144);
    add("token_embd.weight", {vocabulary, width});
    if (!tied) add("output.weight", {vocabulary, width});
    if (normed) norm("output_norm.weight", width);
  }

  GgufFile& key(const std::string& name, Count n) {
    keys_.emplace_back(architecture_ + "." + name, static_cast<std::uint32_t>(n));
    return *this;
  }
  GgufFile& key(const std::string& name, List list) {
    keys_.emplace_back(architecture_ + "." + name, std::move(list));
    return *this;
  }
  GgufFile& real(const std::string& name, float x) {
    keys_.emplace_back(architecture_ + "." + name, x);
    return *this;
  }
  /// Sets the prefix of the following tensors' names.
  void prefix(std::string begin) { prefix_ = std::move(begin); }
  /// Sets the prefix of the following tensors' names to a layer's.
  void layer(Count i) { prefix_ = "blk." + std::to_string(i) + "."; }
  void add(const std::string& name, std::vector<Count> shape) { tensors_.push_back({prefix_ + name, "BF16", shape}); }
  void norm(const std::string& name, Count width) { tensors_.push_back({prefix_ + name, "F32", {width}}); }
  void matrix(const std::string& name, Count rows, Count columns) { add(name + ".weight", {rows, columns}); }
  /// Adds matrices that project to width `inner`, and one that projects back.
  void projections(const std::vector<std::string>& to, Count inner, const std::string& from) {
    for (const std::string& name : to) matrix(name, inner, width_);
    matrix(from, width_, inner);
  }
  void gated_mlp(const std::string& end, Count inner) {
    projections({"ffn_gate" + end, "ffn_up" + end}, inner, "ffn_down" + end);
  }
  void experts(Count n, Count inner) {
    matrix("ffn_gate_inp", n, width_);
    for (const char* name : {"ffn_gate_exps.weight", "ffn_up_exps.weight"}) add(name, {n, inner, width_});
    add("ffn_down_exps.weight", {n, width_, inner});
  }
  void attention(Count queries, Count kv, Count out) {
    matrix("attn_q", queries, width_);
    matrix("attn_k", kv, width_);
    matrix("attn_v", kv, width_);
    matrix("attn_output", width_, out);
  }
  /// Mamba-2: gate, x, B, C and steps in one matrix.
  void mamba2(Count heads, Count head, Count groups, Count state, bool normed) {
    const Count inner = heads * head, convolved = inner + 2 * groups * state;
    matrix("ssm_in", inner + convolved + heads, width_);
    add("ssm_conv1d.weight", {convolved, 4});
    norm("ssm_conv1d.bias", convolved);
    for (const char* name : {"ssm_dt.bias", "ssm_a", "ssm_d"}) norm(name, heads);
    if (normed) add("ssm_norm.weight", {groups, inner / groups});
    matrix("ssm_out", width_, inner);
  }
  /// Number of elements in all tensors.
  Count numbers() const {
    Count n = 0;
    for (const WrittenTensor& t : tensors_) n += numbers_of(t.shape);
    return n;
  }
  ModelCard load() const {
    const CheckpointFolder folder;
    return load_model(write_gguf(folder, "m.gguf", keys_, tensors_));
  }

 private:
  std::string architecture_;
  Count width_;
  std::string prefix_;
  std::vector<GgufPair> keys_;
  std::vector<WrittenTensor> tensors_;
};

/// An MLP of width 128, or 4 experts of width 32 with a router correction bias and a shared expert.
inline void dense_or_experts(GgufFile& f, bool dense) {
  if (dense) return f.gated_mlp("", 128);
  f.experts(4, 32);
  f.norm("exp_probs_b.bias", 4);
  f.gated_mlp("_shexp", 32);
}

inline List heads_in(Count layers, const std::vector<Count>& with, std::int32_t n) {
  List all(static_cast<std::size_t>(layers), 0);
  for (const Count i : with) all[static_cast<std::size_t>(i)] = n;
  return all;
}

/// Loads a file and checks that every tensor is counted.
inline ModelCard booked(const GgufFile& f) {
  ModelCard card = f.load();
  for (const std::string& caveat : card.caveats) {
    CAPTURE(caveat);
    CHECK(caveat.find("not recognized") == std::string::npos);
    CHECK(caveat.find("differ") == std::string::npos);
  }
  return card;
}

/// Checks that every tensor is counted and that the architecture is the preset's, except for values that files lack:
/// the chunk size of kernels and, for some converters, the context. `modules`: whether the file has MTP modules.
inline void check(const GgufFile& f, const char* preset, bool modules = false) {
  const ModelCard card = booked(f);
  Arch expected = load_model(preset).arch;
  expected.context = card.arch.context;
  expected.recurrent.chunk = card.arch.recurrent.chunk;
  if (!modules) expected.mtp = {};
  CHECK(card.arch == expected);
}

}  // namespace llmcalc::test
