#include "evidence/convert/doubts.hpp"

#include <algorithm>
#include <regex>

#include "evidence/convert/inference_row.hpp"
#include "text/leading_number.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

bool is_memory(FigureKind q) { return q >= FigureKind::cache_tokens && q <= FigureKind::graph_memory; }

bool is_of_prompts(FigureKind q) { return q == FigureKind::prefill_rate || q == FigureKind::prefill_time; }

/// Whether a row exceeds a load limit that its notes state: "TTFT explodes beyond ~90 concurrent requests".
bool is_past_explosion(const std::string& notes, const InferenceRow& row) {
  static const std::regex pattern("ttft explodes beyond ~?([0-9]{1,9})");
  std::smatch found;
  return std::regex_search(notes, found, pattern) && row.batch.batch.value_or(0) > leading_real(found[1]);
}

}  // namespace

bool has_figure(const InferenceRow& row, FigureKind quantity) {
  return std::any_of(row.measured.begin(), row.measured.end(), [&](const auto& m) {
    const FigureKey* key = figure_key(m.first);
    return key != nullptr && key->quantity == quantity;
  });
}

std::string doubt_of(FigureKind q, const InferenceRow& row) {
  const std::string notes = lower(row.notes);
  const auto say = [&](const char* words) { return notes.find(words) != std::string::npos; };
  if (q == FigureKind::weight_memory && say("excludes embeddings")) return "the row's notes: embeddings are left out";
  if (say("use memory only") && !is_memory(q)) return "the row's notes: use its memory only";
  if (say("caution") && !is_memory(q)) return "the row's notes: for relative trends only";
  if (q == FigureKind::first_token) {
    if (say("use tpot only") || say("synchronised-burst")) return "the row's notes: a burst's time to the first token";
    if (say("ttft is queueing") || is_past_explosion(notes, row)) return "the row's notes: waiting in a queue";
  }
  if (q == FigureKind::time_per_token && say("throughput is the check"))
    return "the row's notes: throughput is the check";
  if (is_of_prompts(q) && (row.prefill_suspect || say("ignore prefill_tok_s")))
    return "the row's notes: prefill is not to be used";
  if (is_of_prompts(q) && say("do not use it for compute")) return "the row's notes: launches bound so short a prompt";
  return "";
}

}  // namespace llmcalc
