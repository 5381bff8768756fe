#pragma once
/// A model from a preset or a file: its architecture, and descriptive data.

#include <optional>
#include <string>
#include <vector>

#include "calc/arch.hpp"
#include "calc/formats/low_precision.hpp"
#include "calc/formats/weight_formats.hpp"
#include "presets/media_encoders.hpp"

namespace llmcalc {

struct ModelCard {
  std::string name;   ///< name of the preset, or name in the file
  std::string word;   ///< name in commands: the preset's name, or the path of its file
  std::string title;  ///< title for reports: "Llama-3.1 405B"
  std::vector<std::string> aliases;
  std::string source;  ///< origin of the architecture: a preset, a file's path, a config.json
  std::string family;  ///< model_type of its config, which determines how files store matrices (fused_matrices.hpp);
                       ///< empty: unknown
  Arch arch;
  bool renumbered = false;  ///< whether the architecture omits layers of the checkpoint, so later ones have lower
                            ///< indices
  MediaEncoders media_encoders{};  ///< encoders, excluded from all parameter counts of the architecture
  std::optional<Count> published;  ///< published parameter count, in which a tied head is counted once
  std::string published_source;
  std::optional<Count> stored;  ///< parameters in the published checkpoint file, if different from `published`
  std::string notes;
  std::vector<std::string> caveats;      ///< omissions and assumptions that affect any result
  std::string released{};                ///< release date: "2025-08" or "2026"; empty: unknown
  std::string use{};                     ///< intended use: "code" for code models; empty: general
  std::string origin{};                  ///< how the requested name relates to the preset's name; empty if equal
  std::optional<WeightFormats> weights;  ///< weight formats as stored in the checkpoint
  std::optional<DType> products;         ///< operand format of the blocks' matmuls if inputs are also quantized (w8a8)
  NarrowParts product_parts = NarrowParts::all();  ///< parts whose matmuls use `products`; other matmuls use 16 bits
  std::vector<std::string> unread_keys{};          ///< unread keys of the config.json, by path ("text_config.head_dim")
  std::vector<std::string> unknown_keys;  ///< unread config.json keys that may affect a size (import/harmless_keys.hpp)
};

}  // namespace llmcalc
