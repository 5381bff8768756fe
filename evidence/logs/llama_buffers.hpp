#pragma once
/// llama.cpp's buffers by device. The first device's buffers are the memory terms of a server start; host buffers are
/// stored separately.

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "evidence/logs/server_start.hpp"

namespace llmcalc {

enum class BufferUse : std::uint8_t { weights, cache, compute, output };

/// A buffer in a log: "load_tensors:        CUDA0 model buffer size =  8148.38 MiB".
struct LlamaBuffer {
  BufferUse use{};
  std::string owner{};   ///< function that allocated the buffer
  std::string device{};  ///< name of the device: "CUDA0", "CPU_Mapped", "CUDA_Host"
  LoggedBytes bytes{};
};

class LlamaBuffers {
 public:
  /// Adds a buffer. Weights and caches add up. Compute buffers are reserved repeatedly, so only the last buffer of each
  /// owner counts. Weights logged after a cache belong to a draft model.
  void add(const LlamaBuffer& b);
  /// Registers a device that the log names before its buffers.
  void name_device(std::string_view device);
  void clear() { *this = {}; }
  /// Sets the memory terms of the first device, and the distribution of weights and cache across all devices.
  void settle(ServerStart& s) const;

 private:
  using Sizes = std::map<std::string, LoggedBytes, std::less<>>;  ///< sizes by device
  LoggedBytes compute_of(std::string_view device) const;
  LoggedBytes on_host() const;

  std::vector<std::string> devices_;
  bool mapped_ = false;
  Sizes weights_, cache_, draft_, output_;
  std::map<std::pair<std::string, std::string>, LoggedBytes> compute_;  ///< compute buffers by owner and device
};

/// The buffer in a line; absent if the line names none.
std::optional<LlamaBuffer> llama_buffer_at(const LogLine& line);
/// Whether a buffer is in host memory: "CPU", "CPU_Mapped", "CUDA_Host".
bool is_host_buffer(std::string_view device);

}  // namespace llmcalc
