#include "evidence/row_check.hpp"

#include <fmt/format.h>

#include "calc/memory.hpp"
#include "calc/pricing.hpp"
#include "calc/train.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

[[noreturn]] void refuse_measured(const std::string& where, std::string_view key, const std::string& why) {
  throw InputError(fmt::format("{}, \"measured\", {}: {}", where, in_quotes(key), why));
}

[[noreturn]] void refuse_lacking(const std::string& where, std::string_view key, std::string_view figure,
                                 std::string_view why) {
  throw InputError(fmt::format("{}, \"batch\": {} is missing; {} {}", where, in_quotes(key), in_quotes(figure), why));
}

// ---- A step of training

bool states_batch(const TrainingBatch& b) {
  return b.global || b.tokens_per_step || b.local_batch || (b.micro && b.grad_accum);
}

/// The fewest FLOPs of a step of all devices.
double least_step_flops(const TrainingCase& c) {
  Plan least = c.plan;
  least.attention_flops = AttentionFlops::causal_exact;
  const double batches = static_cast<double>(mul(micro_batches(c.plan, c.layout), replicas(c.layout)));
  return batches * static_cast<double>(training_flops(c.arch, least, c.layout, c.cluster()).model_total.value);
}

// ---- Memory

/// Sources round memory and write GB for GiB: a tenth more than a device's own is no contradiction.
constexpr double most_of_memory = 1.1;

void check_room(const std::string& where, std::string_view key, double bytes, const HardwareCard& card, Count parts) {
  const double all = static_cast<double>(parts) * static_cast<double>(card.cluster.device.memory.value);
  if (bytes < 0x1p20)
    refuse_measured(
        where, key,
        fmt::format("{:.4g} bytes are less than a mebibyte, which no run fits in; give it in the key's unit", bytes));
  if (bytes > most_of_memory * all)
    refuse_measured(where, key,
                    fmt::format("{:.4g} GiB are more than the {:.4g} GiB of {} {}; give what one device held, or the "
                                "memory of a device that has more",
                                bytes / 0x1p30, all / 0x1p30, parts, card.title));
}

// ---- Figures of inference

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

void check_lengths(const InferenceRow& row, const Figure& f) {
  if (needs_prompt(f.quantity) && !states_prompt(row.batch))
    refuse_lacking(row.where, "input_len", f.key, "means nothing without the prompt's tokens");
  if (needs_answer(f.quantity) && !row.batch.output_len)
    refuse_lacking(row.where, "output_len", f.key, "means nothing without the answer's tokens");
}

void check_clients(const InferenceRow& row, const InferenceCase& c, const Figure& f) {
  const InferenceBatch& b = row.batch;
  const bool by_clients = c.kind == BatchKind::concurrency || c.kind == BatchKind::max_inflight;
  if (by_clients && !b.batch && !b.num_requests)
    refuse_lacking(row.where, "batch", f.key,
                   fmt::format("of the kind {} means nothing without the number of requests", in_quotes(b.kind)));
}

/// Bytes per second of all devices, or of one as the row counts them.
BytesPerSecond most_bandwidth(const InferenceRow& row, const InferenceCase& c, const Figure& f) {
  const double all = static_cast<double>(devices(c.layout));
  const bool of_one = figure_key(f.key)->share == Share::device;
  return (of_one ? all / static_cast<double>(row.hardware.count) : all) * c.cluster().device.bandwidth;
}

void check_bandwidth(const InferenceRow& row, const InferenceCase& c, const Figure& f) {
  const double most = most_bandwidth(row, c, f).value;
  const bool cached = weights_bytes(c.arch, c.plan, c.layout) <= c.cluster().device.cache;
  if (f.value <= most || cached) return;
  refuse_measured(row.where, f.key,
                  fmt::format("{:.5g} GB/s are more than the {:.5g} GB/s of {}; give bytes read per second in GB",
                              f.value / 1e9, most / 1e9, c.on.hardware.title));
}

}  // namespace

void check_step(const TrainingRow& row, const TrainingCase& c) {
  if (!c.step) return;
  if (c.measured_as == "iteration_time_s" && !states_batch(row.batch))
    refuse_lacking(row.where, "global", c.measured_as, "means nothing without the sequences of a step");
  if (!c.on.preset) return;
  const double peak = c.cluster().device.peak(c.plan.precision).value * static_cast<double>(row.hardware.count);
  const double utilization = least_step_flops(c) / (c.step->value * peak);
  if (utilization <= 1) return;
  refuse_measured(
      row.where, c.measured_as,
      fmt::format("it is an MFU of {:.3g}, above 1: a step of {:.3g} s is faster than {} {} multiply in "
                  "{}; check its unit, the batch and the devices",
                  utilization, c.step->value, row.hardware.count, c.on.hardware.title, c.plan.precision.name()));
}

void check_memories(const TrainingRow& row, const TrainingCase& c) {
  for (const MeasuredMemory& m : c.memory) check_room(row.where, m.key, m.bytes, c.on.hardware, 1);
}

void check_figure(const InferenceRow& row, const InferenceCase& c, const Figure& f) {
  if (f.quantity == FigureKind::bandwidth) check_bandwidth(row, c, f);
  if (f.quantity == FigureKind::memory) check_room(row.where, f.key, f.value, c.on.hardware, f.devices);
  if (c.kind == BatchKind::capacity) return;
  check_lengths(row, f);
  check_clients(row, c, f);
}

}  // namespace llmcalc
