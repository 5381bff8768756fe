#include "cli/kernels/calibrate_bench.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "cli/json_file.hpp"
#include "evidence/names/device_name.hpp"
#include "presets/load.hpp"
#include "presets/names/meant_model.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

[[noreturn]] void refuse_unstated(const BenchSource& source, const char* what, const char* option) {
  throw InputError(fmt::format("{} does not state the {}; add {}", source.where, what, option));
}

/// The hardware that is named, or whose name the source states.
std::string bench_hardware(const Arguments& arguments, const BenchSource& source) {
  if (arguments.has("--hardware")) return arguments.text("--hardware");
  static const Devices devices;
  const HardwareCard* found = source.run.device.empty() ? nullptr : devices.find(source.run.device);
  if (found == nullptr) refuse_unstated(source, "device", "--hardware HW");
  return found->name;
}

/// The model whose name the source states: the name without the organization or folders, possibly with a format.
ModelCard named_bench_model(const BenchSource& source) {
  const std::string name = source.run.model.substr(source.run.model.rfind('/') + 1);
  try {
    if (meant_model(name).preset != nullptr) return load_model(name);
  } catch (const InputError& e) {
    throw InputError(fmt::format("{}: {}; or add --model MODEL", source.where, e.what()));
  }
  throw InputError(
      fmt::format("{} names the model '{}', which is no preset; add --model MODEL", source.where, source.run.model));
}

ModelCard bench_model(const Arguments& arguments, const BenchSource& source) {
  if (arguments.has("--model")) return load_model(arguments.text("--model"));
  if (source.run.model.empty()) refuse_unstated(source, "model", "--model MODEL");
  return named_bench_model(source);
}

EngineName bench_engine(const Arguments& arguments, const BenchSource& source) {
  const BenchRun& run = source.run;
  if (!arguments.has("--software") && run.engine.empty()) refuse_unstated(source, "engine", "--software NAME@VERSION");
  const std::string word = arguments.text("--software", run.engine);
  const SoftwareCard card = load_software(word);
  if (!card.inference)
    throw InputError(fmt::format("--software: {} is for training; name the engine of the benchmark", card.name));
  const std::size_t at = word.rfind('@');
  return {.name = card.name, .version = at == std::string::npos ? run.version : word.substr(at + 1)};
}

json::Value bench_inputs(const Arguments& arguments, const BenchSource& source, const ModelCard& model) {
  const BenchRun& run = source.run;
  json::Value inputs = json::Value::object();
  if (run.tp) inputs["tp"] = *run.tp;
  if (run.pp) inputs["pp"] = *run.pp;
  for (const auto& [option, text] : arguments.options_given())
    for (const char* setup : bench_setup_options)
      if (option->flag == setup && option->flag != std::string_view("--software")) inputs[option->key()] = text;
  if (inputs.contains("weight_precision") || run.engine != "llama.cpp" || model.weights) return inputs;
  if (run.weights.empty()) refuse_unstated(source, "format of the weights", "--weight-precision");
  inputs["weight_precision"] = run.weights;
  return inputs;
}

/// Throws InputError if layers stayed on the host, whose rates are not those of the device.
void refuse_host_layers(const BenchSource& source, const ModelCard& model) {
  const BenchRun& run = source.run;
  if (run.gpu_layers && *run.gpu_layers >= 0 && *run.gpu_layers < model.arch.layers)
    throw InputError(fmt::format("{}: only {} of {} layers were on the device (ngl); pass a run with -ngl 99",
                                 source.where, *run.gpu_layers, model.arch.layers));
}

json::Value served_json(const BenchSource& source, const BenchSetup& s, const BenchRatios& ratios) {
  const BenchRun& run = source.run;
  json::Value v{{"engine", s.engine.name}};
  if (!s.engine.version.empty()) v["version"] = s.engine.version;
  v["model"] = s.model.name;
  v["date"] = run.date.empty() ? today() : run.date;
  v["file"] = source.name;
  if (ratios.decode) v["decode"] = *ratios.decode;
  if (ratios.prompt) {
    v["prompt"] = *ratios.prompt;
    v["prompt_class"] = run.tests.front().served ? "first token" : "prefill";
  }
  return v;
}

