#include "report/trace/trace_names.hpp"

#include <fmt/format.h>

#include <array>

namespace llmcalc {
namespace {

std::string with_number(std::string_view letter, Count micro_batch) {
  return fmt::format("{}{}", letter, micro_batch + 1);
}

std::string_view letter_of(TaskKind work) {
  switch (work) {
    case TaskKind::forward:
      return "F";
    case TaskKind::recomputed_forward:
      return "R";
    case TaskKind::backward:
    case TaskKind::backward_input:
      return "B";
    case TaskKind::backward_weight:
      return "W";
    default:
      return "";
  }
}

std::string unit_name(Count unit, Count layers) {
  if (unit == 0) return "embedding";
  if (unit <= layers) return fmt::format("layer {}", unit);
  return unit == layers + 1 ? "head" : fmt::format("module {}", unit - layers - 1);
}

std::string_view group_name(Group g) {
  constexpr std::array<std::string_view, group_count> names{"tp", "cp", "ep", "etp", "pp", "dp",
                                                            "dp", "dp", "dp", "dp",  "dp", "dcp"};
  return names[static_cast<std::size_t>(g)];
}

/// Name of a task that acts on a unit, such as a layer.
std::string done_for(const Task& t, const std::string& unit) {
  switch (t.kind) {
    case TaskKind::collective_call:
      return fmt::format("{} {}", unit, group_name(t.group));
    case TaskKind::gather_weights:
      return "gather " + unit;
    case TaskKind::reduce_gradients:
      return "reduce " + unit;
    case TaskKind::fetch_from_host:
      return unit + " from the host";
    case TaskKind::move_to_host:
    case TaskKind::offload_gradients:
      return unit + " to the host";
    default:
      return unit;
  }
}

/// Name of a task that does not act on a unit.
std::string_view name_alone(TaskKind k) {
  switch (k) {
    case TaskKind::reduce_gradients:
      return "sum shared gradients";
    case TaskKind::wait_to_send:
      return "wait to send";
    case TaskKind::update_on_host:
      return "optimizer on the host";
    default:
      return "optimizer";
  }
}

std::string level_name(Count level) {
  if (level == 0) return "inside a node";
  return level == 1 ? "between nodes" : fmt::format("level {} of the network", level + 1);
}

}  // namespace

std::string slot_name(const Task& slot) {
  if (slot.kind != TaskKind::forward_and_backward) return with_number(letter_of(slot.kind), slot.micro_batch);
  return with_number("F", slot.micro_batch) + " " + with_number("B", slot.backward_micro_batch);
}

std::string task_name(const Task& t, const TaskStream& s, Count layers) {
  if (t.kind == TaskKind::send_activation) return "send " + with_number("F", t.micro_batch);
  if (t.kind == TaskKind::send_gradient) return "send " + with_number("B", t.micro_batch);
  if (t.unit < 0) return std::string(name_alone(t.kind));
  const std::string done = done_for(t, unit_name(t.unit, layers));
  const std::string_view of = letter_of(s.lane == Lane::compute ? t.kind : t.within);
  return of.empty() ? done : with_number(of, t.micro_batch) + " " + done;
}

std::string_view task_category(const Task& t) {
  constexpr std::array<std::string_view, 18> names{"forward",
                                                   "backward",
                                                   "backward_input",
                                                   "backward_weight",
                                                   "forward_and_backward",
                                                   "forward_again",
                                                   "send_activation",
                                                   "send_gradient",
                                                   "wait_to_send",
                                                   "exchange",
                                                   "gather_weights",
                                                   "reduce_gradients",
                                                   "fetch_from_host",
                                                   "move_to_host",
                                                   "offload_gradients",
                                                   "optimizer",
                                                   "update_on_host",
                                                   "mark"};
  static_assert(names.size() == static_cast<std::size_t>(TaskKind::mark) + 1);
  return t.kind == TaskKind::collective_call ? group_name(t.group) : names[static_cast<std::size_t>(t.kind)];
}

std::string stream_name(const TaskStream& s) {
  switch (s.lane) {
    case Lane::compute:
      return "compute";
    case Lane::inside:
      return "layer collectives, " + level_name(s.level);
    case Lane::experts:
      return "expert collectives overlapped with another slot, " + level_name(s.level);
    case Lane::sharing:
      return "data parallel, " + level_name(s.level);
    case Lane::earlier:
      return "data parallel, earlier gradients, " + level_name(s.level);
    case Lane::messages:
      return s.backward ? "to the previous stage" : "to the next stage";
    case Lane::to_host:
      return "to the host";
    case Lane::from_host:
      return "from the host";
    case Lane::host:
      break;
  }
  return "host";
}

}  // namespace llmcalc
