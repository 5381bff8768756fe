#include <fmt/format.h>

#include <cstdio>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "presets/load.hpp"
#include "presets/model_file.hpp"
#include "report/report.hpp"

namespace llmcalc {

int run_import(Args args) {
  Arguments arguments("import", "A Hugging Face config.json as an explicit llmcalc model file.",
                      "  llmcalc import ./Llama-3.1-8B > my-model.json\n  llmcalc params my-model.json");
  std::string path;
  bool json = false;
  arguments.positional("CONFIG", "a config.json, or the folder that holds it", path);
  arguments.flag("--json", "what it does anyway", json);
  if (!arguments.parse(args)) return 0;
  const ModelCard card = load_model(path);
  for (const std::string& key : card.unknown_keys)
    fmt::print(stderr, "llmcalc: warning: \"{}\" in {} is not understood and was not counted\n", key, card.source);
  write_out(dump(model_file_json(card)));
  return 0;
}

}  // namespace llmcalc
