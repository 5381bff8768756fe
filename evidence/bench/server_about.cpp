#include "evidence/bench/server_about.hpp"

#include <array>

#include "text/error.hpp"
#include "text/json.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

// vLLM:      vllm/entrypoints/openai/api_server.py: {"version"}; /v1/models: {"data": [{"id", "root"}]}
// SGLang:    python/sglang/srt/entrypoints/http_server.py: the server's arguments and {"version"}
// llama.cpp: tools/server/README.md: {"model_path", "build_info": "b6123-07fbe19f"}
constexpr std::array<std::string_view, 2> vllm_paths{"/version", "/v1/models"};
constexpr std::array<std::string_view, 3> sglang_paths{"/server_info", "/get_server_info", "/v1/models"};
constexpr std::array<std::string_view, 2> llama_paths{"/props", "/v1/models"};

constexpr std::size_t longest_name = 200, longest_version = 40;
constexpr std::string_view version_characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+-";
constexpr Count most_ranks = 1 << 20;

std::string text_at(const json::Value& v, const char* key) {
  const auto found = v.is_object() ? v.find(key) : v.end();
  if (found == v.end() || !found->is_string()) return "";
  return shortened(printable(found->get<std::string>()), longest_name);
}

void add_model(std::string& model, const std::string& text) {
  if (model.empty()) model = text;
}

void add_version(std::string& version, const std::string& text) {
  const bool valid = text.size() <= longest_version && text.find_first_not_of(version_characters) == std::string::npos;
  if (version.empty() && valid) version = text;
}

void add_ranks(std::optional<Count>& ranks, const json::Value& v, const char* key) {
  const auto found = v.find(key);
  if (ranks || found == v.end() || !found->is_number_integer()) return;
  const Count n = found->get<Count>();
  if (n >= 1 && n <= most_ranks) ranks = n;
}

void add_object(BenchRun& run, const json::Value& v) {
  const std::string build = text_at(v, "build_info");
  add_version(run.version, text_at(v, "version"));
  add_version(run.version, build.substr(0, build.find('-')));
  add_model(run.model, text_at(v, "model_path"));
  add_ranks(run.tp, v, "tp_size");
  add_ranks(run.pp, v, "pp_size");
  const auto data = v.find("data");
  if (data == v.end() || !data->is_array() || data->empty()) return;
  add_model(run.model, text_at(data->front(), "root"));
  add_model(run.model, text_at(data->front(), "id"));
}

}  // namespace

std::span<const std::string_view> about_paths(std::string_view engine) {
  if (engine == "vllm") return vllm_paths;
  if (engine == "sglang") return sglang_paths;
  return llama_paths;
}

void add_about(BenchRun& run, const std::string& document) {
  try {
    const json::Value v = json::parse(document, "the server");
    if (v.is_object()) add_object(run, v);
  } catch (const InputError&) {  // the user's options state the missing facts
  }
}

}  // namespace llmcalc
