#include "cli/kernels/calibrate_bench.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "cli/json_file.hpp"
#include "evidence/bench/bench_case.hpp"
#include "evidence/names/device_name.hpp"
#include "presets/builtin.hpp"
#include "presets/load.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

[[noreturn]] void refuse_unstated(const Arguments& arguments, const char* what, const char* option) {
  throw InputError(fmt::format("{} does not state the {}; add {}", arguments.text("--bench"), what, option));
}

/// The hardware that is named, or whose name the output states.
std::string bench_hardware(const Arguments& arguments, const BenchRun& run) {
  if (arguments.has("--hardware")) return arguments.text("--hardware");
  static const Devices devices;
  const HardwareCard* found = run.device.empty() ? nullptr : devices.find(run.device);
  if (found == nullptr) refuse_unstated(arguments, "device", "--hardware HW");
  return found->name;
}

/// The preset of a model whose name the output states: the name without the organization.
ModelCard bench_model(const Arguments& arguments, const BenchRun& run) {
  if (arguments.has("--model")) return load_model(arguments.text("--model"));
  const std::string name = run.model.substr(run.model.rfind('/') + 1);
  const Builtin* preset = name.empty() ? nullptr : find_meant(builtin_models(), name);
  if (preset == nullptr && !run.model.empty())
    throw InputError(fmt::format("{} names the model '{}', which is no preset; add --model MODEL",
                                 arguments.text("--bench"), run.model));
  if (preset == nullptr) refuse_unstated(arguments, "model", "--model MODEL");
  return load_model(*preset);
}

EngineName bench_engine(const Arguments& arguments, const BenchRun& run) {
  if (!arguments.has("--software") && run.engine.empty())
    refuse_unstated(arguments, "engine", "--software NAME@VERSION");
  const std::string word = arguments.text("--software", run.engine);
  const SoftwareCard card = load_software(word);
  if (!card.inference)
    throw InputError(fmt::format("--software: {} is for training; name the engine of the benchmark", card.name));
  const std::size_t at = word.rfind('@');
  return {.name = card.name, .version = at == std::string::npos ? run.version : word.substr(at + 1)};
}

json::Value bench_inputs(const Arguments& arguments, const BenchRun& run, const ModelCard& model) {
  json::Value inputs = json::Value::object();
  for (const auto& [option, text] : arguments.options_given())
    for (const char* setup : bench_setup_options)
      if (option->flag == setup && option->flag != std::string_view("--software")) inputs[option->key()] = text;
  if (inputs.contains("weight_precision") || run.engine != "llama.cpp" || model.weights) return inputs;
  if (run.weights.empty()) refuse_unstated(arguments, "format of the weights", "--weight-precision");
  inputs["weight_precision"] = run.weights;
  return inputs;
}

/// Throws InputError if layers stayed on the host, whose rates are not those of the device.
void refuse_host_layers(const Arguments& arguments, const BenchRun& run, const ModelCard& model) {
  if (run.gpu_layers && *run.gpu_layers >= 0 && *run.gpu_layers < model.arch.layers)
    throw InputError(fmt::format("{}: only {} of {} layers were on the device (ngl); pass a run with -ngl 99",
                                 arguments.text("--bench"), *run.gpu_layers, model.arch.layers));
}

BenchSetup bench_setup(const Arguments& arguments, const BenchRun& run) {
  BenchSetup s;
  s.hardware = load_hardware(bench_hardware(arguments, run));
  s.model = bench_model(arguments, run);
  s.engine = bench_engine(arguments, run);
  refuse_host_layers(arguments, run, s.model);
  s.inputs = bench_inputs(arguments, run, s.model);
  return s;
}

json::Value served_json(const Arguments& arguments, const BenchRun& run, const BenchSetup& s,
                        const BenchRatios& ratios) {
  json::Value v{{"engine", s.engine.name}};
  if (!s.engine.version.empty()) v["version"] = s.engine.version;
  v["model"] = s.model.name;
  v["date"] = run.date.empty() ? today() : run.date;
  v["file"] = std::filesystem::path(arguments.text("--bench")).filename().string();
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

Notes bench_notes(const BenchSetup& s, const BenchRun& run) {
  Notes all{{"benchmarked", fmt::format("{}{}{} with {} on {}", s.engine.name, s.engine.version.empty() ? "" : " ",
                                        s.engine.version, s.model.name, s.hardware.title)},
            {"time_ratio",
             "ratios are measured over predicted times; later estimates for the same engine with the "
             "hardware file multiply the times of passes by their square roots"}};
  if (run.tests.front().served)
    all.push_back({"clients_together", "predicted with clients that start together and requests of mean length"});
  return all;
}

Section ratios_section(const BenchRatios& ratios) {
  Section s{"served", "ratios in the hardware file", {}};
  if (ratios.decode) s.add("decode", "decode", *ratios.decode, Unit::none, "measured / predicted time");
  if (ratios.prompt) s.add("prompt", "prompt", *ratios.prompt, Unit::none, "measured / predicted time");
  return s;
}

}  // namespace

BenchCalibration calibrated_from_bench(const Arguments& arguments) {
  const std::string path = arguments.text("--bench");
  const BenchRun run = read_bench(path);
  const BenchSetup setup = bench_setup(arguments, run);
  const std::vector<BenchFigure> figures = bench_figures(run, setup, path);
  const BenchRatios ratios = bench_ratios(figures);
  BenchCalibration c{bench_file(arguments, bench_hardware(arguments, run), served_json(arguments, run, setup, ratios)),
                     {}};
  c.report.command = "calibrate";
  c.report.title = setup.hardware.title;
  c.report.grids = {bench_grid(figures)};
  c.report.sections = {ratios_section(ratios)};
  c.report.notes = bench_notes(setup, run);
  return c;
}

}  // namespace llmcalc
