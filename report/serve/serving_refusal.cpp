#include "report/serve/serving_refusal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <utility>

#include "ask/answer/serving/engine.hpp"
#include "ask/answer/serving/serving.hpp"
#include "ask/request/check/check.hpp"
#include "ask/request/options.hpp"
#include "ask/request/request.hpp"
#include "ask/request/server.hpp"
#include "ask/request/settle.hpp"
#include "report/question.hpp"
#include "report/report.hpp"
#include "report/serve/serving_report.hpp"
#include "report/serve/serving_sections.hpp"
#include "text/error.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

/// One option that could help; `family`: only for models whose checkpoints come in this format.
struct EngineChange {
  std::string_view flag, value, family = {};
};
constexpr std::array engine_changes{EngineChange{"--tp", "2"},
                                    EngineChange{"--tp", "4"},
                                    EngineChange{"--tp", "8"},
                                    EngineChange{"--tp", "16"},
                                    EngineChange{"--pp", "2"},
                                    EngineChange{"--pp", "4"},
                                    EngineChange{"--pp", "8"},
                                    EngineChange{"--offload", "weights:0.5"},
                                    EngineChange{"--weight-precision", "experts=mxfp4", "gpt-oss"},
                                    EngineChange{"--weight-precision", "fp8"},
                                    EngineChange{"--weight-precision", "awq"},
                                    EngineChange{"--kv-precision", "fp8"},
                                    EngineChange{"--max-seqs", "64"},
                                    EngineChange{"--memory-utilization", "0.95"}};

/// Whether the engine can hold a request after the change.
bool has_room_with(const Request& r, const EngineChange& change) {
  try {
    Request one = r;
    give(one, *find_option(change.flag), change.value);
    settle(one);
    check(one);
    return holds_a_request(one, serving_engine(one));
  } catch (const InputError&) {
    return false;
  }
}

/// For each option, the first value that suffices: "--tp 2".
std::vector<std::string> what_helps(const Request& r) {
  std::vector<std::string> all;
  std::string_view last;
  for (const EngineChange& change : engine_changes) {
    if (change.flag == last || !r.model.name.starts_with(change.family) || !has_room_with(r, change)) continue;
    last = change.flag;
    all.push_back(fmt::format("{} {}", change.flag, change.value));
  }
  return all;
}

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
  const std::vector<std::string> helps = what_helps(r);
  return {{"fits", why_no_room(r, e), true},
          {"helps", helps.empty() ? "no single option; combine several, or use another device"
                                  : fmt::format("{}: {} makes a request fit", fmt::join(helps, "; "),
                                                helps.size() == 1 ? "it" : "each of them")}};
}

Report refused_serving_report(const Request& r, const ServingEngine& e) {
  Report report = serving_head(r);
  report.verdict = no_room_findings(r, e);
  report.sections = {engine_memory_section(r, e)};
  return report;
}

}  // namespace llmcalc
