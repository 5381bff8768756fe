/// Models, hardware and reports with the installed libraries; the argument is the folder of its files.

#include <calc/parameters.hpp>
#include <iostream>
#include <presets/load.hpp>
#include <report/question.hpp>
#include <report/report.hpp>
#include <string>

namespace {

bool failed = false;

void expect(const std::string& what, llmcalc::Count found, llmcalc::Count published) {
  std::cout << what << ": " << found << ", published " << published << "\n";
  failed = failed || found != published;
}

llmcalc::json::Value step_on(const std::string& hardware, const llmcalc::ModelCard& model) {
  llmcalc::Request r;
  r.model = model;
  r.hardware = llmcalc::load_hardware(hardware);
  r.parts = llmcalc::report_question.parts;
  llmcalc::settle(r);
  llmcalc::check(r);
  const llmcalc::Report report = llmcalc::answer(llmcalc::report_question, r);
  return llmcalc::json::parse(llmcalc::render(report, {.style = llmcalc::Style::json}), "the report");
}

}  // namespace

int main(int, char** arguments) {
  const std::string folder = arguments[1];

  // huggingface.co/meta-llama/Llama-3.1-405B and Llama-3.1-8B, safetensors index
  const llmcalc::ModelCard preset = llmcalc::load_model("llama-3.1-405b");
  expect("parameters of a preset", llmcalc::parameters(preset.arch).total, 405853388800);
  const llmcalc::ModelCard imported = llmcalc::load_model(folder + "/config.json");
  expect("parameters of a config.json", llmcalc::parameters(imported.arch).total, 8030261248);

  const llmcalc::json::Value report = step_on(folder + "/../adding/x100-pcie-48gb.json", imported);
  expect("parameters in a report", report["parameters"]["total"].get<llmcalc::Count>(), 8030261248);
  expect("bytes of the device in it", report["memory"]["capacity_bytes"].get<llmcalc::Count>(), 51539607552);  // 48 GiB
  return failed ? 1 : 0;
}
