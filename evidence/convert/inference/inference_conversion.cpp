#include "evidence/convert/inference/inference_conversion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "evidence/capacity.hpp"
#include "evidence/case_memory.hpp"
#include "evidence/convert/inference/beyond_decoding.hpp"
#include "evidence/convert/inference/doubts.hpp"
#include "evidence/convert/inference/inference_limits.hpp"
#include "evidence/convert/inference/inference_ranks.hpp"
#include "evidence/convert/inference/inference_row.hpp"
#include "evidence/convert/row_arch.hpp"
#include "evidence/convert/words/cluster_words.hpp"
#include "evidence/convert/words/engine_words.hpp"
#include "evidence/logs/served_model.hpp"
#include "evidence/names/format_name.hpp"
#include "evidence/names/inference_stack.hpp"
#include "evidence/names/words.hpp"
#include "evidence/rows/figures.hpp"
#include "presets/estimators/engine_memory_table.hpp"
#include "presets/formats/gguf_mix.hpp"
#include "text/date.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

bool notes_say(const InferenceRow& row, std::string_view words) { return Words(row.notes).affirms(words); }

void assume_work(InferenceCase& c, std::string sentence) {
  c.weigh(std::move(sentence));
  c.work_assumed = true;
}

HardwareSaid accelerator_said(const InferenceRow& row) {
  const InferenceHardware& h = row.hardware;
  const auto nodes = h.nodes.value_or(1);
  return {.device = h.accelerator,
          .inside = h.interconnect,
          .between = h.interconnect,
          .memory_gb = h.memory_gb,
          .bandwidth_gb_s = h.peak_bw_gb_s,
          .count = h.count,
          .nodes = nodes,
          .per_node = nodes > 1 ? std::optional(std::max<Count>(1, h.count / nodes)) : std::nullopt,
          .cores = h.gpu_cores};
}

/// How the clients start, from the row's words; absent if unstated.
std::optional<ClientStart> start_called(const std::string& said) {
  const Words words(said);
  if (words.affirms_any({"steady state", "steady", "spread", "staggered"})) return ClientStart::spread;
  if (words.affirms_any({"at once", "together", "request rate inf"})) return ClientStart::together;
  return std::nullopt;
}

std::optional<BatchKind> kind_called(const std::string& said) {
  for (const auto& [name, kind] : {std::pair{"static", BatchKind::fixed},
                                   {"", BatchKind::fixed},
                                   {"concurrency", BatchKind::concurrency},
                                   {"concurrent", BatchKind::concurrency},
                                   {"maxconcurrency", BatchKind::concurrency},
                                   {"maxinflight", BatchKind::max_inflight},
                                   {"capacity", BatchKind::capacity},
                                   {"throughput", BatchKind::throughput},
                                   {"latency", BatchKind::fixed},
                                   {"fixed", BatchKind::fixed},
                                   {"batch", BatchKind::fixed},
                                   {"staticbatch", BatchKind::fixed},
                                   {"singlestream", BatchKind::fixed},
                                   {"closedloop", BatchKind::concurrency},
                                   {"burst", BatchKind::max_inflight},
                                   {"offline", BatchKind::max_inflight}})
    if (run_together(said) == name) return kind;
  return std::nullopt;
}

/// Weight format that the row states or, if the row states none, the format in the model's name ("...-AWQ").
std::string weights_said(const InferenceRow& row, InferenceCase& c) {
  const std::string in_name = format_in_name(row.model.name);
  if (!leaves_format_open(row.weights) || in_name.empty()) return row.weights;
  c.weigh(fmt::format("weights in {}, from the name {}: the row does not state their format", in_name,
                      in_quotes(row.model.name)));
  return in_name;
}

/// Replaces a 16-bit format that the device does not support with the other 16-bit format or, if necessary, fp32.
void use_own_half(const RowCluster& on, FormatsSaid& f) {
  const Device& device = on.cluster().device;
  if (device.peak(f.working).value > 0) return;
  const DType named = f.working;
  for (const DType own : {dtypes::bf16, dtypes::fp16, dtypes::fp32})
    if (device.peak(f.working).value <= 0) f.working = own;
  if (f.precision == named) f.precision = f.working;
  f.assumed.push_back(fmt::format("matmuls in {}: {} does not support matmuls in {}", f.working.name(),
                                  on.hardware.title, named.name()));
}

