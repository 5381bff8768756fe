#pragma once
/// Names of MTP modules in a checkpoint.

#include <string>
#include <string_view>
#include <vector>

#include "calc/arch.hpp"

namespace llmcalc::import {

/// Names in one module.
struct MtpModule {
  std::string mixer, mlp;   ///< prefixes of the layer's two halves
  std::string join, token;  ///< matrices that combine the inputs; `token` is empty if there is only one
};

/// All MTP modules of the model, under the names that a family (a model_type) uses.
std::vector<MtpModule> mtp_modules(const Arch& arch, std::string_view family);

}  // namespace llmcalc::import
