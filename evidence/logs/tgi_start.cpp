/// Start-up of Text Generation Inference (0.9 to 3.3: launcher, router, flash_causal_lm.py). Its logs state the cache
/// size in tokens and blocks, not in bytes, and no version except a commit hash with --env.

#include <array>

#include "evidence/logs/server_reader.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

constexpr std::array<std::string_view, 5> tgi_words{"text_generation_launcher", "text_generation_router",
                                                    "text_generation_client", "text_generation_server",
                                                    "Setting max batch total tokens to "};

/// Value of an argument without "Some" and quotes: "4" for "num_shard: Some(4),". Empty for None.
std::string argument_of(const LogLine& line, std::string_view key) {
  auto rest = line.behind(" " + std::string(key) + ": ");
  if (!rest) return "";
  if (rest->starts_with("Some(")) rest->remove_prefix(5);
  const bool quoted = rest->starts_with('"');
  if (quoted) rest->remove_prefix(1);
  const std::string_view value = rest->substr(0, rest->find_first_of(quoted ? "\"" : ",)} "));
  return value == "None" ? "" : std::string(value);
}

class TgiReader {
 public:
  explicit TgiReader(const std::vector<LogLine>& lines) {
    s_.server = LoggedServer::tgi;
    for (const LogLine& line : lines) read(line);
  }
  ServerStart start() && { return std::move(s_); }

 private:
  void read(const LogLine& line) {
    if (line.says("Args {")) in_arguments_ = true;
    if (in_arguments_) read_arguments(line);
    if (line.text.ends_with('}')) in_arguments_ = false;
    if (const auto sha = line.behind("Docker label: sha-")) take_said(s_.config.version, "sha-" + word_at(*sha));
    if (const auto n = line.count_behind("Sharding model on ")) s_.config.tensor_parallel = n;
    read_cache(line);
    read_limits(line);
  }
  static std::string word_at(std::string_view text) { return std::string(text.substr(0, text.find(' '))); }

  void read_arguments(const LogLine& line) {
    ServerConfig& c = s_.config;
    take_said(c.model, argument_of(line, "model_id"));
    take_said(c.quantization, lower(argument_of(line, "quantize")));
    take_said(c.dtype, lower(argument_of(line, "dtype")));
    take_said(c.cache_dtype, lower(argument_of(line, "kv_cache_dtype")));
    count(c.tensor_parallel, line, "num_shard");
    count(c.batched_tokens, line, "max_batch_prefill_tokens");
    count(c.max_model_len, line, "max_total_tokens");
  }
  static void count(std::optional<Count>& to, const LogLine& line, std::string_view key) {
    const std::string said = argument_of(line, key);
    if (const auto n = LogLine{said, line.file, line.number}.count_behind("")) to = n;
  }

  void read_cache(const LogLine& line) {
    if (const auto n = line.count_behind("KV-cache blocks: ")) {
      s_.blocks = n;
      s_.config.block_size = line.count_behind(", size: ");
    }
    if (const auto n = line.count_behind("Setting max batch total tokens to ")) s_.tokens = n;
  }

  void read_limits(const LogLine& line) {
    ServerConfig& c = s_.config;
    if (const auto n = line.count_behind("`max_batch_prefill_tokens` to ")) c.batched_tokens = n;
    if (const auto n = line.count_behind("Maximum total tokens defaulted to ")) c.max_model_len = n;
    if (line.says("Not enough memory to handle"))
      s_.failure = ServerFailure{.part = line.says(" prefill tokens") ? FailedPart::activations : FailedPart::kv_cache};
  }

  ServerStart s_;
  bool in_arguments_ = false;
};

}  // namespace

const ServerReader tgi_reader{.server = LoggedServer::tgi,
                              .words = tgi_words,
                              .read = [](const std::vector<LogLine>& lines) { return TgiReader(lines).start(); }};

}  // namespace llmcalc
