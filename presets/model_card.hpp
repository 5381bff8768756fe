#pragma once
/// A model as a preset or a file describes it: its architecture, and what is said about it.

#include <optional>
#include <string>
#include <vector>

#include "calc/arch.hpp"
#include "calc/formats/narrowed.hpp"
#include "calc/formats/weight_formats.hpp"
#include "presets/towers.hpp"

namespace llmcalc {

struct ModelCard {
  std::string name;   ///< the preset's name, or the file's
  std::string word;   ///< what a command names it by: the preset's name, or the path of its file
  std::string title;  ///< "Llama-3.1 405B"
  std::vector<std::string> aliases;
  std::string source;  ///< where the architecture was read: a preset, a file's path, a config.json
  std::string family;  ///< the model_type of its config, by which files differ (fused_matrices.hpp); empty: unknown
  Arch arch;
  bool renumbered = false;         ///< layers of the checkpoint are none of the architecture's, and others lower
  Towers towers{};                 ///< beside the architecture, in none of its counts of parameters
  std::optional<Count> published;  ///< published parameter count, tied head counted once
  std::string published_source;
  std::optional<Count> stored;  ///< parameters that the published checkpoint file holds, where that differs
  std::string notes;
  std::vector<std::string> caveats;      ///< what a reader of any number must know: what is left out, what was assumed
  std::optional<WeightFormats> weights;  ///< as the checkpoint stores them
  std::optional<DType> products;  ///< both operands of the blocks' products, where inputs are quantised too (w8a8)
  NarrowParts product_parts = NarrowParts::all();  ///< whose products these are; others are multiplied in 16 bits
  std::vector<std::string> unread_keys{};  ///< of a config.json, by their paths ("text_config.head_dim"): nothing asked
                                           ///< for them
  std::vector<std::string> unknown_keys;   ///< of a config.json: not understood, and their names hint at parameters
};

}  // namespace llmcalc
