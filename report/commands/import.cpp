#include <array>

#include "presets/load.hpp"
#include "presets/model_file.hpp"
#include "presets/unknown_keys.hpp"
#include "report/commands/arguments.hpp"

namespace llmcalc {
namespace {

Output answer_import(const Arguments& arguments, Runner&) {
  const ModelCard card = arguments.config();
  const json::Value file = model_file_json(card);
  const auto text = [file](const Screen&) { return model_file_text(file); };
  Output output{.content = Page{.json = file, .text = text, .verbatim = true}};
  for (const std::string& caveat : card.caveats) output.asides.push_back("note: " + caveat);
  if (const std::string note = unknown_keys_note(card); !note.empty()) output.asides.push_back("warning: " + note);
  return output;
}

constexpr std::array import_words{
    Word{.name = "CONFIG", .help = "a config.json, or the folder that contains it", .key = "model"}};

}  // namespace

const Command import_command{
    .name = "import",
    .arguments = "CONFIG",
    .summary = "a config.json as a model file",
    .about = "Converts a Hugging Face config.json to an explicit llmcalc model file.",
    .examples = "  llmcalc import ./Llama-3.1-8B > my-model.json\n  llmcalc params my-model.json",
    .words = import_words,
    .parts = part::json | part::help,
    .files = "model",
    .answer = answer_import};

}  // namespace llmcalc
