#include "evidence/convert/inference/doubts.hpp"

#include <algorithm>
#include <regex>

#include "evidence/convert/inference/inference_row.hpp"
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

/// Whether the output rate of a closed loop differs by more than a third from its clients' tokens in flight over their
/// times (Little's law). Some dashboards give the rate of the decoding devices times all devices.
bool contradicts_latencies(const InferenceRow& row) {
  const auto rate = row.measured_at("output_tok_s"), each = row.measured_at("tpot_ms");
  const auto mean = row.measured_at("ttft_ms"), first = mean ? mean : row.measured_at("ttft_p50_ms");
  const InferenceBatch& b = row.batch;
  if (!row.disaggregated || !rate || !each || !first || !b.batch || !b.output_len) return false;
  const double seconds = (*first + *each * (*b.output_len - 1)) / 1e3,
               ratio = *rate * seconds / (*b.batch * *b.output_len);
  return ratio > 4.0 / 3 || ratio < 3.0 / 4;
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
  if (q == FigureKind::output_rate && contradicts_latencies(row))
    return "the rate contradicts the row's clients and latencies";
  if (q == FigureKind::time_per_token && say("throughput is the check"))
    return "the row's notes: throughput is the check";
  if (is_of_prompts(q) && (row.prefill_suspect || say("ignore prefill_tok_s")))
    return "the row's notes: prefill is not to be used";
  if (is_of_prompts(q) && say("do not use it for compute")) return "the row's notes: launches bound so short a prompt";
  return "";
}

}  // namespace llmcalc
