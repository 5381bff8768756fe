/// Start-up of vLLM (v0.2 to v0.25: worker.py, gpu_worker.py, model_runner.py, kv_cache_utils.py, llm_engine.py).

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "evidence/logs/server_reader.hpp"
#include "text/error.hpp"

namespace llmcalc {

namespace {

constexpr std::array<std::string_view, 9> vllm_words{"LLM engine (v",       "(EngineCore", "vLLM API server",
                                                     "gpu_model_runner.py", "vllm/engine", "vllm/entrypoints",
                                                     "vllm/model_executor", "vllm/v1",     "vllm/worker"};

struct MemoryPhrase {
  std::string_view words;
  std::optional<LoggedBytes> ServerMemory::*bytes;
};
/// Phrases before sizes. "GB" is 2^30 bytes in all of them, as in "Loading model weights took 14.99 GB"
/// (model_runner.py: / float(2**30)).
constexpr std::array memory_behind{
    MemoryPhrase{"Loading model weights took ", &ServerMemory::weights},
    MemoryPhrase{"Model loading took ", &ServerMemory::weights},
    MemoryPhrase{"model weights take ", &ServerMemory::weights},
    MemoryPhrase{"non_torch_memory takes ", &ServerMemory::libraries},
    MemoryPhrase{"activation peak memory takes ", &ServerMemory::activations},
    MemoryPhrase{"memory reserved for KV Cache is ", &ServerMemory::kv_cache},
    MemoryPhrase{"Available KV cache memory: ", &ServerMemory::kv_cache},
    MemoryPhrase{"Current kv cache memory in use is ", &ServerMemory::kv_cache},
    MemoryPhrase{"total_gpu_memory (", &ServerMemory::total},
    MemoryPhrase{"total_gpu_memory=", &ServerMemory::total},
};
constexpr std::array memory_before{
    MemoryPhrase{" for weight", &ServerMemory::weights},
    MemoryPhrase{" for consumed memory (weights + non-torch)", &ServerMemory::weights_and_libraries},
    MemoryPhrase{" for peak activation", &ServerMemory::activations},
    MemoryPhrase{" for non-torch memory", &ServerMemory::libraries},
    MemoryPhrase{" for CUDAGraph memory", &ServerMemory::graphs},
};

/// Process that logged a line, such as "(Worker_TP0 pid=12"; empty if the line does not name it.
std::string speaker_of(const LogLine& line) {
  const std::size_t pid = line.text.find(" pid=");
  if (pid == std::string_view::npos) return "";
  const std::size_t open = line.text.rfind('(', pid), close = line.text.find(')', pid);
  if (open == std::string_view::npos || close == std::string_view::npos) return "";
  return std::string(line.text.substr(open, close - open));
}

/// Data-parallel engine in a process name: "DP3" in "(EngineCore_DP3 pid=88" and "(Worker_DP3_TP0 pid=90"; empty if the
/// name contains none.
std::string engine_of(const std::string& speaker) {
  const std::size_t begin = speaker.find("_DP");
  if (begin == std::string_view::npos) return "";
  std::size_t end = begin + 3;
  while (end < speaker.size() && speaker[end] >= '0' && speaker[end] <= '9') ++end;
  return speaker.substr(begin + 1, end - begin - 1);
}

class VllmReader {
 public:
  explicit VllmReader(const std::vector<LogLine>& lines) {
    for (const LogLine& line : lines) read(line);
    check();
  }
  ServerStart start() && { return std::move(s_); }

 private:
  void read(const LogLine& line) {
    if (line.says("with config:") || line.says("args:")) read_config(line);
    read_memory(line);
    read_granted(line);
    read_cache(line);
    read_failure(line);
  }

  // ---- Requested configuration

  static void count(std::optional<Count>& to, const LogLine& line, std::string_view key) {
    const std::string said = line.setting(key);
    if (said.empty()) return;
    const LogLine value{said, line.file, line.number};
    if (const auto n = value.count_behind("")) to = n;
  }

  void read_config(const LogLine& line) {
    ServerConfig& c = s_.config;
    if (const auto version = line.behind("LLM engine (v")) c.version = std::string(digits_at(*version));
    take_said(c.model, line.setting("model"));
    take_said(c.dtype, line.setting("dtype"));
    take_said(c.quantization, line.setting("quantization"));
    take_said(c.cache_dtype, line.setting("kv_cache_dtype"));
    count(c.tensor_parallel, line, "tensor_parallel_size");
    count(c.pipeline_parallel, line, "pipeline_parallel_size");
    count(c.data_parallel, line, "data_parallel_size");
    if (const std::string said = line.setting("enable_expert_parallel"); !said.empty())
      c.expert_parallel = said == "True";
    count(c.max_model_len, line, "max_seq_len");
    count(c.max_model_len, line, "max_model_len");
    count(c.batched_tokens, line, "max_num_batched_tokens");
    count(c.sequences, line, "max_num_seqs");
    count(c.block_size, line, "block_size");
    const std::string share = line.setting("gpu_memory_utilization");
    if (!share.empty()) c.utilization = LogLine{share, line.file, line.number}.real_behind("");
  }

  // ---- Device memory

