#pragma once
/// Rules of the CUDA runtime, and planned failures. The environment describes the device and the plan:
/// LLMCALC_STANDIN_DEVICES (1), LLMCALC_STANDIN_CAPABILITY (9.0), LLMCALC_STANDIN_MEMORY (bytes, 80 GiB),
/// LLMCALC_STANDIN_FAIL=N[:CODE] (call N returns this cudaError_t, default 719), LLMCALC_STANDIN_LOG (a file).

#include <driver_types.h>

#include <cstdint>
#include <string>

namespace llmcalc::standin {

/// The exit code of a program that broke a rule.
constexpr int broken_rule = 86;

/// Prints the broken rule and ends the process.
[[noreturn]] void broken(const std::string& sentence);
inline void require(bool holds, const std::string& sentence) {
  if (!holds) broken(sentence);
}

int devices();
/// The compute capability, such as 90 for "9.0".
int capability();
std::uint64_t total_memory();

/// Counts a call of the runtime or cuBLASLt. Returns its planned error, or cudaSuccess.
cudaError_t counted(const char* name);
/// Whether a planned failure has happened.
bool failed();
/// Writes the number of calls to the log.
void log_calls();

/// Records the last error. `forgotten` returns it and resets it, as cudaGetLastError does.
cudaError_t remembered(cudaError_t e);
cudaError_t forgotten();

/// Runs f(), unless a failure is planned for this call.
template <typename F>
cudaError_t call(const char* name, const F& f) {
  const cudaError_t planned = counted(name);
  return remembered(planned != cudaSuccess ? planned : f());
}
/// A call that releases a resource. It does so even if it fails, since its error may come from an earlier call.
template <typename F>
cudaError_t release(const char* name, const F& f) {
  const cudaError_t planned = counted(name), own = f();
  return remembered(planned != cudaSuccess ? planned : own);
}

}  // namespace llmcalc::standin
