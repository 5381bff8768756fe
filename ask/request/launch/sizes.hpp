#pragma once
/// Quantities of launch commands that follow from several inputs, or from the model: "nodes" of a run, "accumulation"
/// of micro-batches. Launch tables (presets/stack/launch.hpp) name them like inputs.

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ask/request/request.hpp"

namespace llmcalc {

/// Inputs as typed, by their keys.
using InputTexts = std::map<std::string, std::string, std::less<>>;

struct LaunchSize {
  std::string_view name;
  std::string_view covers;  ///< inputs that the size expresses, each surrounded by spaces
  bool is_flag = false;
  std::optional<std::string> (*text)(const Request&) = nullptr;  ///< null if the size is not printed
};

std::span<const LaunchSize> launch_sizes();
/// Null for an unknown name.
const LaunchSize* find_size(std::string_view name);

/// Adds the inputs that follow from `sizes`; `typed`: the user's other inputs. Throws InputError if a size contradicts
/// the model or a specified input.
void add_inputs_of_sizes(const InputTexts& sizes, const InputTexts& typed, const Arch& arch, InputTexts& inputs);

}  // namespace llmcalc
