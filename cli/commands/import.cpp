#include <fmt/format.h>

#include <array>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "presets/load.hpp"
#include "presets/model_file.hpp"
#include "report/report.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

int run_import(const Arguments& arguments) {
  const ModelCard card = load_model(arguments.word("CONFIG"));
  for (const std::string& caveat : card.caveats) say("llmcalc: note: " + caveat);
  for (const std::string& key : card.unknown_keys)
    say(fmt::format("llmcalc: warning: {} in {} is not understood and was not counted", in_quotes(key), card.source));
  write_out(dump(model_file_json(card)));
  return 0;
}

constexpr std::array import_words{Word{"CONFIG", "a config.json, or the folder that holds it"}};

}  // namespace

const Command import_command{
    .name = "import",
    .arguments = "CONFIG",
    .summary = "a config.json as a model file",
    .about = "A Hugging Face config.json as an explicit llmcalc model file.",
    .examples = "  llmcalc import ./Llama-3.1-8B > my-model.json\n  llmcalc params my-model.json",
    .words = import_words,
    .parts = part::json | part::help,
    .run = run_import};

}  // namespace llmcalc
