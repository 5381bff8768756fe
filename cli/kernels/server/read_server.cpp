#include "cli/kernels/server/read_server.hpp"

#include <fmt/format.h>

#include "cli/kernels/server/http_get.hpp"
#include "evidence/bench/server_about.hpp"
#include "evidence/bench/server_counters.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

constexpr const char* metrics_path = "/metrics";

[[noreturn]] void refuse_status(const ServerAddress& server, int status) {
  const char* advice = "pass the address of a vLLM, SGLang or llama.cpp server";
  if (status == 404 || status == 501)
    advice = "start SGLang with --enable-metrics and llama.cpp's server with --metrics, or correct the address";
  if (status == 401 || status == 403)
    advice = "llmcalc sends no API key, so save the metrics twice and pass --bench BEFORE --bench AFTER --seconds N";
  if (status >= 300 && status < 400)
    advice = "llmcalc does not follow a redirect, so pass the address to which it leads";
  throw InputError(fmt::format("{}{}: the reply has status {}; {}", server.url(), metrics_path, status, advice));
}

/// The body of a document, or empty if the server does not serve it.
std::string served_document(const ServerAddress& server, std::string_view path) {
  try {
    const HttpReply reply = http_get(server, std::string(path));
    return reply.status == 200 ? reply.body : "";
  } catch (const InputError&) {
    return "";
  }
}

}  // namespace

Exposition server_metrics(const ServerAddress& server) {
  const HttpReply reply = http_get(server, metrics_path);
  if (reply.status != 200) refuse_status(server, reply.status);
  return Exposition(reply.body, server.url() + metrics_path);
}

BenchRun server_facts(const ServerAddress& server, const Exposition& metrics) {
  BenchRun run = counted_run(metrics, server.url() + metrics_path);
  const std::string label = std::exchange(run.model, "");  // the name under which the model is served
  for (const std::string_view path : about_paths(run.engine))
    if (run.version.empty() || run.model.empty()) add_about(run, served_document(server, path));
  if (run.model.empty()) run.model = label;
  return run;
}

}  // namespace llmcalc
