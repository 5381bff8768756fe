#pragma once
/// Command-line options that make a batch, or a request of a server, fit into an engine's memory.

#include <string>
#include <vector>

#include "ask/answer/inference.hpp"

namespace llmcalc {

/// A change to the plan, and the resulting engine.
struct InferenceRemedy {
  std::string key;     ///< key of the option under `inputs`: "tp"
  std::string option;  ///< option with its value: "--tp 2"
  std::string engine;  ///< name of the new engine; empty if the engine stays the same
  Count gpus = 1;      ///< GPUs of one engine
  Bytes peak{};        ///< peak memory of one device
  Seconds token{};     ///< time of a decode step at mid-generation
};

/// Single changes that each make the plan fit; for each option, the first sufficient value. Sorted by GPU-seconds per
/// token, lowest first; shorter prompts and smaller batches, which change the question, are last. Empty if the plan
/// fits. Precondition: the request has hardware.
std::vector<InferenceRemedy> inference_remedies(const InferenceAnswer& a);

}  // namespace llmcalc
