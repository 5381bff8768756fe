#include "evidence/rows/measured_request.hpp"

#include "ask/request/inputs.hpp"
#include "ask/request/settle.hpp"
#include "evidence/rows/head_json.hpp"
#include "presets/formats/weight_formats.hpp"
#include "presets/model_file.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

constexpr const char* unnamed = "unnamed";

Request settled_request(Parts parts, const ModelCard& model, const HardwareCard& hardware, const json::Value& inputs,
                        const std::string& where) {
  Request r;
  r.parts = parts;
  r.model = model;
  r.hardware = hardware;
  read_inputs(r, inputs, where);
  settle(r);
  r.layout = canonical(r.layout);
  return r;
}

}  // namespace

Layout canonical(Layout l) {
  if (ranks(l, Group::expert_tensor) == ranks(l, Group::tensor)) l.etp = 0;
  return l;
}

MeasuredRequest read_measured_request(const json::Object& row, Parts parts, MeasurementHead& head) {
  static const json::Value none = json::Value::object();
  const ModelCard model = measured_model(row);
  const json::Value *hardware = row.find("hardware"), *inputs = row.find("inputs");
  if (hardware == nullptr) throw InputError(row.where() + ": \"hardware\" is missing");
  RowMachine machine = read_machine(*hardware, row.where() + ", \"hardware\"");
  Request r = settled_request(parts | part::run, model, machine.card, inputs == nullptr ? none : *inputs,
                              row.where() + ", \"inputs\"");
  if (model.name != unnamed) head.model = model.name;
  return {std::move(r), std::move(machine)};
}

Request write_measured_request(json::Value& row, const MeasurementHead& head, const Request& r, const std::string& like,
                               json::Value inputs) {
  ModelCard model;
  model.name = head.model.empty() ? unnamed : head.model;
  model.arch = r.model.arch;
  row["model"] = model_file_json(model);
  row["hardware"] = machine_json(*r.hardware, like);
  for (const char* key : {"weight_precision", "base_precision"})
    if (const auto formats = inputs.find(key); formats != inputs.end())
      *formats = present_components(std::move(*formats), r.model.arch);
  row["inputs"] = std::move(inputs);
  return settled_request(r.parts, model, *r.hardware, row["inputs"], head.where);
}

}  // namespace llmcalc