  /// Whether the line is from the process whose memory is stored: the first process that logs memory.
  bool heard(const LogLine& line) {
    const std::string speaker = speaker_of(line);
    workers_.insert(speaker);
    if (!worker_) worker_ = speaker;
    return *worker_ == speaker;
  }
  /// Whether the line is from the engine whose memory is stored, or does not name its engine.
  bool is_of_engine(const LogLine& line) const {
    const std::string said = engine_of(speaker_of(line)), saved = engine_of(worker_.value_or(""));
    return said.empty() || saved.empty() || said == saved;
  }
  void note(const LogLine& line, std::optional<LoggedBytes> ServerMemory::*bytes,
            const std::optional<LoggedBytes>& said) {
    if (said && heard(line)) {
      s_.memory.*bytes = said;
      last_ = line;
    }
  }

  void read_memory(const LogLine& line) {
    for (const MemoryPhrase& p : memory_behind) note(line, p.bytes, line.size_behind(p.words));
    if (line.says("Actual usage is "))
      for (const MemoryPhrase& p : memory_before) note(line, p.bytes, line.size_before(p.words));
    if (const auto took = line.behind("Graph capturing finished in "))
      note(line, &ServerMemory::graphs, LogLine{*took, line.file, line.number}.size_behind(", took "));
    // The estimate is replaced when capture is logged. It reduces the cache only if the log also contains the line
    // matched below.
    if (const auto estimate = line.size_behind("Estimated CUDA graph memory: "); estimate && heard(line))
      estimated_graphs_ = estimate;
    if (line.says("is equivalent to --gpu-memory-utilization") && heard(line))
      s_.memory.graphs_granted = estimated_graphs_;
  }

  void read_granted(const LogLine& line) {
    ServerMemory& m = s_.memory;
    if (const auto share = line.real_behind("gpu_memory_utilization (")) {
      s_.config.utilization = share;
      note(line, &ServerMemory::granted, line.size_behind(") = "));
    }
    if (const auto share = line.real_behind("Desired GPU memory utilization is (")) s_.config.utilization = share;
    if (const auto share = line.real_behind("desired GPU memory utilization (")) s_.config.utilization = share;
    if (const auto share = line.real_behind("--gpu-memory-utilization=")) s_.config.utilization = share;
    const auto desired = line.behind("GPU memory utilization ");
    if (desired && line.says("Free memory on device"))
      note(line, &ServerMemory::granted, LogLine{*desired, line.file, line.number}.size_behind(", "));
    if (const auto free = line.behind("Free memory on device"); free && line.says(" on startup") && heard(line))
      read_free(LogLine{*free, line.file, line.number}, m);
  }
  /// Reads text like " (78.6/79.15 GiB) on startup" or " cuda:0 (78.6/79.15 GiB) on startup".
  static void read_free(const LogLine& rest, ServerMemory& m) {
    const auto total = rest.size_behind("/");
    const auto free = rest.behind("(");
    if (!total || !free) return;
    m.total = total;
    m.free_at_start = size_at(fmt::format("{} GiB", digits_at(*free)), rest);
  }

  // ---- The cache

  void read_cache(const LogLine& line) {
    if (const auto n = line.count_behind("max_num_batched_tokens=")) s_.config.batched_tokens = n;
    if (const auto n = line.count_behind("Using max model len ")) s_.config.max_model_len = n;
    const auto longest = line.count_behind("Maximum concurrency for ");
    if (longest) s_.config.max_model_len = longest;
    if (!is_of_engine(line)) return;
    for (const char* words : {"# GPU blocks: ", "# CUDA blocks: ", "# cuda blocks: "})
      if (const auto n = line.count_behind(words)) s_.blocks = n;
    if (const auto n = line.count_behind("GPU KV cache size: ")) s_.tokens = n;
    if (longest) s_.concurrency = line.real_behind(" tokens per request: ");
  }

  /// Reads the failure of a start because the cache cannot hold a single request.
  void read_failure(const LogLine& line) {
    if (const auto n = line.count_behind("max seq len (")) s_.config.max_model_len = n;
    if (!is_of_engine(line)) return;
    if (line.says("KV cache is needed")) {
      s_.cache_needed = line.size_before(" KV cache is needed");
      if (!s_.memory.kv_cache) s_.memory.kv_cache = line.size_behind("available KV cache memory (");
    }
    if (const auto n = line.count_behind("can be stored in KV cache (")) s_.tokens = n;
    if (const auto n = line.count_behind("estimated maximum model length is ")) s_.longest = n;
  }

  // ---- Consistency

  void check() {
    s_.workers = static_cast<Count>(workers_.size());
    if (const auto& share = s_.config.utilization; share && (*share <= 0 || *share > 1))
      throw InputError(fmt::format(
          "{}: gpu_memory_utilization is {:g}, but must be above 0 and at most 1; pass the unmodified vLLM log",
          last_.file, *share));
  }

  ServerStart s_;
  std::optional<LoggedBytes> estimated_graphs_;
  std::optional<std::string> worker_;
  std::set<std::string> workers_;
  LogLine last_{};
};

}  // namespace

const ServerReader vllm_reader{.server = LoggedServer::vllm,
                               .words = vllm_words,
                               .read = [](const std::vector<LogLine>& lines) { return VllmReader(lines).start(); }};

}  // namespace llmcalc
