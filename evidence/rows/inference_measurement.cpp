#include "evidence/rows/inference_measurement.hpp"

#include <fmt/format.h>

#include "ask/request/options/options.hpp"
#include "evidence/rows/engine_fields.hpp"
#include "evidence/rows/figures.hpp"
#include "evidence/rows/head_json.hpp"
#include "evidence/rows/json_fields.hpp"
#include "evidence/rows/measured_request.hpp"
#include "presets/formats/held_formats.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

// ---- Fields

template <typename Io, typename C>
void load_fields(Io& io, C& c) {
  io("kind", c.kind, BatchKind::fixed);
  io("start", c.start);
  io("batch", c.batch, static_cast<double>(c.plan.batch));
  io("prompt", c.prompt, static_cast<double>(c.plan.prompt));
  io("generate", c.generate, static_cast<double>(c.plan.generate));
  io("cached", c.cached);
  io("cache_room", c.room);
  io("decode_context", c.decode_context);
  io("decode_window", c.decode_window);
  io("length_ratio", c.length_ratio);
  io("requests", c.requests);
  io("nodes", c.nodes, Count{1});
  io("engines", c.engines, Count{1});
  io("drafts", c.drafts);
  io("acceptance", c.acceptance);
}

template <typename Io, typename C>
void weight_fields(Io& io, C& c) {
  io("bits_per_weight", c.bits_per_weight);
  io("bytes", c.weight_bytes);
  io("name", c.weights_name);
}

template <typename Io, typename C>
void inference_case_fields(Io& io, C& c) {
  io("devices", c.head.gpus, devices(c.layout));
  io("assumed", c.assumed);
  io("input_assumed", c.input_assumed);
  io("work_assumed", c.work_assumed);
  io.object("left_out", [&](auto& in) { in("row", c.skip); });
}

/// Facts about the run that are not inputs, and the working format if it is not the default.
template <typename Io, typename C>
void run_fields(Io& io, C& c, const Plan& usual) {
  io.object("load", [&](auto& in) { load_fields(in, c); });
  io.object("weights", [&](auto& in) { weight_fields(in, c); });
  io.object("limits", [&](auto& in) { limit_fields(in, c); });
  io("working_precision", c.plan.working, usual.working);
  io("once_per_rank", c.layout.once_per_rank);
  io("granted_bytes", c.granted, granted_memory(visible_memory(c.on.hardware), c.plan.memory_utilization));
}

// ---- The request

Request request_of(const InferenceCase& c) {
  Request r;
  r.model.arch = c.arch;
  r.hardware = c.on.hardware;
  r.plan = c.plan;
  r.layout = c.layout;
  r.parts = inference_parts_of_request;
  return r;
}

/// Inputs of the case. A format mix is written by name, which determines its bytes.
json::Value inputs_of(const InferenceCase& c) {
  json::Value v = inputs_json(request_of(c));
  if (!c.weights_name.empty() && c.plan.weight_precision.any_held()) v["weight_precision"] = "gguf:" + c.weights_name;
  return v;
}

/// Inputs of the engines for prompts, and their number.
json::Value prompt_pool_json(InferenceCase c) {
  c.layout = c.prompt_pool->layout;
  return {{"engines", c.prompt_pool->engines}, {"inputs", inputs_of(c)}};
}

void read_prompt_pool(const json::Object& row, InferenceCase& c) {
  if (!row.has("prompt_pool")) return;
  const json::Object pool = row.object("prompt_pool");
  json::Value copy = row.value();
  copy["inputs"] = pool.object("inputs").value();
  MeasurementHead head = c.head;
  const json::Object as_row(copy, row.where());
  c.prompt_pool = PromptPool{read_measured_request(as_row, inference_parts_of_request, head).request.layout,
                             pool.positive("engines")};
  pool.refuse_unread();
}

void read_request(const json::Object& row, InferenceCase& c) {
  const auto [r, machine] = read_measured_request(row, inference_parts_of_request, c.head);
  c.arch = r.model.arch;
  c.plan = r.plan;
  c.layout = r.layout;
  c.on = {.hardware = machine.card, .like = machine.like, .preset = machine.preset};
}

// ---- Measured values

json::Value measured_json(const InferenceCase& c) {
  json::Value v = json::Value::object();
  for (const Figure& f : c.figures) v[f.key] = f.said;
  return v;
}

json::Value doubts_json(const InferenceCase& c) {
  json::Value v = json::Value::object();
  for (const Figure& f : c.figures)
    if (!f.doubt.empty() && f.value > 0) v[f.key] = f.doubt;
  return v;
}

void read_figures(const json::Object& row, InferenceCase& c) {
  const json::Object o = row.object("measured");
  MeasuredValues measured;
  for (const FigureKey& key : figure_keys())
    if (o.has(key.key)) measured.emplace_back(std::string(key.key), o.number_or(key.key, 0));
  o.refuse_unread();
  if (measured.empty()) throw InputError(o.where() + ": no figure; see 'llmcalc accuracy --help'");
  c.figures = figures_of(measured, c);
  if (!row.has("doubts")) return;
  const json::Object doubts = row.object("doubts");
  for (Figure& f : c.figures)
    if (f.doubt.empty()) f.doubt = doubts.text_or(f.key, "");
}

}  // namespace

json::Value inference_measurement_json(const InferenceCase& c, const json::Value& stated) {
  json::Value v = head_json(c.head, "infer");
  FieldWriter io(v);
  if (c.skip.empty()) {
    const Request usual = write_measured_request(v, c.head, request_of(c), c.on.like, inputs_of(c));
    io.object("engine", [&](auto& in) { engine_fields(in, c); });
    run_fields(io, c, usual.plan);
    if (c.prompt_pool) v["prompt_pool"] = prompt_pool_json(c);
    v["measured"] = measured_json(c);
    if (json::Value doubts = doubts_json(c); !doubts.empty()) v["doubts"] = std::move(doubts);
  }
  inference_case_fields(io, c);
  v["stated"] = stated;
  return v;
}

InferenceCase read_inference_measurement(const json::Object& row, const std::string& where) {
  InferenceCase c{.head = read_head(row, where)};
  if (row.has("left_out")) c.skip = row.object("left_out").text_or("row", "");
  FieldReader io(row);
  if (c.skip.empty()) {
    read_request(row, c);
    read_prompt_pool(row, c);
    read_engine(row, c);
    run_fields(io, c, Plan(c.plan));
    inference_case_fields(io, c);
    read_figures(row, c);
  } else {
    inference_case_fields(io, c);
  }
  row.find("stated");
  row.find("command");
  row.refuse_unread();
  return c;
}

}  // namespace llmcalc