/// Adapts formats to the model: expands a llama-quantize mix and, in a model without experts, applies the experts'
/// format to all blocks.
void use_model_formats(FormatsSaid& f, const Arch& arch) {
  if (!f.mix.empty()) {
    f.weights = gguf_mix(arch, f.mix, "");  // the row does not show which matrices a family fuses
    f.name = f.mix;
  }
  if (f.experts_alone && !arch.has_experts())
    f.weights[Component::attention] = f.weights[Component::mlp] = f.weights[Component::experts];
}

void use_format(const InferenceRow& row, InferenceCase& c) {
  const bool has_bf16 = c.cluster().device.peak(dtypes::bf16).value > 0;
  FormatsSaid f = formats_of(weights_said(row, c), row.kv, row.activations, has_bf16 ? dtypes::bf16 : dtypes::fp16);
  if (!f.skip.empty()) c.skip = f.skip;
  use_own_half(c.on, f);
  if (f.skip.empty()) use_model_formats(f, c.arch);
  c.plan.weight_precision = f.weights;
  c.plan.precision = c.cluster().device.peak(f.precision).value > 0 ? f.precision : f.working;
  c.plan.working = f.working;
  c.plan.kv_precision = f.cache;
  c.bits_per_weight = f.bits_per_weight;
  c.weight_bytes = row.file_size_gib ? std::optional(*row.file_size_gib * 0x1p30) : f.weight_bytes;
  c.weights_name = f.name;
  c.input_assumed |= f.weighty;
  c.assumed.insert(c.assumed.end(), f.assumed.begin(), f.assumed.end());
}

/// Default prompt and answer lengths in tokens, for rows that do not state them.
constexpr double usual_prompt = 8, usual_answer = 128;
/// Default prompt tokens per device and pass, for prefill-only runs that do not state a batch.
constexpr double usual_prefill_tokens = 16384;

/// Clause about a missing prompt length: quotes the row's text about its input, or names the missing keys.
std::string prompt_in_words(const InferenceBatch& b) {
  const std::string& said = b.input_note.empty() ? b.context_said : b.input_note;
  if (said.empty()) return "the row states neither \"input_len\" nor \"context_len\"";
  return fmt::format("the row says \"{}\"", said);
}

void use_lengths(const InferenceRow& row, InferenceCase& c) {
  const InferenceBatch& b = row.batch;
  c.cached = b.cached_context.value_or(0);
  c.room = b.max_model_len.value_or(c.kind == BatchKind::capacity ? b.context_len.value_or(0) : 0);
  c.generate = b.output_len.value_or(0);
  c.prompt = b.input_len.value_or(0);
  c.length_ratio = b.length_range_ratio;
  c.requests = b.num_requests;
  if (c.kind == BatchKind::capacity) return;
  const auto context = b.context_len ? b.context_len : b.decode_context_mean;
  if (!b.input_len && !context) {
    c.prompt = usual_prompt;
    assume_work(c, fmt::format("prompts of {} tokens: {}", usual_prompt, prompt_in_words(b)));
  }
  if (!b.output_len && has_figure(row, FigureKind::output_rate)) {
    c.generate = usual_answer;
    assume_work(c, fmt::format("answers of {} tokens: the row does not state their length", usual_answer));
  }
  // A decode-only window, characterized by its mean context.
  c.decode_window = context && c.prompt == 0 && !has_figure(row, FigureKind::prefill_time);
  if (context && c.prompt == 0) c.prompt = std::max(1.0, *context - c.generate / 2);
}

std::string assumed_batch(const InferenceCase& c) {
  if (c.kind != BatchKind::throughput) return "one sequence at a time: the row does not state the batch";
  return fmt::format("{:.0f} sequences at once, {:g} prompt tokens of each device: the row does not state the batch",
                     c.batch, usual_prefill_tokens);
}

