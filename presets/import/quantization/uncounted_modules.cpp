#include "calc/parameters.hpp"
#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// Parameters of an MTP module of hub baidu/ERNIE-4.5-21B-A3B-PT: attention and a dense MLP; 0 if no layer has a dense
/// MLP.
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
  UncountedModules u{.modules = c.count({"num_nextn_predict_layers", "_num_mtp_layers"}, 0)};
  if (family == "ernie4_5_moe" && ernie_module(a) > 0) u = {said ? u.modules : 1, ernie_module(a), !said};
  return u;
}

}  // namespace llmcalc::import
