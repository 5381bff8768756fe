#include "evidence/logs/llama_lines.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calc/formats/dtype.hpp"
#include "presets/formats/gguf_mix.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

/// Text after " KEY = "; empty if the line does not have the key after a blank.
std::string_view value_of(const LogLine& line, std::string_view key) {
  const auto rest = line.behind(fmt::format(" {} ", key));
  if (!rest) return "";
  const std::size_t at = rest->find_first_not_of(' ');
  if (at == std::string_view::npos || rest->substr(at, 2) != "= ") return "";
  const std::string_view value = rest->substr(at + 2);
  return value.substr(std::min(value.find_first_not_of(' '), value.size()));
}

std::optional<Count> count_of(const LogLine& line, std::string_view key) {
  return LogLine{value_of(line, key), line.file, line.number}.count_behind("");
}

std::string_view between(std::string_view text, std::string_view open, std::string_view close) {
  const std::size_t at = text.find(open);
  if (at == std::string_view::npos) return "";
  text.remove_prefix(at + open.size());
  return text.substr(0, text.find(close));
}

/// Throws if keys and values do not add up to the cache.
void check_cache(const LogLine& line, const LoggedBytes& all, const LoggedBytes& keys, const LoggedBytes& values) {
  const Bytes within = all.within + keys.within + values.within, gap = all.bytes - keys.bytes - values.bytes;
  if (gap <= within && gap >= Bytes() - within) return;
  throw InputError(fmt::format(
      "{}: a cache of {:.2f} MiB has {:.2f} MiB of keys and {:.2f} MiB of values; pass the unmodified llama.cpp log",
      line.where(), static_cast<double>(all.bytes.value) / 0x1p20, static_cast<double>(keys.bytes.value) / 0x1p20,
      static_cast<double>(values.bytes.value) / 0x1p20));
}

/// Name of a cache format: "q8_0" if keys and values have the same format, otherwise "k=q8_0,v=f16".
std::string cache_format(std::string_view keys, std::string_view values) {
  if (keys == values) return std::string(keys);
  return keys.empty() || values.empty() ? "" : fmt::format("k={},v={}", keys, values);
}

/// File name in a path; empty for a blob, whose name is only a hash.
std::string file_name(std::string_view path) {
  const std::string_view name = path.substr(path.find_last_of("/\\") + 1);
  return name.starts_with("sha256-") ? "" : std::string(name);
}

std::string with_hyphens(std::string_view name) {
  std::string s(name.substr(0, name.find_last_not_of(' ') + 1));
  std::replace(s.begin(), s.end(), ' ', '-');
  return s;
}

FailedPart part_of_failure(const LogLine& line) {
  if (line.says("alloc_tensor_range") || line.says("unable to allocate")) return FailedPart::weights;
  if (line.says("gallocr") || line.says("compute buffers")) return FailedPart::activations;
  return line.says("kv cache") ? FailedPart::kv_cache : FailedPart::unknown;
}

}  // namespace

std::string gguf_file_type(std::string_view said) {
  if (said.starts_with("all ") || said.starts_with("mostly ")) said.remove_prefix(said.find(' ') + 1);
  const std::string name = lower(said.substr(0, said.find(' ')));
  const std::string_view size = between(said, " - ", " ");
  for (const std::string& with : {name + (size.empty() ? "" : "_" + lower(size.substr(0, 1))), name})
    if (is_gguf_mix(with)) return with;
  if (name == "f32" || name == "f16") return name == "f32" ? "fp32" : "fp16";
  return dtype(name) ? name : "";
}

void LlamaLines::read(const LogLine& line) {
  read_version(line);
  read_model(line);
  read_device(line);
  if (const auto buffer = llama_buffer_at(line)) buffers_.add(*buffer);
  read_cache(line);
  read_limits(line);
  read_failure(line);
}

void LlamaLines::clear() {
  buffers_.clear();
  s_.tokens.reset();
  s_.failure.reset();
}

void LlamaLines::read_version(const LogLine& line) {
  if (s_.server != LoggedServer::llama_cpp) return;
  for (const char* words : {"build: ", "build_info: b", " build="})
    if (const auto n = line.count_behind(words)) s_.config.version = fmt::format("b{}", *n);
}

