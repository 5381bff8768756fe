#pragma once
/// A model's matrices, with their module names in its checkpoint.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "calc/arch.hpp"
#include "calc/formats/weight_formats.hpp"

namespace llmcalc::import {

/// A matrix, or the matrices of one kind of all experts in a layer. `paths` lists the names that different families
/// have for it.
struct Matrix {
  Component component;
  std::vector<std::string> paths;
  Count groups = 1, rows = 0, columns = 0;  ///< number of experts, and shape of one expert's matrix
  bool biased = false;                      ///< whether the model adds a bias to the matrix's output
  bool by_name = false;   ///< whether only groups that name the matrix match it, not groups for all matrices
  bool is_table = false;  ///< whether the matrix is the token embedding
  Count numbers() const { return mul(groups, rows, columns); }
};

/// The token embedding.
Matrix token_embedding(const Arch& arch);

/// Calls visit(const Matrix&) for the routers of all layers, and for the gates of shared experts.
void for_each_router(const Arch& arch, const std::function<void(const Matrix&)>& visit);

/// Calls visit(const Matrix&) for the matrices of all layers and for an untied head, as stored in the files of a
/// family (a model_type). A fused matrix is visited once. Excludes routers and tables.
void for_each_matrix(const Arch& arch, std::string_view family, const std::function<void(const Matrix&)>& visit);

/// Like for_each_router() and for_each_matrix(), for MTP modules. The matrix that combines a hidden state and a token
/// embedding stays in the config's dtype unless a block names it: no published checkpoint packs it like the other
/// matrices (Qwen3.5-27B-FP8, GLM-5-FP8, DeepSeek-V3, NVIDIA's in NVFP4).
void for_each_mtp_router(const Arch& arch, std::string_view family, const std::function<void(const Matrix&)>& visit);
void for_each_mtp_matrix(const Arch& arch, std::string_view family, const std::function<void(const Matrix&)>& visit);

}  // namespace llmcalc::import
