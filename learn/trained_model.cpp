#include "learn/trained_model.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "learn/checkpoint.hpp"
#include "learn/model_folder.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc::model {
namespace {

/// The folder of a downloaded model, where `path` is the folder or its config or weights file. Empty for other paths.
std::string downloaded_folder(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failed;
  if (fs::is_directory(path, failed)) return path;
  const fs::path file(path), folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  const std::string name = file.filename().string();
  const bool part = name == "config.json" || name == "model.safetensors" || name == "model.safetensors.index.json";
  return part && holds_weights(folder.string()) ? folder.string() : "";
}

}  // namespace

Plan plan_of(const TrainedModel& m) {
  Plan p;
  p.precision = m.number() == Number::bf16 ? dtypes::bf16 : dtypes::fp32;
  p.kv_precision = p.precision;
  p.weight_precision = p.precision;
  p.micro_batch = p.global_batch = p.batch = 1;
  return p;
}

std::unique_ptr<TrainedModel> trained_model(const std::string& path) {
  if (lower(path).ends_with(".gguf"))
    throw InputError(
        fmt::format("'{}' is a GGUF file, whose weights cannot be run; pass the folder of the model's safetensors, or "
                    "a file written by 'llmcalc learn'",
                    path));
  const std::string folder = downloaded_folder(path);
  if (folder.empty()) return std::make_unique<TrainingCheckpoint>(path);
  return std::make_unique<ModelFolder>(folder);
}

}  // namespace llmcalc::model
