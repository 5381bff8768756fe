#include "report/schema.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "ask/request/options.hpp"
#include "report/explain/definition.hpp"
#include "report/report.hpp"

namespace llmcalc {
namespace {

using json::Value;

/// A table that is not a section of a report: an array of objects.
struct SchemaTable {
  std::string_view key, meaning;
};
constexpr std::array tables{
    SchemaTable{"stages", "ranks of the pipeline: layers, micro-batches in flight, memory of one GPU"},
    SchemaTable{"nearest",
                "where nothing keeps the limits: for each, the times of requests alone that come nearest to it"},
    SchemaTable{"plans", "the best plans, best first: layout, step or serving, memory, why, and what to type"},
    SchemaTable{"numbers", "numbers of GPUs that were tried, the best plan on each, and why it won or lost"},
    SchemaTable{"tried", "values that were tried for the largest, whether a plan holds them, and why not"},
    SchemaTable{"rivals", "hardware that was compared: GPUs, layout, step, the whole run, and why it won or lost"},
    SchemaTable{"left_out", "hardware that could not be compared, or models that cannot be run, and why"},
    SchemaTable{"timeline", "what a server was doing over time: requests, KV cache, tokens"},
    SchemaTable{"neighbours", "plans that differ from the best by one step, and why they lost"},
    SchemaTable{"front",
                "plans of which none is both faster and smaller than another, or gives both more per user and per GPU"},
    SchemaTable{"runnable", "models and weight formats that a device can run: memory, context, batch, speeds"},
    SchemaTable{"rows", "measurements and their predictions: id, family, quantity, error, what was assumed"},
    SchemaTable{"skipped", "measurements that could not be predicted, and why"},
    SchemaTable{"summary", "errors of groups of measurements, as fractions"},
    SchemaTable{"throughput", "generated tokens per second of recorded runs over time, predicted and measured"},
    SchemaTable{"booking", "a device's memory by a log, term by term, beside what is predicted"},
    SchemaTable{"sides", "the reports that are compared"},
    SchemaTable{"ops", "operators of a training micro-batch, one layer of each kind, one GPU"},
    SchemaTable{"prefill_ops", "the same of a prompt"},
    SchemaTable{"decode_ops", "the same of a decode step"},
    SchemaTable{"groups", "tensors of a checkpoint by group: number, formats, bytes"},
    SchemaTable{"not_recognised", "tensors of a checkpoint whose names tell no group"},
    SchemaTable{"models", "presets of models"},
    SchemaTable{"software", "profiles of software"},
    SchemaTable{"devices", "presets of hardware"},
    SchemaTable{"dtypes", "number formats"},
    SchemaTable{"families", "values of model_type that the importer reads"},
    SchemaTable{"fits", "compute-optimal sizes under each scaling law"},
    SchemaTable{"algorithms", "a collective by each algorithm"},
    SchemaTable{"quantities", "explained quantities: formula, symbols, numbers, source"},
    SchemaTable{"rules", "rules of thumb of the cheat sheet"},
    SchemaTable{"differences", "where engine and textbook, prediction and measurement, or compared reports differ"},
    SchemaTable{"differences_2", "of the third report against the first"},
    SchemaTable{"differences_3", "of the fourth report against the first"},
    SchemaTable{"changes", "where a saved report and today's differ"},
    SchemaTable{"cases", "models of a validation suite"},
    SchemaTable{"training", "a training step, predicted and measured"},
    SchemaTable{"inference", "prefill and decode, predicted and measured"},
    SchemaTable{"times", "times, predicted and measured"},
    SchemaTable{"elementwise", "element-wise operators, predicted and measured"},
    SchemaTable{"tensor_work", "what tensor cores executed beside the FLOPs of the operators"},
    SchemaTable{"counters", "what the device's counters saw"},
    SchemaTable{"energy", "energy by phase"},
    SchemaTable{"device_memory", "all memory of the device by named terms"},
    SchemaTable{"held_out", "perplexity on held-out text"},
    SchemaTable{"matmul", "measured matrix products"},
    SchemaTable{"rates", "numbers of a hardware file from tables of operators, and the rows behind each"},
    SchemaTable{"residuals", "layers of tables of operators: predicted / measured, medians"},
    SchemaTable{"with_and_without_cache", "the same generation with the KV cache and without"},
};
/// Objects that are not sections of a model's report.
constexpr std::array objects{
    SchemaTable{"model", "the model: name, source, published parameters"},
    SchemaTable{"hardware", "the device: name, source, memory, peaks, links"},
    SchemaTable{"largest", "the largest batch, sequence, micro-batch or number of layers that a plan holds"},
    SchemaTable{"searched", "plans that a search compared, and what it left out"},
    SchemaTable{"layout", "ranks of every kind of parallelism, the schedule, micro-batches per replica"},
    SchemaTable{"conventions", "what is counted and what is left out, in words"},
    SchemaTable{"diagnosis", "what a log says: its kind, and the numbers that are no term of a device's memory"},
    SchemaTable{"checkpoint", "tensors and bytes of a checkpoint"},
    SchemaTable{"link", "the link of a collective"},
    SchemaTable{"reached_link", "what collectives reach of it in published training runs"},
    SchemaTable{"machine", "the machine that was measured"},
    SchemaTable{"attention_core", "which code computed attention"},
    SchemaTable{"utilization", "utilisation of a measured step, by convention"},
    SchemaTable{"learnt_model", "the model that was trained"},
    SchemaTable{"engine_memory", "what a serving engine holds on a GPU, by named terms, and its KV cache"},
    SchemaTable{"steady_state", "the capacity of a server by the limits of a pass"},
    SchemaTable{"learning", "a training run on a text"},
    SchemaTable{"generation", "a generated text and its speed"},
    SchemaTable{"prediction", "how well a model predicts a text"},
};

/// Numbers of a served run that have no formula.
constexpr std::array served_numbers{
    SchemaTable{"counted_requests", "answers that rates are made of: of users those while all ask, else all"},
    SchemaTable{"counted_s", "the time in which these came [s]"},
    SchemaTable{"throughput_in_tok_s", "tokens of prompts per second"},
    SchemaTable{"throughput_out_tok_s", "answered tokens per second"},
    SchemaTable{"throughput_req_s", "answered requests per second"},
    SchemaTable{"requests", "requests that were answered"},
    SchemaTable{"duration_s", "from the first arrival to the last token [s]"},
    SchemaTable{"watts", "power of all GPUs, cooling included [W]"},
    SchemaTable{"capacity_req_s", "the most requests per second that are answered"},
    SchemaTable{"overloaded_req_s",
                "requests per second that are answered while half more come; where a queue changes it"},
    SchemaTable{"duty_cycle", "throughput_req_s over capacity_req_s"},
    SchemaTable{"goodput_req_s", "requests per second within --slo-ttft and --slo-tpot"},
    SchemaTable{"slo_met", "share of requests within them"},
    SchemaTable{"utilization", "share of the time that a pass runs, mean over engines"},
    SchemaTable{"kv_occupancy", "share of the KV cache in use, mean over time"},
    SchemaTable{"kv_occupancy_max", "the same at most"},
    SchemaTable{"prefix_hits", "share of the prompts' tokens that were in the cache"},
    SchemaTable{"preemptions", "sequences that gave up their blocks for others"},
    SchemaTable{"prompt_share", "share of the passes' time that prompts take"},
};
constexpr std::array served_times{
    SchemaTable{"ttft_s", "time to the first token [s]"},
    SchemaTable{"tpot_s", "time per token behind the first, mean of a request [s]"},
    SchemaTable{"itl_s", "time between two tokens [s]"},
    SchemaTable{"latency_s", "time to the last token [s]"},
};

Value described(std::string type, std::string_view meaning) {
  return {{"type", std::move(type)}, {"description", meaning}};
}

/// Bytes and parameters are integers. FLOPs may be means and are numbers.
std::string type_of(const explain::Definition& d) {
  if (d.path.ends_with(".fits") || d.path.ends_with(".reached")) return "boolean";
  if (d.path.ends_with(".bound")) return "string";
  return d.unit == "bytes" || d.unit == "parameters" ? "integer" : "number";
}

/// The object that holds the last part of a dotted path; created if missing.
Value& at(Value& schema, std::string_view path) {
  Value* here = &schema;
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
    here = &(*here)["properties"][std::string(path.substr(0, dot))];
    (*here)["type"] = "object";
    (*here)["additionalProperties"] = false;
    path.remove_prefix(dot + 1);
  }
  return (*here)["properties"][std::string(path)];
}

std::string meaning(const explain::Definition& d) {
  std::string s(d.title);
  if (!d.unit.empty()) s += fmt::format(" [{}]", d.unit);
  return d.convention.empty() ? s : s + "; " + std::string(d.convention);
}

/// A value of any type but null: unknown or inapplicable values are absent.
Value scalar() { return {{"type", {"string", "number", "boolean"}}}; }

/// One format; or "all", the format of most components, and exceptions by name.
Value formats() { return {{"type", {"string", "object"}}, {"additionalProperties", {{"type", "string"}}}}; }

void add_inputs(Value& schema) {
  Value& inputs = schema["properties"]["inputs"];
  inputs = described("object", "every option in effect, under its name");
  for (const Option& o : options()) {
    if (o.field.effective == nullptr) continue;
    const bool by_component = o.flag == "--weight-precision" || o.flag == "--base-precision";
    Value& option = inputs["properties"][o.key()] = by_component ? formats() : scalar();
    option["description"] = fmt::format("{}: {}", o.flag, o.help);
    if (o.key() == "weight_precision") option["type"].push_back("object");  // a format per component
  }
  inputs["properties"]["files"] = {{"type", {"array", "string"}}, {"description", "the files that were read"}};
  inputs["properties"]["keys"] = described("object", "show: what a GGUF file says of its model");
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
  schema["properties"]["command"] = described("string", "the command that was asked");
  add_sentences(schema, "verdict", "the answer, a line each: does it fit, how long, bound by what");
  add_sentences(schema, "notes", "what a reader must know to trust the numbers");
  schema["required"] = {"llmcalc", "command"};
}

}  // namespace

