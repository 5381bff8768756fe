#pragma once
/// The names of the modules that predict further tokens (Mtp) in a checkpoint.

#include <string>
#include <string_view>
#include <vector>

#include "calc/arch.hpp"

namespace llmcalc::import {

/// One module by its names.
struct MtpModule {
  std::string mixer, mlp;   ///< prefixes of the layer's two halves
  std::string join, token;  ///< the name of the join, or of its halves; `token` is empty where it is one matrix
};

/// All modules of the model by the names of a family (a model_type).
std::vector<MtpModule> mtp_modules(const Arch& arch, std::string_view family);

}  // namespace llmcalc::import
