#include "evidence/convert/old_check.hpp"

#include <fmt/format.h>

#include "evidence/convert/inference/inference_row.hpp"
#include "evidence/convert/training/training_row.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

std::string lacking(std::string_view key, std::string_view figure, std::string_view why) {
  return fmt::format("\"batch\": {} is missing; {} {}", in_quotes(key), in_quotes(figure), why);
}

bool states_batch(const TrainingBatch& b) {
  return b.global || b.tokens_per_step || b.local_batch || (b.micro && b.grad_accum);
}

bool needs_prompt(FigureKind q) {
  return q == FigureKind::first_token || q == FigureKind::prefill_time || q == FigureKind::prefill_rate ||
         q == FigureKind::whole_time || q == FigureKind::total_rate;
}
bool needs_answer(FigureKind q) {
  return q == FigureKind::whole_time || q == FigureKind::total_rate || q == FigureKind::decode_time;
}

bool states_prompt(const InferenceBatch& b) {
  return b.input_len || b.context_len || b.decode_context_mean || !b.input_note.empty() || !b.context_said.empty();
}

std::string lacking_length(const InferenceRow& row, const Figure& f) {
  if (needs_prompt(f.quantity) && !states_prompt(row.batch))
    return lacking("input_len", f.key, "requires the length of the prompt");
  if (needs_answer(f.quantity) && !row.batch.output_len)
    return lacking("output_len", f.key, "requires the length of the output");
  return {};
}

std::string lacking_clients(const InferenceRow& row, const InferenceCase& c, const Figure& f) {
  const InferenceBatch& b = row.batch;
  const bool by_clients = c.kind == BatchKind::concurrency || c.kind == BatchKind::max_inflight;
  if (!by_clients || b.batch || b.num_requests) return {};
  return lacking("batch", f.key, fmt::format("of kind {} requires the number of requests", in_quotes(b.kind)));
}

}  // namespace

std::string drop_incomplete(const TrainingRow& row, TrainingCase& c) {
  if (!c.step || c.measured_as != "iteration_time_s" || states_batch(row.batch)) return {};
  c.no_step = lacking("global", c.measured_as, "requires the number of sequences per step");
  c.step.reset();
  if (c.memory.empty()) c.skip = c.no_step;
  return c.no_step;
}

std::string drop_incomplete(const InferenceRow& row, InferenceCase& c) {
  if (c.kind == BatchKind::capacity) return {};
  for (const Figure& f : c.figures) {
    c.skip = lacking_length(row, f);
    if (c.skip.empty()) c.skip = lacking_clients(row, c, f);
    if (!c.skip.empty()) return c.skip;
  }
  return {};
}

}  // namespace llmcalc
