#include "evidence/logs/server_start.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "text/error.hpp"

namespace llmcalc {

namespace {

constexpr std::array programs{ServerProgram{"vLLM", "vllm"},
                              ServerProgram{"SGLang", "sglang"},
                              ServerProgram{"TensorRT-LLM", "tensorrt-llm"},
                              ServerProgram{"llama.cpp", "llama.cpp"},
                              ServerProgram{"Ollama", "llama.cpp"},
                              ServerProgram{"TGI", "tgi"}};
static_assert(programs.size() == choices<LoggedServer>.size());

double in_gib(Bytes b) { return static_cast<double>(b.value) / 0x1p30; }

/// Throws if any term exceeds the device memory.
void check_parts(const ServerStart& s, std::string_view file) {
  const ServerMemory& m = s.memory;
  if (!m.total) return;
  for (const auto& part : {m.granted, m.free_at_start, m.weights, m.activations, m.libraries, m.kv_cache, m.graphs,
                           m.draft, m.workspaces, m.free})
    if (part && part->bytes > m.total->bytes + part->within + m.total->within)
      throw InputError(fmt::format("{}: {:.2f} GiB exceeds the device memory of {:.2f} GiB; pass the unmodified {} log",
                                   file, in_gib(part->bytes), in_gib(m.total->bytes), program(s.server).title));
}

/// Throws if a device's terms add up to more than the memory that was free at the start or, if that was not logged,
/// to more than its total memory. For vLLM, which states a grant, and llama.cpp, which may share memory with the
/// host, the excess is reported instead.
void check_sum(const ServerStart& s, std::string_view file) {
  const ServerMemory& m = s.memory;
  const auto& whole = m.free_at_start ? m.free_at_start : m.total;
  if (!whole || s.server == LoggedServer::vllm || is_llama(s.server)) return;
  LoggedBytes sum{{}, whole->within};
  for (const auto& part : {m.weights, m.libraries, m.activations, m.kv_cache, m.draft, m.workspaces, m.graphs, m.free})
    if (part) sum = {sum.bytes + part->bytes, sum.within + part->within};
  constexpr Bytes slack{Count{64} << 20};  // other processes may free memory during the start
  if (sum.bytes > whole->bytes + sum.within + slack)
    throw InputError(
        fmt::format("{}: the terms add up to {:.2f} GiB, but {:.2f} GiB were free before the start; pass "
                    "the unmodified {} log",
                    file, in_gib(sum.bytes), in_gib(whole->bytes), program(s.server).title));
}

void check_tokens(const ServerStart& s, std::string_view file) {
  try {
    s.cache_tokens();
  } catch (const Overflow&) {
    throw InputError(fmt::format("{}: the cache has {} blocks, or more than 2^63 tokens; pass the unmodified {} log",
                                 file, *s.blocks, program(s.server).title));
  }
}

}  // namespace

const ServerProgram& program(LoggedServer s) { return programs[static_cast<std::size_t>(s)]; }

void take_said(std::string& to, const std::string& said) {
  if (!said.empty()) to = said;
}

std::optional<LoggedBytes> joined(const std::optional<LoggedBytes>& a, const std::optional<LoggedBytes>& b) {
  if (!a || !b) return a ? a : b;
  return LoggedBytes{a->bytes + b->bytes, a->within + b->within};
}

void check_start(const ServerStart& s, std::string_view file) {
  check_parts(s, file);
  check_sum(s, file);
  check_tokens(s, file);
}

std::optional<Count> ServerStart::cache_tokens() const {
  constexpr Count usual_block = 16;
  if (tokens) return tokens;
  if (!blocks) return std::nullopt;
  if (config.block_size) return mul(*blocks, *config.block_size);
  if (!concurrency || !config.max_model_len || *blocks == 0) return mul(*blocks, usual_block);
  const double per_block = *concurrency * static_cast<double>(*config.max_model_len) / static_cast<double>(*blocks);
  if (per_block > 0x1p62) overflow();
  return mul(*blocks, std::max<Count>(1, std::llround(per_block)));
}

bool ServerStart::says_memory() const {
  const ServerMemory& m = memory;
  return m.weights || m.weights_and_libraries || m.kv_cache || m.total || m.graphs || m.host || m.activations ||
         m.granted || m.free || cache_tokens() || cache_needed || failure;
}

}  // namespace llmcalc