/// The hardware's own file with the ratios.
json::Value bench_file(const Arguments& arguments, const std::string& hardware, json::Value served) {
  json::Value file = hardware_json(hardware);
  if (arguments.has("--name")) file["name"] = arguments.text("--name");
  file.erase("aliases");
  file["served"] = std::move(served);
  read_hardware_file(file, "the benchmark");
  return file;
}

Grid bench_grid(const std::vector<BenchFigure>& figures) {
  Grid g{.key = "figures",
         .title = "measured and predicted figures",
         .columns = {"test", "figure", "predicted", "measured", "time ratio"},
         .left = 2,
         .rows = {}};
  for (const BenchFigure& f : figures) {
    g.rows.push_back({f.test, f.key, fmt::format("{:.4g}", f.predicted), fmt::format("{:.4g}", f.measured),
                      fmt::format("{:.3f}", f.ratio)});
    g.json.push_back({{"test", f.test},
                      {"figure", f.key},
                      {"predicted", f.predicted},
                      {"measured", f.measured},
                      {"time_ratio", f.ratio}});
  }
  return g;
}

Notes bench_notes(const BenchSetup& s, const BenchSource& source) {
  const BenchTest& test = source.run.tests.front();
  Notes all{{"benchmarked", fmt::format("{}{}{} with {} on {}", s.engine.name, s.engine.version.empty() ? "" : " ",
                                        s.engine.version, s.model.name, s.hardware.title)},
            {"time_ratio",
             "ratios are measured over predicted times; later estimates for the same engine with the "
             "hardware file multiply the times of passes by their square roots"}};
  if (test.steady)
    all.push_back({"clients_spread", "predicted with requests of mean length at evenly spread times"});
  else if (test.served)
    all.push_back({"clients_together", "predicted with clients that start together and requests of mean length"});
  all.insert(all.end(), source.notes.begin(), source.notes.end());
  return all;
}

Section ratios_section(const BenchRatios& ratios) {
  Section s{"served", "ratios in the hardware file", {}};
  if (ratios.decode) s.add("decode", "decode", *ratios.decode, Unit::none, "measured / predicted time");
  if (ratios.prompt) s.add("prompt", "prompt", *ratios.prompt, Unit::none, "measured / predicted time");
  return s;
}

}  // namespace

BenchSource source_of_bench(const Arguments& arguments) {
  const std::string path = arguments.text("--bench");
  return {.run = read_bench(path), .where = path, .name = std::filesystem::path(path).filename().string()};
}

BenchSetup bench_setup(const Arguments& arguments, const BenchSource& source) {
  BenchSetup s;
  s.hardware = load_hardware(bench_hardware(arguments, source));
  s.model = bench_model(arguments, source);
  s.engine = bench_engine(arguments, source);
  refuse_host_layers(source, s.model);
  s.inputs = bench_inputs(arguments, source, s.model);
  return s;
}

BenchCalibration calibrated_from_bench(const Arguments& arguments, const BenchSource& source, const BenchSetup& setup) {
  const std::vector<BenchFigure> figures = bench_figures(source.run, setup, source.where);
  const BenchRatios ratios = bench_ratios(figures);
  BenchCalibration c{bench_file(arguments, bench_hardware(arguments, source), served_json(source, setup, ratios)), {}};
  c.report.command = "calibrate";
  c.report.title = setup.hardware.title;
  c.report.grids = {bench_grid(figures)};
  c.report.sections = {ratios_section(ratios)};
  c.report.notes = bench_notes(setup, source);
  return c;
}

}  // namespace llmcalc
