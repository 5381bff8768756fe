/// Models, hardware and reports with the installed libraries. The argument is the folder with the test's files.

#include <calc/parameters.hpp>
#include <iostream>
#include <presets/load.hpp>
#include <report/ask.hpp>
#include <string>
#include <text/json.hpp>

namespace {

bool failed = false;

void expect(const std::string& what, llmcalc::Count found, llmcalc::Count published) {
  std::cout << what << ": " << found << ", published " << published << "\n";
  failed = failed || found != published;
}

llmcalc::json::Value file(const std::string& path) {
  return llmcalc::json::parse(llmcalc::json::file_text(path), path);
}

llmcalc::json::Value report_on(const std::string& hardware, const std::string& model) {
  return llmcalc::ask({{"command", "report"}, {"model", file(model)}, {"hardware", file(hardware)}});
}

}  // namespace

int main(int, char** arguments) {
  const std::string folder = arguments[1];

  // huggingface.co/meta-llama/Llama-3.1-405B and Llama-3.1-8B, safetensors index
  const llmcalc::ModelCard preset = llmcalc::load_model("llama-3.1-405b");
  expect("parameters of a preset", llmcalc::parameters(preset.arch).total, 405853388800);
  const llmcalc::ModelCard imported = llmcalc::load_model(folder + "/config.json");
  expect("parameters of a config.json", llmcalc::parameters(imported.arch).total, 8030261248);

  const llmcalc::json::Value report = report_on(folder + "/../adding/x100-pcie-48gb.json", folder + "/config.json");
  expect("parameters in a report", report["parameters"]["total"].get<llmcalc::Count>(), 8030261248);
  expect("bytes of the device in it", report["memory"]["capacity_bytes"].get<llmcalc::Count>(), 51539607552);  // 48 GiB
  return failed ? 1 : 0;
}