Value report_json_schema() {
  Value schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
               {"title", fmt::format("A report of llmcalc, schema {}", report_schema)},
               {"type", "object"},
               {"additionalProperties", false},
               {"properties", Value::object()}};
  add_head(schema);
  add_inputs(schema);
  for (const explain::Definition& d : explain::definitions())
    if (d.section() != "stages" && d.section() != "layout") at(schema, d.path) = described(type_of(d), meaning(d));
  at(schema, "parameters.published") = described("integer", "the published number of parameters");
  at(schema, "step.mfu_causal_exact") = described("number", "step.mfu where only causal pairs count; above 100 % only");
  at(schema, "memory.process.software") =
      described("string", "the profile of --software, or the usual one, whose training process is estimated");
  at(schema, "estimate.class") =
      described("string", "runs that are predicted about as well: dense, assumed input, experts");
  at(schema, "inference_estimate.software") =
      described("string", "the profile of --software, or the usual engine, that the estimate is for");
  at(schema, "estimate.software") = described("string", "the profile of --software that the estimate is for");
  for (const char* path :
       {"inference_estimate.prefill_class", "inference_estimate.decode_class", "inference_estimate.whole_class",
        "inference_estimate.ttft_class", "inference_estimate.tpot_class"})
    at(schema, path) = described("string", "figures that are predicted about as well, or assumed input");
  for (const char* path : {"estimate.parameters", "inference_estimate.parameters"})
    at(schema, path) = described("string", "when the estimator's parameters were fitted, and to what");
  at(schema, "target.reached") = described("boolean", "whether the plan as it is reaches the target, and fits");
  at(schema, "target.weight_precision") = described("string", "the first of fp8, int8, int4-g128 that reaches it");
  for (const auto& [key, of] :
       {std::pair{"target.no_bandwidth", "memory bandwidth"}, std::pair{"target.no_batch", "batch"},
        std::pair{"step_target.no_bandwidth", "memory bandwidth"}, std::pair{"step_target.no_peak", "matmul peak"},
        std::pair{"step_target.no_link", "bandwidth of the link"},
        std::pair{"step_target.no_network", "bandwidth of the network"},
        std::pair{"step_target.no_gpus", "number of GPUs"},
        std::pair{"target.no_tp", "number of tensor-parallel devices"},
        std::pair{"target.no_weight_precision", "format of weights"}})
    at(schema, key) = described("string", fmt::format("why no {} reaches the target", of));
  at(schema, "decode.compute_bound") = described("string", "\"never\" where no batch is compute-bound");
  for (const SchemaTable& t : served_numbers)
    at(schema, fmt::format("serving.{}", t.key)) = described("number", t.meaning);
  for (const SchemaTable& t : served_times)
    for (const char* of : {"mean", "p50", "p90", "p95", "p99", "p999"})
      at(schema, fmt::format("serving.{}.{}", t.key, of)) = described("number", fmt::format("{}: {}", t.meaning, of));
  for (const SchemaTable& t : objects) schema["properties"][std::string(t.key)] = described("object", t.meaning);
  for (const SchemaTable& t : tables) {
    Value& table = schema["properties"][std::string(t.key)] = described("array", t.meaning);
    table["items"] = {{"type", "object"}};
  }
  return schema;
}

}  // namespace llmcalc
