#include "report/schema/report_schema.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "ask/request/options/options.hpp"
#include "report/explain/definition.hpp"
#include "report/report.hpp"
#include "report/schema/schema_head.hpp"

namespace llmcalc {
namespace {

using json::Value;

/// A table that is not a section of a report: an array of objects.
struct SchemaTable {
  std::string_view key, meaning;
};
constexpr std::array tables{
    SchemaTable{"stages", "pipeline ranks: layers, micro-batches in flight, memory of one GPU"},
    SchemaTable{"remedies", "single options that make the plan fit, best first: key under inputs, memory, time, GPUs"},
    SchemaTable{"nearest", "if no plan meets the limits: for each limit, the closest times of an isolated request"},
    SchemaTable{"plans", "the best plans, best first: layout, step or serving, memory, reason, and command line"},
    SchemaTable{"numbers", "GPU counts tried, the best plan for each, and why it won or lost"},
    SchemaTable{"tried", "values tried for the largest, whether a plan fits, and the reason if not"},
    SchemaTable{"rivals", "compared hardware: GPUs, layout, step, whole run, and why it won or lost"},
    SchemaTable{"left_out", "hardware that could not be compared, or models that cannot be run, and why"},
    SchemaTable{"timeline", "server state over time: requests, KV cache, tokens"},
    SchemaTable{"neighbours", "plans that differ from the best by one step, and why they lost"},
    SchemaTable{"front",
                "Pareto front: plans not dominated in step time and memory, or in throughput per user and per GPU"},
    SchemaTable{"runnable", "models and weight formats that a device can run: memory, context, batch, speeds"},
    SchemaTable{"rows", "measurements and their predictions: id, family, quantity, error, assumptions"},
    SchemaTable{"skipped", "measurements that could not be predicted, and why"},
    SchemaTable{"summary", "errors of groups of measurements, as fractions"},
    SchemaTable{"throughput", "generated tokens per second of recorded runs over time, predicted and measured"},
    SchemaTable{"booking", "device memory from a log, by term, compared with its prediction"},
    SchemaTable{"sides", "compared reports"},
    SchemaTable{"ops", "operators of a training micro-batch, one layer of each kind, one GPU"},
    SchemaTable{"prefill_ops", "operators of a prefill, one layer of each kind, one GPU"},
    SchemaTable{"decode_ops", "operators of a decode step, one layer of each kind, one GPU"},
    SchemaTable{"groups", "tensors of a checkpoint by group: count, formats, bytes"},
    SchemaTable{"not_recognised", "tensors of a checkpoint whose names match no group"},
    SchemaTable{"models", "model presets"},
    SchemaTable{"software", "software profiles"},
    SchemaTable{"capabilities", "features that each software profile can launch"},
    SchemaTable{"versions", "versions of software profiles: release and source"},
    SchemaTable{"devices", "hardware presets"},
    SchemaTable{"dtypes", "number formats"},
    SchemaTable{"families", "values of model_type that the importer reads"},
    SchemaTable{"fits", "compute-optimal sizes under each scaling law"},
    SchemaTable{"algorithms", "a collective by each algorithm"},
    SchemaTable{"quantities", "explained quantities: formula, symbols, numbers, source"},
    SchemaTable{"meanings", "meanings of a word: as a quantity, option, format, schedule or term"},
    SchemaTable{"rules", "rules of thumb of the cheat sheet"},
    SchemaTable{"differences", "where engine and textbook, prediction and measurement, or compared reports differ"},
    SchemaTable{"changes", "differences between a saved report and the current one"},
    SchemaTable{"cases", "models of a validation suite"},
    SchemaTable{"training", "a training step, predicted and measured"},
    SchemaTable{"inference", "prefill and decode, predicted and measured"},
    SchemaTable{"times", "times, predicted and measured"},
    SchemaTable{"elementwise", "element-wise operators, predicted and measured"},
    SchemaTable{"tensor_work", "work executed by tensor cores, compared with the FLOPs of the operators"},
    SchemaTable{"counters", "values of the device counters"},
    SchemaTable{"energy", "energy by phase"},
    SchemaTable{"device_memory", "all device memory by named terms"},
    SchemaTable{"held_out", "perplexity on held-out text"},
    SchemaTable{"matmul", "measured matmuls"},
    SchemaTable{"rates", "values of a hardware file derived from operator tables, with the rows used for each"},
    SchemaTable{"residuals", "layers in operator tables: predicted / measured, medians"},
    SchemaTable{"with_and_without_cache", "the same generation with and without the KV cache"},
};
/// Lists of names in `explain` without a quantity; `explain glossary` has objects with their meanings.
constexpr std::array name_lists{
    SchemaTable{"index", "quantities, by section and name"},
    SchemaTable{"terms", "terms of the glossary"},
    SchemaTable{"options", "command-line options"},
    SchemaTable{"formats", "number formats"},
};
/// Objects that are not sections of a model's report.
constexpr std::array objects{
    SchemaTable{"model", "the model: name, source, published parameters"},
    SchemaTable{"hardware", "the device: name, source, memory, peaks, links"},
    SchemaTable{"largest", "the largest batch, sequence, micro-batch or number of layers that fits"},
    SchemaTable{"searched", "plans compared by a search, and plans omitted"},
    SchemaTable{"layout", "parallel sizes, the schedule, micro-batches per replica"},
    SchemaTable{"conventions", "counting conventions, in words"},
    SchemaTable{"diagnosis", "contents of a log: its kind, and the values that are not terms of device memory"},
    SchemaTable{"checkpoint", "tensors and bytes of a checkpoint"},
    SchemaTable{"link", "the link of a collective"},
    SchemaTable{"reached_link", "rates that collectives reach on this link in published training runs"},
    SchemaTable{"machine", "the measured machine"},
    SchemaTable{"attention_core", "the attention implementation used"},
    SchemaTable{"utilization", "utilization of a measured step, by convention"},
    SchemaTable{"learnt_model", "the trained model"},
    SchemaTable{"engine_memory", "memory of a serving engine on one GPU, by named terms, and its KV cache"},
    SchemaTable{"steady_state", "the capacity of a server by the limits of a pass"},
    SchemaTable{"learning", "a training run on a text"},
    SchemaTable{"generation", "a generated text and its speed"},
    SchemaTable{"prediction", "how well a model predicts a text"},
};

/// Quantities of a served run that have no formula.
constexpr std::array served_numbers{
    SchemaTable{
        "counted_requests",
        "completed requests counted in rates: with --users, those completed while all users are active; otherwise all"},
    SchemaTable{"counted_s", "time span of these requests [s]"},
    SchemaTable{"throughput_in_tok_s", "prompt tokens per second"},
    SchemaTable{"throughput_out_tok_s", "generated tokens per second"},
    SchemaTable{"throughput_req_s", "completed requests per second"},
    SchemaTable{"requests", "completed requests"},
    SchemaTable{"duration_s", "from the first arrival to the last token [s]"},
    SchemaTable{"watts", "mean power of all GPUs, cooling included [W]"},
    SchemaTable{"watts_low", "mean power, low end of the 90 % interval [W]"},
    SchemaTable{"watts_high", "mean power, high end of the 90 % interval [W]"},
    SchemaTable{"capacity_req_s", "maximum rate of completed requests per second"},
    SchemaTable{
        "overloaded_req_s",
        "completed requests per second at an arrival rate of 1.5 times the capacity; only if queueing changes it"},
    SchemaTable{"duty_cycle", "throughput_req_s over capacity_req_s"},
    SchemaTable{"goodput_req_s", "requests per second within --slo-ttft and --slo-tpot"},
    SchemaTable{"slo_met", "share of requests that meet these limits"},
    SchemaTable{"utilization", "share of time spent in passes, mean over engines"},
    SchemaTable{"kv_occupancy", "share of the KV cache in use, mean over time"},
    SchemaTable{"kv_occupancy_max", "maximum share of the KV cache in use"},
    SchemaTable{"prefix_hits", "share of prompt tokens found in the cache"},
    SchemaTable{"preemptions", "sequences preempted to free blocks for others"},
    SchemaTable{"prompt_share", "share of pass time spent on prompts"},
};
constexpr std::array served_times{
    SchemaTable{"ttft_s", "time to the first token [s]"},
    SchemaTable{"tpot_s", "time per token after the first, mean per request [s]"},
    SchemaTable{"itl_s", "time between tokens [s]"},
    SchemaTable{"latency_s", "time to the last token [s]"},
};

Value described(std::string type, std::string_view meaning) {
  return {{"type", std::move(type)}, {"description", meaning}};
}

/// Bytes and parameters are integers. FLOPs are numbers, because they may be means.
std::string type_of(const explain::Definition& d) {
  if (d.path.ends_with(".fits") || d.path.ends_with(".reached")) return "boolean";
  if (d.path.ends_with(".bound")) return "string";
  return d.unit == "bytes" || d.unit == "parameters" ? "integer" : "number";
}

/// Keys with the digits of integers above 2^53, next to the integers.
Value exact_texts() {
  return {{"_text$", described("string", "the digits of the integer under the key without _text, if above 2^53")}};
}

/// The object that holds the last part of a dotted path; created if missing.
Value& at(Value& schema, std::string_view path) {
  Value* here = &schema;
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
    here = &(*here)["properties"][std::string(path.substr(0, dot))];
    (*here)["type"] = "object";
    (*here)["additionalProperties"] = false;
    (*here)["patternProperties"] = exact_texts();
    path.remove_prefix(dot + 1);
  }
  return (*here)["properties"][std::string(path)];
}

std::string meaning(const explain::Definition& d) {
  std::string s(d.title);
  if (!d.unit.empty()) s += fmt::format(" [{}]", d.unit);
  return d.convention.empty() ? s : s + "; " + std::string(d.convention);
}

/// A single format, or an object with "all", the format of most components, and exceptions by name.
Value formats_schema() { return {{"type", {"string", "object"}}, {"additionalProperties", {{"type", "string"}}}}; }

void add_inputs(Value& schema) {
  Value& inputs = schema["properties"]["inputs"];
  inputs = described("object", "every option in effect, under its name");
  for (const Option& o : options()) {
    if (o.field.effective == nullptr) continue;
    const bool by_component = o.flag == "--weight-precision" || o.flag == "--base-precision";
    Value& option = inputs["properties"][o.key()] = by_component ? formats_schema() : scalar();
    option["description"] = fmt::format("{}: {}", o.flag, o.help);
  }
  inputs["properties"]["files"] = {{"type", {"array", "string"}}, {"description", "the files that were read"}};
  inputs["properties"]["keys"] = described("object", "show: model metadata of a GGUF file");
  inputs["additionalProperties"] = scalar();  // options of single commands
}

void add_sentences(Value& schema, const char* key, std::string_view meaning) {
  Value& all = schema["properties"][key] = described("array", meaning);
  all["items"] = {{"type", "string"}};
}

void add_head(Value& schema) {
  Value& head = schema["properties"]["llmcalc"] = described("object", "the program that made the report");
  head["properties"] = {{"version", {{"type", "string"}}}, {"schema", {{"const", report_schema}}}};
  head["required"] = {"version", "schema"};
  schema["properties"]["command"] = described("string", "the requested command");
  Value& verdict = schema["properties"]["verdict"] = described("object", "the answer");
  verdict["properties"] = {
      {"fit", {{"enum", {"yes", "likely", "unlikely", "no"}}, {"description", "whether the plan fits into memory"}}},
      {"fit_probability", described("number", "probability that the plan fits")},
      {"text", {{"type", "array"}, {"items", {{"type", "string"}}}}}};
  schema["properties"]["possible"] =
      described("boolean", "false: the plan is not expected to fit, and days, energy and cost are meaningless");
  add_sentences(schema, "notes", "caveats and assumptions of the numbers");
  Value& keyed = schema["properties"]["notes_keyed"] = described("array", "the notes with the key of their kind");
  keyed["items"] = {{"type", "object"},
                    {"properties", {{"key", {{"type", "string"}}}, {"text", {{"type", "string"}}}}},
                    {"required", {"key", "text"}},
                    {"additionalProperties", false}};
  schema["required"] = {"llmcalc", "command"};
}

void add_array(Value& schema, const SchemaTable& t, const Value& item) {
  Value& table = schema["properties"][std::string(t.key)] = described("array", t.meaning);
  table["items"] = {{"type", item}};
}

}  // namespace