/// Number of batches of the stated size: one in total, or one per device or replica.
double batches_of(const std::string& scope, double replicas_of_all, double devices_of_all) {
  const Words words(scope);
  if (words.affirms_any({"per gpu", "per device", "per chip", "per accelerator"})) return devices_of_all;
  const bool of_replica = words.affirms_any(
      {"per rank", "per replica", "per dp rank", "per engine", "per instance", "per dp", "per server"});
  return of_replica ? replicas_of_all : 1;
}

void use_batch(const InferenceRow& row, InferenceCase& c) {
  const InferenceBatch& b = row.batch;
  const double all = static_cast<double>(c.schedulers()), per_replica = static_cast<double>(replica_devices(c.layout));
  const double per_all = all * per_replica;
  c.batch = b.batch.value_or(b.num_requests.value_or(1)) * (b.batch ? batches_of(b.scope, all, per_all) : 1);
  const bool unstated = !b.batch && !b.num_requests && c.kind != BatchKind::capacity;
  if (unstated && (b.tokens_per_gpu || c.kind == BatchKind::throughput))
    c.batch = std::max(1.0, b.tokens_per_gpu.value_or(usual_prefill_tokens) / std::max(1.0, c.prompt)) * per_all;
  if (unstated && !b.tokens_per_gpu) assume_work(c, assumed_batch(c));
  if (c.kind == BatchKind::max_inflight)
    c.assumed.push_back("as many requests in flight as were sent, or as memory holds");
  if (b.kv_limited_estimate.value_or(false))
    c.assumed.push_back(
        "the requests in flight are fewer than the clients: the row estimates that memory holds no more");
  const auto whole = [](double x) { return std::max<Count>(1, std::llround(std::min(x, 0x1p40))); };
  c.plan.batch = whole(std::ceil(c.batch / all));
  c.plan.prompt = whole(c.prompt);
  c.plan.generate = whole(c.generate);
  c.plan.memory_utilization = b.gpu_memory_utilization.value_or(0.9);
}

/// Number of requests of the row's mean length that fit in the cache.
double room_for_requests(const InferenceCase& c) {
  return cache_tokens(c) / std::max(1.0, c.cached + c.prompt + c.generate);
}

/// Assumes a cache in fp8 if the row does not state its format and the clients fit only with such a cache.
void assume_narrow_cache(const InferenceRow& row, InferenceCase& c) {
  const bool unstated = row.kv.empty() || Words(row.kv).affirms("not stated");
  if (!unstated || c.kind != BatchKind::concurrency || room_for_requests(c) >= c.batch) return;
  InferenceCase narrow = c;
  narrow.plan.kv_precision = *dtype("fp8");
  if (room_for_requests(narrow) < c.batch) return;
  c.plan.kv_precision = narrow.plan.kv_precision;
  c.assumed.push_back("a KV cache in fp8: the row does not state its format, and its clients do not fit otherwise");
}

/// Records an assumption if the cache holds fewer requests than the row has clients. In that case, the run had more
/// memory, a lower precision or an offload that the row does not state.
void note_room(const InferenceRow& row, InferenceCase& c) {
  if (c.kind != BatchKind::concurrency || row.batch.kv_limited_estimate.value_or(false)) return;
  const double room = std::floor(room_for_requests(c));
  if (room >= c.batch) return;
  c.assumed.push_back(
      fmt::format("room for {:.0f} of {:g} requests at once, by the formats and the share of memory assumed here",
                  std::max(1.0, room), c.batch));
}

/// Doubt about a first token if, by the assumed formats and memory, most clients would wait for room in the cache.
std::string queue_doubt(FigureKind q, const InferenceCase& c) {
  const bool waits = q == FigureKind::first_token && c.kind == BatchKind::concurrency;
  if (!waits || 2 * std::floor(room_for_requests(c)) >= c.batch) return "";
  return "by the assumed formats and memory, the cache holds less than half of the clients";
}