void LlamaLines::read_model(const LogLine& line) {
  ServerConfig& c = s_.config;
  if (line.says(" tensors from ") && line.says("loaded meta data"))
    take_said(c.model, file_name(between(line.text, " tensors from ", " (version")));
  if (c.model.empty()) take_said(c.model, with_hyphens(value_of(line, "general.name")));
  for (const char* key : {"file type", "model ftype"})
    if (c.file_type.empty()) take_said(c.file_type, gguf_file_type(value_of(line, key)));
  if (line.says("offloaded ") && line.says(" layers to GPU")) {
    const auto some = line.count_behind("offloaded "), all = line.count_behind("/");
    s_.spread.all_layers = some && all && *some == *all;
  }
}

/// Reads a line like "using device CUDA0 (NVIDIA RTX A6000) - 48267 MiB free".
void LlamaLines::read_device(const LogLine& line) {
  if (const auto free = line.size_before(" of free device memory")) projected_free_ = free;
  const std::string_view device = between(line.text, "using device ", " ");
  if (device.empty() || !line.says(" MiB free")) return;
  buffers_.name_device(device);
  if (!s_.memory.free_at_start) s_.memory.free_at_start = line.size_before(" free");
}

/// Reads the cache's size and formats from text like
/// "size = 6144.00 MiB ( 32768 cells,  48 layers,  4/1 seqs), K (f16): 3072.00 MiB, V (f16): 3072.00 MiB", or
/// "KV self size = ..." without cells. A cache for layers with windows has fewer cells.
void LlamaLines::read_cache(const LogLine& line) {
  const auto all = line.size_behind("size = ") ? line.size_behind("size = ") : line.size_behind("size  = ");
  const std::string_view keys = between(line.text, "K (", ")"), values = between(line.text, "V (", ")");
  if (const auto n = line.count_behind("kv_size = ")) s_.tokens = n;
  if (!all || keys.empty()) return;
  const auto of_keys = line.size_behind(fmt::format("K ({}): ", keys));
  const auto of_values = line.size_behind(fmt::format("V ({}): ", values));
  if (of_keys && of_values) check_cache(line, *all, *of_keys, *of_values);
  s_.config.cache_dtype = cache_format(keys, values);
  const auto cells = LogLine{between(line.text, "MiB (", "cells"), line.file, line.number}.count_behind("");
  const auto streams = line.says(" seqs)") ? line.count_behind("/") : std::nullopt;
  if (cells) s_.tokens = std::max(s_.tokens.value_or(0), mul(*cells, streams.value_or(1)));
}

void LlamaLines::read_limits(const LogLine& line) {
  ServerConfig& c = s_.config;
  if (const auto n = count_of(line, "n_ctx"); n && line.says("context")) {
    c.max_model_len = n;
    if (!s_.tokens) s_.tokens = n;
  }
  for (const char* key : {"n_ctx_seq", "n_ctx_per_seq"})
    if (const auto n = count_of(line, key)) c.max_model_len = n;
  if (const auto n = count_of(line, "n_ubatch"); n && line.says("context")) c.batched_tokens = n;
  if (const auto n = count_of(line, "n_seq_max")) c.sequences = n;
}

/// Reads a failed memory request. Its line states the bytes, and the next line names the buffer. If the server starts
/// nevertheless, a retry succeeded.
void LlamaLines::read_failure(const LogLine& line) {
  if (line.says("out of memory") && line.says("allocating "))
    s_.failure = ServerFailure{.asked = line.size_behind("allocating ")};
  const bool names_part = line.says("failed to allocate") || line.says("unable to allocate");
  if (names_part) {
    if (!s_.failure) s_.failure.emplace();
    if (s_.failure->part == FailedPart::unknown) s_.failure->part = part_of_failure(line);
  }
  for (const char* words : {"server is listening", "load_model: initializing, n_slots", "llama runner started"})
    if (line.says(words)) s_.failure.reset();
}

ServerStart LlamaLines::finished() && {
  buffers_.settle(s_);
  if (!s_.memory.free_at_start && s_.workers == 1) s_.memory.free_at_start = projected_free_;
  return std::move(s_);
}

}  // namespace llmcalc