Value report_json_schema() {
  Value schema = schema_head("report", fmt::format("llmcalc report, schema {}", report_schema));
  schema.update({{"type", "object"}, {"additionalProperties", false}, {"properties", Value::object()}});
  add_head(schema);
  add_inputs(schema);
  for (const explain::Definition& d : explain::definitions())
    if (d.section() != "stages" && d.section() != "layout") at(schema, d.path) = described(type_of(d), meaning(d));
  at(schema, "parameters.published") = described("integer", "the published number of parameters");
  at(schema, "step.mfu_causal_exact") =
      described("number", "step.mfu counting only causal pairs; present only above 100 %");
  at(schema, "memory.process.software") = described(
      "string",
      "the software profile (--software or the default) from which the training process's memory is estimated");
  at(schema, "estimate.class") =
      described("string", "class of runs with similar prediction error: dense, assumed input, experts");
  at(schema, "inference_estimate.software") =
      described("string", "the software profile of the estimate: --software, or the default engine");
  at(schema, "inference_estimate.software_version") = described("string", "the version of this software in effect");
  at(schema, "estimate.software") = described("string", "the --software profile of the estimate");
  for (const char* path :
       {"inference_estimate.prefill_class", "inference_estimate.decode_class", "inference_estimate.whole_class",
        "inference_estimate.ttft_class", "inference_estimate.tpot_class"})
    at(schema, path) = described("string", "class of figures with similar prediction error, or assumed input");
  for (const char* path : {"estimate.parameters", "inference_estimate.parameters"})
    at(schema, path) = described("string", "date and data of the fit of the estimator parameters");
  at(schema, "target.reached") = described("boolean", "whether the unmodified plan reaches the target and fits");
  at(schema, "target.weight_precision") =
      described("string", "the first of fp8, int8, int4-g128 that reaches the target");
  for (const auto& [key, of] :
       {std::pair{"target.no_bandwidth", "memory bandwidth"}, std::pair{"target.no_batch", "batch"},
        std::pair{"step_target.no_bandwidth", "memory bandwidth"}, std::pair{"step_target.no_peak", "matmul peak"},
        std::pair{"step_target.no_link", "link bandwidth"}, std::pair{"step_target.no_network", "network bandwidth"},
        std::pair{"step_target.no_gpus", "number of GPUs"},
        std::pair{"target.no_tp", "number of tensor-parallel devices"},
        std::pair{"target.no_weight_precision", "weight format"}})
    at(schema, key) = described("string", fmt::format("why no {} reaches the target", of));
  at(schema, "decode.compute_bound") = described("string", "\"never\" if no batch is compute-bound");
  for (const SchemaTable& t : served_numbers)
    at(schema, fmt::format("serving.{}", t.key)) = described("number", t.meaning);
  for (const SchemaTable& t : served_times)
    for (const char* of : {"mean", "p50", "p90", "p95", "p99", "p999"})
      at(schema, fmt::format("serving.{}.{}", t.key, of)) = described("number", fmt::format("{}: {}", t.meaning, of));
  for (const SchemaTable& t : objects) schema["properties"][std::string(t.key)] = described("object", t.meaning);
  for (const SchemaTable& t : tables) add_array(schema, t, "object");
  for (const SchemaTable& t : name_lists) add_array(schema, t, {"string", "object"});
  schema["patternProperties"] = {{"^differences_[0-9]+$", schema["properties"]["differences"]}};
  schema["patternProperties"].begin().value()["description"] = "a later side compared with the first";
  return schema;
}

}  // namespace llmcalc
