#include "calc/parallel/vocabulary.hpp"

namespace llmcalc {
namespace {

Count padded(Count rows, Count multiple) { return mul(ceil_div(rows, multiple), multiple); }

/// Whether the operator is the token embedding of the model or of an MTP module. Tables of per-layer inputs have a
/// different size.
bool is_token_embedding(const Op& op) {
  return std::holds_alternative<Lookup>(op.shape) && op.split == Split::row && op.name.ends_with(".tokens");
}

}  // namespace

Count padded_vocabulary(const Arch& arch, const Layout& layout) {
  if (layout.vocabulary_multiple == 1) return arch.vocabulary;
  return padded(arch.vocabulary, mul(layout.vocabulary_multiple, layout.tp));
}

void pad_vocabulary(OpList& ops, const Layout& layout) {
  for (Op& op : ops) {
    Count* rows = nullptr;
    if (is_token_embedding(op)) rows = &std::get<Lookup>(op.shape).rows;
    if (makes_logits(op)) rows = &std::get<Linear>(op.shape).out;
    if (Loss* loss = std::get_if<Loss>(&op.shape)) rows = &loss->vocabulary;
    if (rows != nullptr) *rows = padded(*rows, layout.vocabulary_multiple);
  }
}

}  // namespace llmcalc
