#include "evidence/rows/serving_measurement.hpp"

#include "ask/request/options/options.hpp"
#include "evidence/rows/engine_fields.hpp"
#include "evidence/rows/head_json.hpp"
#include "evidence/rows/measured_request.hpp"

namespace llmcalc {
namespace {

template <typename Io, typename C>
void serving_case_fields(Io& io, C& c) {
  io("devices", c.head.gpus, devices(c.layout));
  io("assumed", c.assumed);
  io("input_assumed", c.input_assumed);
  io.object("left_out", [&](auto& in) { in("row", c.skip); });
}

template <typename Io, typename C>
void server_fields(Io& io, C& c, const Plan& usual) {
  io.object("limits", [&](auto& in) { limit_fields(in, c); });
  io("working_precision", c.plan.working, usual.working);
  io("once_per_rank", c.layout.once_per_rank);
}

Request run_request(const RunCase& c) {
  Request r;
  r.model.arch = c.arch;
  r.hardware = c.on.hardware;
  r.plan = c.plan;
  r.layout = c.layout;
  r.parts = inference_parts_of_request;
  return r;
}

void read_run_request(const json::Object& row, RunCase& c) {
  const auto [r, machine] = read_measured_request(row, inference_parts_of_request, c.head);
  c.arch = r.model.arch;
  c.plan = r.plan;
  c.layout = r.layout;
  c.on = {.hardware = machine.card, .like = machine.like, .preset = machine.preset};
}

const json::Value& recorded_list(const json::Object& row) {
  const json::Value* list = row.find("requests");
  if (list == nullptr || !list->is_array() || list->empty())
    throw InputError(row.where() + ": \"requests\" is missing; a recorded run requires a list with at least one");
  return *list;
}

}  // namespace

json::Value serving_measurement_json(const RunCase& c, const json::Value& stated) {
  json::Value v = head_json(c.head, "serve");
  FieldWriter io(v);
  if (c.skip.empty()) {
    const Request r = run_request(c);
    const Request usual = write_measured_request(v, c.head, r, c.on.like, inputs_json(r));
    io.object("engine", [&](auto& in) { engine_fields(in, c); });
    server_fields(io, c, usual.plan);
  }
  serving_case_fields(io, c);
  v["requests"] = recorded_requests_json(c.requests);
  if (!c.seconds.empty()) v["per_second"] = recorded_seconds_json(c.seconds);
  v["stated"] = stated;
  return v;
}

RunCase read_serving_measurement(const json::Object& row, const std::string& where) {
  RunCase c{.head = read_head(row, where)};
  if (row.has("left_out")) c.skip = row.object("left_out").text_or("row", "");
  FieldReader io(row);
  if (c.skip.empty()) {
    read_run_request(row, c);
    read_engine(row, c);
    server_fields(io, c, Plan(c.plan));
  }
  serving_case_fields(io, c);
  c.requests = read_recorded_requests(recorded_list(row), where);
  if (row.has("per_second")) c.seconds = read_recorded_seconds(row.object("per_second"));
  row.find("stated");
  row.find("command");
  row.refuse_unread();
  if (c.skip.empty()) settle_run(c);
  return c;
}

}  // namespace llmcalc
