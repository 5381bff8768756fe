#pragma once
/// Names of MTP modules in a checkpoint.

#include <string>
#include <string_view>
#include <vector>

#include "calc/arch.hpp"

namespace llmcalc::import {

/// Names of one module.
struct MtpModule {
  std::string mixer, mlp;   ///< prefixes of the layer's two halves
  std::string join, token;  ///< name of the joining matrix, or of its two halves; `token` is empty if it is one matrix
};

/// All modules of the model under the names of a family (a model_type).
std::vector<MtpModule> mtp_modules(const Arch& arch, std::string_view family);

}  // namespace llmcalc::import
