#include "tests/standin/rules.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace llmcalc::standin {
namespace {

std::string setting(const char* name, const char* usual) {
  const char* const given = std::getenv(name);
  return given != nullptr ? given : usual;
}

void log(const std::string& line) {
  const std::string path = setting("LLMCALC_STANDIN_LOG", "");
  if (!path.empty()) std::ofstream(path, std::ios::app) << line << '\n';
}

/// A planned failure, N[:CODE]. There is no call 0, so 0 plans no failure.
struct Plan {
  long call = 0;
  cudaError_t code = cudaErrorLaunchFailure;
  Plan() {
    const std::string said = setting("LLMCALC_STANDIN_FAIL", "0");
    const std::size_t colon = said.find(':');
    call = std::stol(said);
    if (colon != std::string::npos) code = static_cast<cudaError_t>(std::stoi(said.substr(colon + 1)));
  }
  /// Errors after which every call of the process fails.
  bool sticky() const {
    return code == cudaErrorLaunchFailure || code == cudaErrorIllegalAddress || code == cudaErrorECCUncorrectable;
  }
};
const Plan& plan() {
  static const Plan one;
  return one;
}

long calls = 0;
cudaError_t last = cudaSuccess;

}  // namespace

void broken(const std::string& sentence) {
  std::fflush(stdout);
  std::fprintf(stderr, "stand-in for CUDA: %s\n", sentence.c_str());
  std::_Exit(broken_rule);
}

int devices() { return std::stoi(setting("LLMCALC_STANDIN_DEVICES", "1")); }
int capability() {
  const std::string said = setting("LLMCALC_STANDIN_CAPABILITY", "9.0");
  const std::size_t point = said.find('.');
  require(point != std::string::npos, "LLMCALC_STANDIN_CAPABILITY is " + said + ", not of the form 9.0");
  return 10 * std::stoi(said.substr(0, point)) + std::stoi(said.substr(point + 1));
}
std::uint64_t total_memory() { return std::stoull(setting("LLMCALC_STANDIN_MEMORY", "85899345920")); }

cudaError_t counted(const char* name) {
  ++calls;
  if (calls == plan().call) log(std::to_string(calls) + " " + name);
  if (devices() == 0) return cudaErrorNoDevice;
  const bool fails = calls == plan().call || (failed() && plan().sticky());
  return fails ? plan().code : cudaSuccess;
}
bool failed() { return plan().call > 0 && calls >= plan().call; }
void log_calls() { log(std::to_string(calls) + " calls"); }

cudaError_t remembered(cudaError_t e) {
  if (e != cudaSuccess) last = e;
  return e;
}
cudaError_t forgotten() {
  const cudaError_t e = last;
  last = failed() && plan().sticky() ? plan().code : cudaSuccess;
  return e;
}

}  // namespace llmcalc::standin
