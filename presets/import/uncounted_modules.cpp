#include "calc/parameters.hpp"
#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// A model of one layer whose head is its table: the table, the layer, the final norm and what is the head's own.
Arch one_layer(Arch a) {
  a.layers = 1;
  a.mixers = {};
  a.local = {};
  a.tied_head = true;
  return a;
}

/// hub meituan-longcat/LongCat-Flash-Chat: a latent attention and a dense MLP under a norm each, a matrix (2 h, h) that
/// joins two inputs under a norm each, a norm and a token table of its own. No experts.
Count longcat_module(const Arch& a) {
  Arch one = one_layer(a);
  one.block = BlockKind::serial;
  one.norms_per_layer = 2;
  one.moe = {};
  return add(parameters(one).total, add(mul(2, a.hidden, a.hidden), mul(2, a.hidden)));
}

/// hub deepseek-ai/DeepSeek-V4-Flash: a layer whose attention pools nothing, two matrices (h, h) that join its inputs
/// under a norm each, a norm and a head's mix of the residual streams. The model's table and head. Its router's bias, a
/// buffer, is among the numbers, as in the checkpoint.
Count deepseek_v4_module(const Arch& a) {
  Arch one = one_layer(a);
  one.compressed.ratio = 0;
  one.compressed.overlap = false;
  one.indexer = {};
  one.moe.layers = LayerSet::all(1);
  const Count own = parameters(one).total - mul(a.vocabulary, a.hidden);
  return add(add(own, a.moe.experts), add(mul(2, a.hidden, a.hidden), mul(2, a.hidden)));
}

/// hub baidu/ERNIE-4.5-21B-A3B-PT: attention and a dense MLP; 0 where no layer has one.
Count ernie_module(Arch a) {
  const LayerSet dense = others(a.moe.layers, a.layers);
  if (dense.empty()) return 0;
  a.mtp = {.modules = 1, .mixer_of = a.layers - 1, .mlp_of = dense.first()};
  return mtp_parameters(a).total;
}

}  // namespace

UncountedModules uncounted_modules(const Config& c, const Arch& a) {
  if (a.mtp.modules > 0) return {};
  const std::string family = c.text("model_type", "");
  const bool said = c.has("num_nextn_predict_layers");
  UncountedModules u{.modules = c.count("num_nextn_predict_layers", 0)};
  if (family == "longcat_flash") u = {said ? u.modules : 1, longcat_module(a)};
  if (family == "ernie4_5_moe" && ernie_module(a) > 0) u = {said ? u.modules : 1, ernie_module(a), !said};
  if (family == "deepseek_v4" || family == "deepseek_ref") u.parameters = deepseek_v4_module(a);
  return u;
}

}  // namespace llmcalc::import