void note_doubts(const InferenceRow& row, InferenceCase& c) {
  if (row.measured_at("ms_per_token_per_batch_item") && c.batch > 1)
    c.weigh(fmt::format("\"ms_per_token_per_batch_item\" is interpreted as the step time divided by its {:g} sequences",
                        c.batch));
  if (!c.engine.known) c.weigh(fmt::format("an engine that replays captured graphs: {}", unknown_engine(row.engine)));
  if (notes_say(row, "ws 2d") || notes_say(row, "wg xyz") || c.engine.name == "jax")
    c.weigh("two-dimensional layouts count as plain tensor parallelism");
  if (row.hardware.power_limit_w)
    c.assumed.push_back(
        fmt::format("the device's usual clocks: it was limited to {:g} W", *row.hardware.power_limit_w));
}

/// Reason that a plan cannot express the row; empty if it can.
std::string not_said(const InferenceRow& row) {
  if (!kind_called(lower(row.batch.kind))) return fmt::format("unknown kind of batch {}", in_quotes(row.batch.kind));
  return beyond_decoding(row);
}

void use_row_model(const InferenceRow& row, InferenceCase& c) {
  const RowArch model = arch_of(row);
  c.arch = model.arch;
  c.skip = model.skip;
  c.assumed.insert(c.assumed.end(), model.assumed.begin(), model.assumed.end());
  c.input_assumed |= model.weighty;
}

void use_accelerator(const InferenceRow& row, const Devices& devices, InferenceCase& c) {
  const HardwareSaid said = accelerator_said(row);
  c.on = cluster_of(said, devices);
  c.skip = c.on.skip;
  const bool memory_alone = kind_called(lower(row.batch.kind)) == BatchKind::capacity;
  if (c.skip.empty() && !memory_alone) c.skip = without_bandwidth(said, c.on);
  c.input_assumed |= !c.on.preset;
  c.assumed.insert(c.assumed.end(), c.on.assumed.begin(), c.on.assumed.end());
}

void use_requests(const InferenceRow& row, InferenceCase& c) {
  c.kind = *kind_called(lower(row.batch.kind));
  if (c.kind == BatchKind::concurrency) c.start = start_called(row.batch.start);
  c.engine = engine_name(row.engine, row.notes + "; " + row.other_keys);
  if (c.engine.name == "llama.cpp" && lower(row.back_end) == "vulkan") c.engine.name = "llama.cpp-vulkan";
  if (c.engine.known && c.engine.version.empty())
    c.engine.version = version_said(is_behind_dynamo(row.engine) ? "" : row.version, row.date);
  use_lengths(row, c);
  use_batch(row, c);
  use_limits(row, c);
  note_doubts(row, c);
  assume_narrow_cache(row, c);
  note_room(row, c);
  c.nodes = row.hardware.nodes.value_or(1);
  c.decode_context = row.batch.decode_context_mean ? row.batch.decode_context_mean : row.batch.context_len;
  c.figures = figures_of(row.measured, c);
  for (Figure& f : c.figures)
    if (f.doubt.empty()) f.doubt = doubt_of(f.quantity, row);
  for (Figure& f : c.figures)
    if (f.doubt.empty()) f.doubt = queue_doubt(f.quantity, c);
  if (c.figures.empty()) c.skip = "no measurement has a known key";
}

MeasurementHead head_of(const InferenceRow& row) {
  return {.id = row.id,
          .where = row.where,
          .family = row.source.title.empty() ? "not stated" : row.source.title,
          .quality = row.tier,
          .date = leading_date(row.date).value_or(""),
          .model = row.model.name,
          .source = row.source,
          .gpus = row.hardware.count};
}

}  // namespace

InferenceCase inference_case(const InferenceRow& row, const Devices& devices) {
  InferenceCase c{.head = head_of(row)};
  try {
    c.skip = not_said(row);
    if (c.skip.empty()) use_row_model(row, c);
    if (c.skip.empty()) use_accelerator(row, devices, c);
    if (c.skip.empty()) use_ranks(row, c);
    if (c.skip.empty()) use_drafts(row, c);
    if (c.skip.empty()) use_format(row, c);
    if (c.skip.empty()) c.skip = weights_beyond_memory(c);
    if (c.skip.empty()) use_requests(row, c);
  } catch (const Overflow&) {
    c.skip = "a product of its numbers exceeds 2^63";
  }
  return c;
}

}  // namespace llmcalc
