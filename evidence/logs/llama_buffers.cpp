#include "evidence/logs/llama_buffers.hpp"

#include <algorithm>
#include <array>

namespace llmcalc {

namespace {

constexpr std::string_view buffer_words = " buffer size =";

struct UseWord {
  std::string_view word;
  BufferUse use;
};
constexpr std::array use_words{UseWord{"model", BufferUse::weights}, UseWord{"KV", BufferUse::cache},
                               UseWord{"RS", BufferUse::cache}, UseWord{"compute", BufferUse::compute},
                               UseWord{"output", BufferUse::output}};

/// Removes the last word of the text and returns it.
std::string_view last_word(std::string_view& text) {
  while (text.ends_with(' ')) text.remove_suffix(1);
  const std::size_t space = text.rfind(' ');
  const std::string_view word = text.substr(space == std::string_view::npos ? 0 : space + 1);
  text.remove_suffix(word.size());
  return word;
}

/// Device of a buffer type: "MTL0" for "MTL0_Mapped".
std::string device_of(std::string_view type) {
  for (const std::string_view suffix : {"_Mapped", "_Split", "_Private"})
    if (type.ends_with(suffix)) return std::string(type.substr(0, type.size() - suffix.size()));
  return std::string(type);
}

void increase(LoggedBytes& to, const LoggedBytes& by) { to = {to.bytes + by.bytes, to.within + by.within}; }

std::optional<LoggedBytes> size_of(const std::map<std::string, LoggedBytes, std::less<>>& all,
                                   std::string_view device) {
  const auto found = all.find(device);
  return found == all.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

bool is_host_buffer(std::string_view device) { return device.starts_with("CPU") || device.ends_with("_Host"); }

std::optional<LlamaBuffer> llama_buffer_at(const LogLine& line) {
  const auto size = line.size_behind(buffer_words);
  if (!size) return std::nullopt;
  std::string_view before = line.text.substr(0, line.text.find(buffer_words));
  LlamaBuffer b{.bytes = *size};
  std::string_view word = last_word(before);
  const auto* use = std::find_if(use_words.begin(), use_words.end(), [&](const UseWord& u) { return u.word == word; });
  if (use != use_words.end()) {  // before 2024-12, weight lines had no such word
    b.use = use->use;
    word = last_word(before);
  }
  const std::string_view owner = last_word(before);
  if (!owner.ends_with(':') || word.empty()) return std::nullopt;
  b.owner = std::string(owner);
  b.device = std::string(word);
  return b;
}

void LlamaBuffers::add(const LlamaBuffer& b) {
  const std::string device = device_of(b.device);
  if (!is_host_buffer(device)) name_device(device);
  if (b.device == "CPU_Mapped") mapped_ = true;
  if (b.use == BufferUse::compute) return void(compute_[{b.owner, device}] = b.bytes);
  if (b.use == BufferUse::output) return void(output_[device] = b.bytes);
  const bool of_draft = !draft_.empty() || (b.use == BufferUse::weights && !cache_.empty());
  increase((of_draft ? draft_ : b.use == BufferUse::weights ? weights_ : cache_)[device], b.bytes);
}

void LlamaBuffers::name_device(std::string_view device) {
  if (std::find(devices_.begin(), devices_.end(), device) == devices_.end()) devices_.emplace_back(device);
}

LoggedBytes LlamaBuffers::compute_of(std::string_view device) const {
  LoggedBytes sum;
  for (const auto& [of, bytes] : compute_)
    if (of.second == device) increase(sum, bytes);
  return sum;
}

LoggedBytes LlamaBuffers::on_host() const {
  LoggedBytes sum;
  for (const Sizes* all : {&weights_, &cache_, &draft_, &output_})
    for (const auto& [device, bytes] : *all)
      if (is_host_buffer(device)) increase(sum, bytes);
  for (const auto& [of, bytes] : compute_)
    if (is_host_buffer(of.second)) increase(sum, bytes);
  return sum;
}

void LlamaBuffers::settle(ServerStart& s) const {
  for (const auto& [device, bytes] : weights_)
    (is_host_buffer(device) ? s.spread.host_weights : s.spread.device_weights) += bytes.bytes;
  for (const auto& [device, bytes] : cache_) s.spread.cache += bytes.bytes;
  s.spread.mapped = mapped_;
  if (const LoggedBytes host = on_host(); host.bytes > Bytes()) s.memory.host = host;
  s.workers = static_cast<Count>(devices_.size());
  if (devices_.empty()) return;
  ServerMemory& m = s.memory;
  m.weights = size_of(weights_, devices_[0]);
  m.kv_cache = size_of(cache_, devices_[0]);
  m.draft = size_of(draft_, devices_[0]);
  if (const LoggedBytes compute = compute_of(devices_[0]); compute.bytes > Bytes()) m.activations = compute;
}

}  // namespace llmcalc
