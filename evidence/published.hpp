#pragma once
/// The published measurements, compiled into the program as the text of their files. Nothing is parsed, nor the text
/// put together, before it is asked for.

#include <span>
#include <string>
#include <string_view>

namespace llmcalc {

/// The lines of evidence/training.json and evidence/inference.json, each with its end. embed_main.cpp writes them at
/// build time.
std::span<const std::string_view> training_lines();
std::span<const std::string_view> inference_lines();

/// A file by the name of its run.
struct NamedLines {
  std::string_view name;
  std::span<const std::string_view> lines;
};
/// The recorded runs, evidence/serving/*.json.
std::span<const NamedLines> serving_lines();

/// Lines as one text.
std::string joined(std::span<const std::string_view> lines);

}  // namespace llmcalc
