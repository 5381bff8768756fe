#include "model/layers/alternating.hpp"

#include <utility>

namespace llmcalc::model {
namespace {

/// Names of the operators that compute a token's weights.
struct AltupNames {
  const char *norm, *router, *act, *weights;
};

/// W tanh(W_m norm(x)). If x is wider than one stream, only its first stream is read.
Value token_weights(Pass& p, const AltupNames& names, const Value& x) {
  Value m = p.norm(names.norm, x, {.rows = x.rows, .width = p.arch().hidden}, x.width);
  m = p.tanh(names.act, p.linear(names.router, std::move(m)));
  return p.linear(names.weights, std::move(m));
}

}  // namespace

Value stacked_streams(Pass& p, Value x) {
  Value projected = p.project_streams("embedding.streams", x, x.rows, false);
  return p.stack("embedding.stack", std::move(x), std::move(projected));
}

Value merged_streams(Pass& p, Value x, Count rows) {
  Value projected = p.project_streams("head.streams", x, rows, true);
  return p.merge("head.gather", std::move(x), std::move(projected));
}

Value predicted_streams(Pass& p, Value x) {
  Value weights = token_weights(p, {"altup.norm", "altup.router", "altup.act", "altup.predict_weights"}, x);
  return p.predict("altup.predict", std::move(x), std::move(weights));
}

Value corrected_streams(Pass& p, Value predicted, Value result) {
  Value weights = token_weights(
      p, {"altup.result_norm", "altup.result_router", "altup.result_act", "altup.correct_weights"}, result);
  return p.correct("altup.correct", std::move(predicted), std::move(result), std::move(weights));
}

Value low_rank(Pass& p, const Value& x) {
  Value y = p.linear("laurel.up", p.linear("laurel.down", x));
  const Norm shape{.rows = y.rows, .width = y.width, .centered = p.arch().norm != NormKind::rms_norm};
  y = p.norm("laurel.norm", std::move(y), shape);
  return p.add("laurel.add", x, std::move(y));
}

}  // namespace llmcalc::model
