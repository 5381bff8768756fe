#include "presets/estimators/engine_memory_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calc/memory.hpp"
#include "presets/estimators/estimate.hpp"
#include "text/error.hpp"

namespace llmcalc {

namespace {

using Table = EngineMemoryTable;

double positive_number(const json::Object& o, std::string_view key) {
  const double x = o.number_or(key, -1);
  if (x <= 0) throw InputError(fmt::format("{}, \"{}\": expected a number above 0", o.where(), key));
  return x;
}

std::optional<Count> count_if_said(const json::Object& o, std::string_view key) {
  return o.has(key) ? std::optional(o.count(key)) : std::nullopt;
}

Bytes from_gib(double gib) { return Bytes(std::llround(gib * 0x1p30)); }

/// Reads a list of objects, each with a source. The last object should have no conditions, which guarantees a
/// matching entry.
template <typename Line, typename Read>
std::vector<Line> lines(const json::Object& table, std::string_view key, const Read& read) {
  std::vector<Line> all;
  const json::Value* list = table.find(key);
  if (list == nullptr || !list->is_array() || list->empty())
    throw InputError(fmt::format("{}, \"{}\": expected a list of objects", table.where(), key));
  for (std::size_t i = 0; i < list->size(); ++i) {
    const json::Object o((*list)[i], fmt::format("{}, \"{}\"[{}]", table.where(), key, i));
    o.text("source");
    all.push_back(read(o));
    o.refuse_unread();
  }
  return all;
}

/// The first entry that meets the condition, otherwise the last entry. Each list in the built-in table ends with an
/// unconditional entry.
template <typename Line, typename Holds>
const Line& first_line(const std::vector<Line>& all, const Holds& holds) {
  const auto found = std::find_if(all.begin(), all.end(), holds);
  return found == all.end() ? all.back() : *found;
}

EstimateInterval read_interval(const json::Object& intervals, std::string_view key) {
  const json::Object o = intervals.object(key);
  o.text("source");
  const EstimateInterval interval{.factor = positive_number(o, "factor"), .families = o.positive("families")};
  o.refuse_unread();
  return interval;
}

bool is_at_most(const std::optional<Count>& said, const std::optional<Count>& most) {
  return !most || (said && *said <= *most);
}

}  // namespace

EngineMemoryTable read_engine_memory_table(const json::Value& value, const std::string& where) {
  const json::Object o(value, where);
  o.text("name");
  o.text_or("title", "");
  Table t;
  const json::Object visible = o.object("visible");
  t.visible = positive_number(visible, "share");
  visible.text("source");
  visible.refuse_unread();
  t.logit_bytes = lines<Table::LogitBytes>(o, "logit_bytes", [](const json::Object& l) {
    return Table::LogitBytes{count_if_said(l, "until"), positive_number(l, "value")};
  });
  t.libraries = lines<Table::Libraries>(o, "libraries", [](const json::Object& l) {
    return Table::Libraries{count_if_said(l, "until"), count_if_said(l, "ranks"), l.text_or("architecture", ""),
                            from_gib(positive_number(l, "gib"))};
  });
  t.padding = lines<Table::Padding>(o, "padding", [](const json::Object& l) {
    return Table::Padding{count_if_said(l, "until"), l.text_or("architecture", ""), l.positive("width"),
                          l.positive("hidden")};
  });
  t.limits = lines<Table::Limits>(o, "limits", [](const json::Object& l) {
    return Table::Limits{count_if_said(l, "until"), from_gib(l.number_or("least_gib", 0)),
                         l.text_or("not", ""),      l.positive("sequences"),
                         l.positive("pass_tokens"), l.count_or("whole_prompts_to", 0)};
  });
  const json::Object intervals = o.object("intervals");
  t.pool = read_interval(intervals, "pool");
  t.process = read_interval(intervals, "process");
  intervals.refuse_unread();
  o.refuse_unread();
  return t;
}

const EngineMemoryTable& engine_memory_table() {
  static const EngineMemoryTable table = [] {
    const EstimateFile file = builtin_estimate("engine-memory");
    return read_engine_memory_table(file.value, file.where);
  }();
  return table;
}

EngineTerms engine_terms(const EngineHost& host) {
  const Table& t = engine_memory_table();
  const auto is_meant = [&](const Table::Libraries& l) {
    return is_at_most(host.version, l.until) && is_at_most(host.ranks, l.ranks) &&
           host.card.architecture.find(l.architecture) != std::string::npos;
  };
  return {.logit_bytes =
              first_line(t.logit_bytes, [&](const Table::LogitBytes& l) { return is_at_most(host.version, l.until); })
                  .value,
          .libraries = first_line(t.libraries, is_meant).bytes};
}

namespace {

/// Ratio of a padded size to the original size.
double padded_over(Count size, Count multiple) {
  return static_cast<double>(ceil_div(size, multiple) * multiple) / static_cast<double>(size);
}

}  // namespace

Bytes expert_padding(const EngineHost& host, const Arch& arch, const Plan& plan, const Layout& layout) {
  const WeightFormats& stored = plan.weight_precision;
  if (!arch.has_experts() || stored[Component::experts].name() != "mxfp4") return {};
  const Table::Padding& to = first_line(engine_memory_table().padding, [&](const Table::Padding& p) {
    return is_at_most(host.version, p.until) && host.card.architecture.find(p.architecture) != std::string::npos;
  });
  const Bytes experts = held_bytes(price_holdings(arch, plan, layout), stored, Component::experts);
  const Count width = ceil_div(arch.moe.width, ranks(layout, Group::expert_tensor));
  const double over = padded_over(width, to.width) * padded_over(arch.hidden, to.hidden);
  return Bytes(std::llround((over - 1) * static_cast<double>(experts.value)));
}

EngineTerms engine_terms(const EngineHost& host, const Arch& arch, const Plan& plan, const Layout& layout) {
  EngineTerms t = engine_terms(host);
  t.padding = expert_padding(host, arch, plan, layout);
  return t;
}

EngineLimits usual_limits(const EngineHost& host, Count longest) {
  const Table::Limits& l = first_line(engine_memory_table().limits, [&](const Table::Limits& said) {
    const bool excluded = !said.not_named.empty() && host.card.title.find(said.not_named) != std::string::npos;
    return is_at_most(host.version, said.until) && host.card.cluster.device.memory >= said.least && !excluded;
  });
  const Count whole = longest <= l.whole_prompts_to ? longest : 0;
  return {.pass_tokens = std::max(l.pass_tokens, whole), .sequences = l.sequences};
}

Bytes visible_memory(const HardwareCard& card) {
  if (card.visible > Bytes()) return card.visible;
  return granted_memory(card.cluster.device.memory, card.usable > 0 ? card.usable : engine_memory_table().visible);
}

}  // namespace llmcalc
