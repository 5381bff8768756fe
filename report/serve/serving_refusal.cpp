#include "report/serve/serving_refusal.hpp"

#include <fmt/format.h>

#include <utility>

#include "ask/answer/inference.hpp"
#include "ask/answer/serving/engine.hpp"
#include "ask/answer/serving/serving.hpp"
#include "ask/request/request.hpp"
#include "ask/request/server.hpp"
#include "report/brief/brief.hpp"
#include "report/brief/memory_bar.hpp"
#include "report/infer/remedy_finding.hpp"
#include "report/question.hpp"
#include "report/report.hpp"
#include "report/serve/serving_report.hpp"
#include "report/serve/serving_sections.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

std::string why_no_room(const Request& r, const ServingEngine& e) {
  const EngineMemory& m = e.memory;
  if (m.kv_cache <= Bytes())
    return fmt::format(
        "no: weights ({}) plus activations and libraries ({}) use up the {} per GPU, leaving no memory for a KV cache",
        bytes_text(m.weights + m.media_encoders + m.padding + m.draft + m.adapters),
        bytes_text(m.activations + m.libraries + m.graphs), bytes_text(m.granted));
  if (m.token_cache == Bytes())
    return fmt::format("no: the cache of {} is smaller than the state of one sequence, {}", bytes_text(m.kv_cache),
                       bytes_text(m.state));
  return fmt::format("no: the KV cache of {} fits {} tokens, but a request has {}", bytes_text(m.kv_cache), e.longest,
                     usual_tokens(r));
}

}  // namespace

std::vector<Finding> no_room_findings(const Request& r, const ServingEngine& e) {
  return {{"fits", why_no_room(r, e), true}, remedy_finding(InferenceAnswer(r))};
}

Report refused_serving_report(const Request& r, const ServingEngine& e) {
  Report report = serving_head(r);
  report.verdict = no_room_findings(r, e);
  report.sections = {engine_memory_section(r, e)};
  report.brief = brief_of(r, "engine_memory.kv_cache_bytes", false);
  report.brief->bars = {memory_bar(e, r.hardware->cluster.device.memory)};
  return report;
}

}  // namespace llmcalc
