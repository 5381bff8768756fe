#include <fmt/format.h>

#include <array>

#include "presets/builtin.hpp"
#include "presets/header/checkpoint.hpp"
#include "presets/load.hpp"
#include "presets/names/meant_model.hpp"
#include "report/checkpoint_report.hpp"
#include "report/commands/arguments.hpp"
#include "text/error.hpp"
#include "text/file_exists.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

template <typename Presets>
[[noreturn]] void refuse_name(const std::string& name, const Presets& all) {
  if (file_exists(name))
    throw InputError(fmt::format("{} is not a checkpoint; 'llmcalc params' and 'import' read the JSON file of a model",
                                 in_quotes(name)));
  std::vector<std::string> known;
  for (const auto presets : all)
    for (std::string& n : builtin_names(presets)) known.push_back(std::move(n));
  const std::vector<std::string> near = nearest(name, known, 1);
  throw InputError(
      fmt::format("unknown preset {}{} ('llmcalc list models', 'llmcalc list hardware' and 'llmcalc list software' "
                  "list all presets)",
                  in_quotes(name), near.empty() ? "" : ", did you mean '" + near[0] + "'?"));
}

/// Rejects a name with a weight format, because a preset's file lists the formats of its checkpoint.
void refuse_format(const std::string& name) {
  const MeantModel m = meant_model(name);
  if (!m.format.empty())
    throw InputError(
        fmt::format("{} requests weights stored in {}, but the file of preset '{}' already defines the formats of its "
                    "checkpoint; use '{}'",
                    in_quotes(name), m.format, m.preset->name, m.preset->name));
}

Output answer_show(const Arguments& arguments, Runner&) {
  const std::string name = arguments.word("NAME");
  if (arguments.reads_files() && is_checkpoint(name)) return {checkpoint_report(read_checkpoint(name))};
  if (const VersionedName v = versioned(name); v.version && find_meant(builtin_software(), v.name)) {
    const json::Value value = software_at(name);
    return {
        Page{.json = value, .text = [text = value.dump(2) + "\n"](const Screen&) { return text; }, .verbatim = true}};
  }
  const std::array all{builtin_models(), builtin_hardware(), builtin_software(), builtin_estimates()};
  refuse_format(name);
  for (const auto presets : all)
    if (const Builtin* b = find_meant(presets, name)) {
      const std::string text = std::string(b->text) + (b->text.ends_with('\n') ? "" : "\n");
      return {Page{.json = json::parse(text, name), .text = [text](const Screen&) { return text; }, .verbatim = true}};
    }
  refuse_name(name, all);
}

constexpr std::array show_words{
    Word{"NAME",
         "a model, hardware or software preset; 'training' or 'inference' for the estimator parameters; or a "
         "checkpoint: a GGUF or safetensors file, a shard index, or a folder that contains one"}};

}  // namespace

const Command show_command{
    .name = "show",
    .arguments = "NAME",
    .summary = "a preset as JSON, a checkpoint's tensors",
    .about =
        "Prints a preset as its JSON file. For a checkpoint, reads only the headers and prints the tensors by group; "
        "tensors that match no group are listed by name.",
    .examples =
        "  llmcalc show h100 > my-h100.json\n  llmcalc show training\n  llmcalc show vllm@0.19\n  llmcalc show "
        "model.gguf",
    .words = show_words,
    .parts = part::styles,
    .keys = "inputs checkpoint groups not_recognised",
    .files = "model hardware software estimates",
    .answer = answer_show};

}  // namespace llmcalc
