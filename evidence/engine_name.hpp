#pragma once
/// The engine that ran an inference, from how a row calls it.

#include <string>

namespace llmcalc {

/// How an engine puts work on a device, which decides what a step costs besides arithmetic and memory.
enum class EngineClass {
  graphs,     ///< decode steps are recorded and replayed: a cost per step (vLLM, SGLang, TensorRT-LLM)
  compiled,   ///< fused kernels, launched one by one: a cost per layer (gpt-fast, FasterTransformer)
  kernels,    ///< kernel by kernel: a higher cost per layer (llama.cpp, PyTorch)
  persistent  ///< one kernel for a step (calm)
};

struct EngineName {
  std::string name;     ///< "vllm", "llama.cpp", ...; as written where it is not known
  std::string version;  ///< "0.6.3"; empty: not stated
  EngineClass kind = EngineClass::graphs;
  bool known = true;
  bool eager = false;  ///< an engine of graphs that was told not to record
};

EngineName engine_name(const std::string& said, const std::string& notes);

}  // namespace llmcalc
