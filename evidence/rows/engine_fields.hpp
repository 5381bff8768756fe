#pragma once
/// Engine fields shared by inference measurements and recorded runs (evidence/rows/json_fields.hpp).

#include "ask/request/request.hpp"
#include "evidence/names/engine_name.hpp"
#include "evidence/names/inference_stack.hpp"
#include "evidence/rows/json_fields.hpp"
#include "presets/estimators/engine_memory_table.hpp"

namespace llmcalc {

inline constexpr Parts inference_parts_of_request = part::inference | part::one_batch | part::fit | part::serving;

template <typename Io, typename C>
void engine_fields(Io& io, C& c) {
  io("name", c.engine.name);
  io("version", c.engine.version);
  io("known", c.engine.known, true);
  io("eager", c.engine.eager);
}

template <typename Io, typename C>
void limit_fields(Io& io, C& c) {
  const EngineLimits usual = default_limits(c.engine, ranks(c.layout, Group::tensor), c.on.hardware);
  io("pass_tokens", c.limits.pass_tokens, usual.pass_tokens);
  io("sequences", c.limits.sequences, usual.sequences);
  io("block_tokens", c.limits.block_tokens, usual.block_tokens);
  io("poll_passes", c.limits.poll_passes, usual.poll_passes);
}

/// Reads "engine": a name or an object; vLLM if absent.
template <typename C>
void read_engine(const json::Object& row, C& c) {
  const json::Value* v = row.find("engine");
  if (v != nullptr && v->is_string())
    c.engine = {.name = v->get<std::string>()};
  else
    FieldReader(row).object("engine", [&](auto& in) { engine_fields(in, c); });
  if (c.engine.name.empty()) c.engine.name = "vllm";
}

}  // namespace llmcalc
