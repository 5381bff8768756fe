#pragma once
/// A model as a list of the tensors in its modeling code, with their names, shapes and numbers of copies.

#include <algorithm>
#include <string>
#include <vector>

#include "calc/parameters.hpp"
#include "calc/textbook/textbook.hpp"
#include "presets/model_file.hpp"
#include "tests/catch.hpp"
#include "tests/presets/import_text.hpp"

namespace llmcalc::test {

struct Tensor {
  std::string name;
  std::vector<Count> shape;
  Count copies = 1;
};
using Tensors = std::vector<Tensor>;

inline Count numbers(const Tensors& all) {
  Count n = 0;
  for (const Tensor& t : all) {
    Count each = t.copies;
    for (const Count size : t.shape) each *= size;
    n += each;
  }
  return n;
}

/// The tensors of several lists, concatenated.
inline Tensors together(const std::vector<Tensors>& lists) {
  Tensors out;
  for (const Tensors& list : lists) out.insert(out.end(), list.begin(), list.end());
  return out;
}

/// The tensors, repeated for `layers` layers.
inline Tensors in_layers(Count layers, Tensors all) {
  for (Tensor& t : all) t.copies *= layers;
  return all;
}

/// A gated MLP without biases.
inline Tensors gated_mlp(const std::string& name, Count hidden, Count width, Count copies = 1) {
  return {{name + ".gate_proj", {width, hidden}, copies},
          {name + ".up_proj", {width, hidden}, copies},
          {name + ".down_proj", {hidden, width}, copies}};
}

/// Projections of grouped attention without biases.
inline Tensors projections(Count hidden, Count heads, Count kv_heads, Count head_dim) {
  return {{"q_proj", {heads * head_dim, hidden}},
          {"k_proj", {kv_heads * head_dim, hidden}},
          {"v_proj", {kv_heads * head_dim, hidden}},
          {"o_proj", {hidden, heads * head_dim}}};
}

/// Checks that the config imports with the parameters of `tensors`, which number `total`, and that the model
/// round-trips through a model file.
inline Arch check_tensors(const std::string& config, const Tensors& tensors, Count total) {
  const ModelCard card = imported(config);
  CHECK(numbers(tensors) == total);
  CHECK(parameters(card.arch).total == total);
  CHECK(textbook::parameters(card.arch).total() == total);
  CHECK(card.unknown_keys == std::vector<std::string>());
  CHECK(read_model_file(model_file_json(card), "a file").arch == card.arch);
  return card.arch;
}

}  // namespace llmcalc::test
