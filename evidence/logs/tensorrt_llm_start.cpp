/// Start-up of TensorRT-LLM: the C++ runtime (0.6 to 0.21: kvCacheManager.cpp, tllmRuntime.cpp) and the PyTorch backend
/// (0.18 to 1.x: _util.py), and TensorRT's own lines. "GB" is 2^30 bytes.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "evidence/logs/server_reader.hpp"
#include "text/error.hpp"

namespace llmcalc {

namespace {

constexpr std::array<std::string_view, 5> tensorrt_words{"[TensorRT-LLM]", "[TRT-LLM]", "[TRT]", "tensorrt_llm/",
                                                         "for max tokens in paged KV cache ("};

struct TensorrtPhrase {
  std::string_view words;
  std::optional<LoggedBytes> ServerMemory::*bytes;
};
constexpr std::array tensorrt_sizes{
    TensorrtPhrase{"(inside torch) in memory usage profiling: ", &ServerMemory::weights},
    TensorrtPhrase{"Memory used outside torch (e.g., NCCL and CUDA graphs) in memory usage profiling: ",
                   &ServerMemory::libraries},
    TensorrtPhrase{"Memory dynamically allocated during inference (inside torch) in memory usage profiling: ",
                   &ServerMemory::activations},
    TensorrtPhrase{"device total memory ", &ServerMemory::total},
    TensorrtPhrase{"paged kv cache: total: ", &ServerMemory::total},
};

class TensorrtReader {
 public:
  explicit TensorrtReader(const std::vector<LogLine>& lines) {
    s_.server = LoggedServer::tensorrt_llm;
    for (const LogLine& line : lines)
      if (is_of_first(line)) read(line);
    finish();
  }
  ServerStart start() && { return std::move(s_); }

 private:
  static bool is_of_first(const LogLine& line) { return line.count_behind("[RANK ").value_or(0) == 0; }

  void read(const LogLine& line) {
    read_name(line);
    read_sizes(line);
    read_engine(line);
    read_cache(line);
    read_limits(line);
  }

  void read_name(const LogLine& line) {
    for (const char* words : {"TensorRT-LLM version: ", "TensorRT-LLM Version: ", "Engine version "})
      if (const auto v = line.behind(words)) take_said(s_.config.version, version_at(*v));
    if (line.text.starts_with("Model: ")) take_said(s_.config.model, word_at(line.text.substr(7)));
    if (line.text.starts_with("KV Cache Dtype: ")) take_said(s_.config.cache_dtype, word_at(line.text.substr(16)));
    if (line.text.starts_with("Quantization: ")) take_said(s_.config.quantization, word_at(line.text.substr(14)));
  }
  static std::string word_at(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    const std::string_view word = text.substr(0, text.find(' '));
    return word == "None" ? "" : std::string(word);
  }
  static std::string version_at(std::string_view text) {
    const std::string word = word_at(text);
    return !word.empty() && word[0] >= '0' && word[0] <= '9' ? word : "";
  }

  void read_sizes(const LogLine& line) {
    for (const TensorrtPhrase& p : tensorrt_sizes) {
      const bool of_weights = p.bytes == &ServerMemory::weights;
      if (of_weights && !line.says("after loading model weights")) continue;
      if (const auto said = line.size_behind(p.words)) s_.memory.*p.bytes = said;
    }
    if (const auto files = line.size_behind(" Use "); files && line.says(" for model weights") && !s_.memory.weights)
      s_.memory.weights = files;
  }

  /// Reads the memory of a compiled engine: its weights, its execution context, and buffers of the runtime.
  void read_engine(const LogLine& line) {
    ServerMemory& m = s_.memory;
    if (const auto said = line.size_behind("Loaded engine size: ")) m.weights = said;
    if (line.says("in IExecutionContext creation") && !m.weights) m.weights = managed(line);
    if (const auto said = counted_bytes(line, "Total Weights Memory: ")) m.weights = said;
    if (const auto said = counted_bytes(line, "Total Activation Memory: ")) m.activations = said;
    if (line.says(" for execution context memory")) m.activations = line.size_behind("Allocated ");
    if (line.says(" GPU memory for runtime buffers")) runtime_ = line.size_behind("Allocated ");
    if (line.says(" GPU memory for decoder")) decoder_ = line.size_behind("Allocated ");
  }
  /// GPU memory in text such as "now: CPU 0, GPU 6166 (MiB)".
  static std::optional<LoggedBytes> managed(const LogLine& line) {
    const auto now = line.behind(" now: ");
    const auto mib = now ? LogLine{*now, line.file, line.number}.count_behind("GPU ") : std::nullopt;
    if (!mib || *mib == 0) return std::nullopt;
    constexpr Count one = Count{1} << 20;
    return LoggedBytes{Bytes(mul(*mib, one)), Bytes(one / 2)};
  }
  static std::optional<LoggedBytes> counted_bytes(const LogLine& line, std::string_view words) {
    const auto n = line.count_behind(words);
    return n ? std::optional(LoggedBytes{Bytes(*n), Bytes()}) : std::nullopt;
  }

  /// Reads the cache. The PyTorch backend first allocates a small cache for profiling, so the last cache counts.
  void read_cache(const LogLine& line) {
    if (line.says("paged KV cache (")) {
      cache_ = line;
      s_.memory.kv_cache = line.size_behind("Allocated ");
      s_.tokens = line.count_behind("paged KV cache (");
    }
    if (line.says(" for k/v cache")) s_.memory.kv_cache = counted_bytes(line, "Allocate ");
    if (const auto n = line.count_behind("Using "); n && line.says(" tokens in paged KV cache")) s_.tokens = n;
    if (line.says("paged kv cache: total: ")) available_ = line.size_behind("available: ");
    if (const auto n = line.count_behind("Number of tokens per block: ")) s_.config.block_size = n;
  }

  void read_limits(const LogLine& line) {
    ServerConfig& c = s_.config;
    if (const auto n = line.count_behind("] max_seq_len=")) c.max_model_len = n;
    if (const auto n = line.count_behind(" max_num_tokens=")) c.batched_tokens = n;
    if (const auto n = line.count_behind(" max_batch_size=")) c.sequences = n;
    if (const auto n = line.count_behind("Max Sequence Length: ")) c.max_model_len = n;
    if (line.says("are too large for at least one sequence")) s_.longest = line.count_behind("they are reduced to ");
    if (line.says("OutOfMemory (Requested size was")) {
      const auto asked = counted_bytes(line, "Requested size was ");
      s_.failure = ServerFailure{.asked = asked};
    }
  }

  void finish() {
    ServerMemory& m = s_.memory;
    m.workspaces = joined(runtime_, decoder_);
    if (available_ && m.kv_cache)
      m.free = {available_->bytes - m.kv_cache->bytes, available_->within + m.kv_cache->within};
    if (!m.free || m.free->bytes >= Bytes() - m.free->within) return;
    throw InputError(fmt::format(
        "{}: the cache has {:.2f} GiB, but {:.2f} GiB were available for it; pass the unmodified TensorRT-LLM log",
        cache_.where(), static_cast<double>(m.kv_cache->bytes.value) / 0x1p30,
        static_cast<double>(available_->bytes.value) / 0x1p30));
  }

  ServerStart s_;
  std::optional<LoggedBytes> available_, runtime_, decoder_;
  LogLine cache_{};
};

}  // namespace

const ServerReader tensorrt_llm_reader{
    .server = LoggedServer::tensorrt_llm, .words = tensorrt_words, .read = [](const std::vector<LogLine>& lines) {
      return TensorrtReader(lines).start();
    }};

}  // namespace llmcalc
