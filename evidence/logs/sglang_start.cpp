/// Start-up of SGLang (0.2.14 to 2026: model_runner.py, memory_pool.py, scheduler.py). "GB" is 2^30 bytes. Sizes are
/// differences in the free memory of a rank's GPU. The log does not state SGLang's version.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "evidence/logs/server_reader.hpp"
#include "text/error.hpp"

namespace llmcalc {

namespace {

constexpr std::array<std::string_view, 6> sglang_words{"sglang",
                                                       "Load weight begin. avail mem",
                                                       "Load weight end. ",
                                                       "Memory pool end. avail mem",
                                                       "scheduler is dead",
                                                       "KV Cache is allocated. "};

/// Rank that logged a line: "DP0 TP3" in "[2025-03-08 12:29:11 DP0 TP3] ..."; empty if the line does not name it.
std::string rank_of(const LogLine& line) {
  const std::size_t close = line.text.find(']'), at = line.text.find_first_of("DPT");
  if (close == std::string_view::npos || at == std::string_view::npos || at > close) return "";
  return line.text.starts_with('[') ? std::string(line.text.substr(at, close - at)) : "";
}

class SglangReader {
 public:
  explicit SglangReader(const std::vector<LogLine>& lines) {
    s_.server = LoggedServer::sglang;
    choose_rank(lines);
    for (const LogLine& line : lines) {
      if (line.says("server_args=")) read_arguments(line);
      if (rank_of(line) == rank_) read(line);
    }
    finish();
  }
  ServerStart start() && { return std::move(s_); }

 private:
  /// Chooses the lowest rank that logs memory, because ranks log in arbitrary order.
  void choose_rank(const std::vector<LogLine>& lines) {
    std::set<std::pair<std::size_t, std::string>> ranks;
    for (const LogLine& line : lines)
      if (line.says("Load weight") || line.says("KV Cache is allocated"))
        ranks.emplace(rank_of(line).size(), rank_of(line));
    s_.workers = static_cast<Count>(ranks.size());
    if (!ranks.empty()) rank_ = ranks.begin()->second;
  }

  void read_arguments(const LogLine& line) {
    ServerConfig& c = s_.config;
    take_said(c.model, line.setting("model_path"));
    take_said(c.dtype, line.setting("dtype"));
    take_said(c.quantization, line.setting("quantization"));
    take_said(c.cache_dtype, line.setting("kv_cache_dtype"));
    c.tensor_parallel = line.count_behind(" tp_size=");
    c.pipeline_parallel = line.count_behind(" pp_size=");
    c.expert_parallel = line.count_behind(" ep_size=").value_or(1) > 1;
    c.utilization = line.real_behind(" mem_fraction_static=");
  }

  void read(const LogLine& line) {
    if (line.says("Init torch distributed") && !s_.memory.weights) s_.memory.libraries = line.size_behind("mem usage=");
    if (line.says("Load weight begin")) {
      before_weights_ = line.size_behind("avail mem=");
      if (!before_) before_ = before_weights_;
    }
    if (line.says("Load weight end")) read_weights(line);
    if (line.says("KV Cache is allocated") || line.says("Mamba Cache is allocated")) read_cache(line);
    if (line.says("Memory pool end")) pools_ended_ = true;
    if (line.says(" graph end")) s_.memory.graphs = joined(s_.memory.graphs, line.size_behind("mem usage="));
    if (const auto left = line.size_behind("avail mem=")) s_.memory.free = left;
    read_limits(line);
  }

  /// Reads a model's weights. The second model loaded is a draft model.
  void read_weights(const LogLine& line) {
    const auto left = line.size_behind("avail mem=");
    const auto used = line.size_behind("mem usage=");
    const auto difference = left && before_weights_ ? minus(*before_weights_, *left) : std::nullopt;
    if (used && difference) check_difference(line, *used, *difference);
    const auto weights = used ? used : difference;
    if (s_.memory.weights) return void(s_.memory.draft = joined(s_.memory.draft, weights));
    s_.memory.weights = weights;
    if (!before_ && left && weights) before_ = joined(left, weights);
    take_said(s_.config.dtype, line.setting("dtype"));
    take_said(s_.config.quantization, line.setting("quant"));
  }
  static std::optional<LoggedBytes> minus(const LoggedBytes& a, const LoggedBytes& b) {
    return LoggedBytes{a.bytes - b.bytes, a.within + b.within};
  }
  static void check_difference(const LogLine& line, const LoggedBytes& used, const LoggedBytes& difference) {
    const Bytes within = used.within + difference.within, gap = used.bytes - difference.bytes;
    if (gap <= within && gap >= Bytes() - within) return;
    throw InputError(fmt::format(
        "{}: the weights take {:.2f} GiB, but the free memory fell by {:.2f} GiB; pass the unmodified SGLang log",
        line.where(), static_cast<double>(used.bytes.value) / 0x1p30,
        static_cast<double>(difference.bytes.value) / 0x1p30));
  }

  /// Adds up the pools of all kinds of layers. Pools logged after the first "Memory pool end" belong to a draft model.
  void read_cache(const LogLine& line) {
    auto& pool = pools_ended_ ? s_.memory.draft : s_.memory.kv_cache;
    for (const char* words : {" K size: ", " V size: ", " KV size: ", "conv_state size: ", " ssm_state size: "})
      pool = joined(pool, line.size_behind(words));
    if (const auto n = line.count_behind("#tokens: "); n && !pools_ended_)
      s_.tokens = std::max(*n, s_.tokens.value_or(0));
  }

  void read_limits(const LogLine& line) {
    ServerConfig& c = s_.config;
    if (const auto n = line.count_behind("max_total_num_tokens=")) s_.tokens = n;
    if (const auto n = line.count_behind(" context_len=")) c.max_model_len = n;
    if (const auto n = line.count_behind(" max_running_requests=")) c.sequences = n;
    if (const auto n = line.count_behind(" chunked_prefill_size=")) c.batched_tokens = n;
    if (line.says("Not enough memory. Please try to increase --mem-fraction-static"))
      s_.failure = ServerFailure{.part = FailedPart::kv_cache};
  }

  void finish() {
    ServerMemory& m = s_.memory;
    if (before_) m.free_at_start = joined(before_, m.libraries);
    if (!before_) m.free.reset();
  }

  ServerStart s_;
  std::string rank_;
  std::optional<LoggedBytes> before_weights_, before_;
  bool pools_ended_ = false;
};

}  // namespace

const ServerReader sglang_reader{.server = LoggedServer::sglang,
                                 .words = sglang_words,
                                 .read = [](const std::vector<LogLine>& lines) { return SglangReader(lines).start(); }};

}  // namespace llmcalc
