#include "evidence/rows/training_measurement.hpp"

#include <fmt/format.h>

#include "ask/request/options/options.hpp"
#include "evidence/names/training_stack.hpp"
#include "evidence/rows/head_json.hpp"
#include "evidence/rows/json_fields.hpp"
#include "evidence/rows/measured_request.hpp"

namespace llmcalc {
namespace {

constexpr Parts training_parts_of_request = part::training | part::step;

// ---- Facts without an option

template <typename Io, typename R>
void recompute_fields(Io& io, R& r, const Recomputed& usual) {
  io("layers", r.layers, usual.layers);
  io("core", r.core, usual.core);
  io("norms", r.norms, usual.norms);
  io("activations", r.activations, usual.activations);
  io("mlp", r.mlp, usual.mlp);
  io("up", r.up, usual.up);
  io("alternate_products", r.alternate_products);
  io("layer_step", r.layer_step, Count{1});
  io("first", r.first, usual.first);
  io("in_chunk", r.in_chunk, usual.in_chunk);
  io("share", r.share, 1.0);
  io("group", r.group, usual.group);
  io("assumed", r.assumed);
}

AttentionKernel usual_kernel(const Plan& p) {
  return p.attention == AttentionImpl::naive ? AttentionKernel::unfused : AttentionKernel::flash;
}

template <typename Io, typename A>
void attention_fields(Io& io, A& a, const Plan& plan) {
  io("kernel", a.kernel, usual_kernel(plan));
  io("stated", a.stated, true);
  io("fused_norm", a.fused_norm);
  io("assumed", a.assumed);
}

/// Facts about the run that have no option (SOFTWARE). `usual`: the plan from the inputs.
template <typename Io, typename C>
void software_fields(Io& io, C& c, const Plan& usual) {
  io("name", c.stack.name);
  io("assumed", c.stack.assumed);
  io("compiled", c.stack.compiled);
  io("tp_overlap", c.stack.tp_overlap);
  io("waits_for_tensor", c.stack.waits_for_tensor);
  io("cuda_graphs", c.stack.graphs);
  io("ep_overlap", c.stack.ep_overlap);
  io("rocm", c.stack.rocm);
  io("vocabulary_multiple", c.layout.vocabulary_multiple, vocabulary_multiple(c.stack));
  io("working_precision", c.plan.working, usual.working);
  io("half_gradients_open", c.half_gradients_open);
  io("compiles_loss", c.compiles_loss);
  io("capacity_factor", c.capacity_factor);
  io.object("attention", [&](auto& in) { attention_fields(in, c.attention, c.plan); });
  io.object("recompute", [&](auto& in) { recompute_fields(in, c.recomputed, recomputed_by(c.plan)); });
}

template <typename Io, typename C>
void training_case_fields(Io& io, C& c) {
  io("devices", c.head.gpus, devices(c.layout));
  io("assumed", c.assumed);
  io("input_assumed", c.input_assumed);
  io("measured_as", c.measured_as);
  io("states_memory", c.states_memory, !c.memory.empty());
  io.object("left_out", [&](auto& in) {
    in("row", c.skip);
    in("step", c.no_step);
    in("memory", c.no_memory);
  });
}

// ---- Measured values

constexpr std::array memory_kinds{MemoryKind::reserved, MemoryKind::process, MemoryKind::peak, MemoryKind::allocated};

json::Value measured_json(const TrainingCase& c) {
  json::Value v = json::Value::object();
  if (c.step) v[std::string(step_quantity)] = c.step->value;
  for (const MeasuredMemory& m : c.memory) v[memory_quantity(m.kind)] = m.bytes;
  return v;
}

void read_measured(const json::Object& row, TrainingCase& c) {
  const json::Object o = row.object("measured");
  if (o.has(step_quantity)) c.step = Seconds(o.number_or(step_quantity, 0));
  const bool stated = row.flag_or("memory_kind_stated", true);
  const Count devices = row.count_or("memory_of_devices", 0);
  for (const MemoryKind kind : memory_kinds)
    if (const std::string key = memory_quantity(kind); o.has(key))
      c.memory.push_back(
          {.bytes = o.number_or(key, 0), .kind = kind, .stated = stated, .devices = devices, .key = key});
  o.refuse_unread();
}

void refuse_unmeasured(const json::Object& row, const TrainingCase& c) {
  if (c.memory.empty() && !c.step && c.no_step.empty() && c.no_memory.empty())
    throw InputError(row.where() + ", \"measured\": no quantity; add step_time_s or a memory peak");
}

// ---- The request

Request request_of(const TrainingCase& c) {
  Request r;
  r.model.arch = c.arch;
  r.hardware = c.on.hardware;
  r.plan = c.plan;
  r.layout = c.layout;
  r.parts = training_parts_of_request;
  return r;
}

void read_request(const json::Object& row, TrainingCase& c) {
  const auto [r, machine] = read_measured_request(row, training_parts_of_request, c.head);
  c.arch = r.model.arch;
  c.plan = r.plan;
  c.layout = r.layout;
  c.on = {.hardware = machine.card, .like = machine.like, .preset = machine.preset};
}

void read_software(const json::Object& row, TrainingCase& c) {
  const Plan usual = c.plan;
  c.attention.kernel = usual_kernel(usual);
  c.recomputed = recomputed_by(usual);
  if (const json::Value* v = row.find("software"); v != nullptr && v->is_string())
    c.stack.name = v->get<std::string>();
  else
    FieldReader(row).object("software", [&](auto& in) { software_fields(in, c, usual); });
  if (c.stack.name.empty()) c.stack.name = usual_stack(c.layout);
}

}  // namespace

std::string memory_quantity(MemoryKind kind) {
  return kind == MemoryKind::peak ? "peak_bytes" : fmt::format("peak_{}_bytes", name(kind));
}

json::Value training_measurement_json(const TrainingCase& c, const json::Value& stated) {
  json::Value v = head_json(c.head, "train");
  FieldWriter io(v);
  if (c.skip.empty()) {
    const Request usual = write_measured_request(v, c.head, request_of(c), c.on.like, inputs_json(request_of(c)));
    io.object("software", [&](auto& in) { software_fields(in, c, usual.plan); });
    v["measured"] = measured_json(c);
    if (!c.memory.empty()) io("memory_kind_stated", c.memory[0].stated, true);
    if (!c.memory.empty()) io("memory_of_devices", c.memory[0].devices);
  }
  training_case_fields(io, c);
  v["stated"] = stated;
  return v;
}

TrainingCase read_training_measurement(const json::Object& row, const std::string& where) {
  TrainingCase c{.head = read_head(row, where)};
  if (row.has("left_out")) c.skip = row.object("left_out").text_or("row", "");
  FieldReader io(row);
  if (c.skip.empty()) {
    read_request(row, c);
    read_software(row, c);
    read_measured(row, c);
    training_case_fields(io, c);
    refuse_unmeasured(row, c);
  } else {
    training_case_fields(io, c);
  }
  row.find("stated");
  row.find("command");
  row.refuse_unread();
  return c;
}

}  // namespace llmcalc
