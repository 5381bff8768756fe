#include "learn/trained_model.hpp"

#include <filesystem>

#include "learn/checkpoint.hpp"
#include "learn/model_folder.hpp"

namespace llmcalc::model {

std::unique_ptr<TrainedModel> trained_model(const std::string& path) {
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed)) return std::make_unique<ModelFolder>(path);
  return std::make_unique<Checkpoint>(path);
}

}  // namespace llmcalc::model
