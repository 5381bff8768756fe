#pragma once
/// Attention's work in symbols: FLOPs of the core over all layers, under any convention of which pairs count.

#include <string>

#include "report/explain/setting.hpp"

namespace llmcalc::explain {

/// What one pass runs over. `queries` and `context` are expressions; context counts past and new tokens alike.
struct PassText {
  std::string queries;    ///< "S", "n_in", "1"
  std::string context;    ///< of a single query: "c"; empty: the queries are the whole sequence
  bool absorbed = false;  ///< MLA: queries meet the latent rows
};

/// Multiply-adds of the core per scored pair and head, over all heads, times 2: "4*A*d_h".
std::string core_width(const Setting& s, bool absorbed);

/// Pairs per head and sequence, summed over the layers: "L*S^2". `windows`: do sliding windows spare any?
std::string pairs_text(const Setting& s, const PassText& pass, AttentionFlops convention, bool windows = true);

/// B x core_width x pairs, "0" without softmax attention.
std::string core_text(const Setting& s, const PassText& pass, AttentionFlops convention, bool windows = true);

/// The same of the scores alone, without their product with the values.
std::string scores_text(const Setting& s, const PassText& pass, AttentionFlops convention);

/// FLOPs of linear attention on B x queries tokens; "0" without.
std::string linear_attention_text(const Setting& s, const PassText& pass);

}  // namespace llmcalc::explain
