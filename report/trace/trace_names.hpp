#pragma once
/// The words of a step's trace: of its slots, of their tasks, and of the rows in which they stand.

#include <string>
#include <string_view>

#include "calc/pipeline/events.hpp"

namespace llmcalc {

/// F3, B3, W3: a forward, gradients of inputs (of weights too where no W follows) and of weights of micro-batch 3,
/// counted from 1; 'F3 B1' of a forward and a backward in one slot.
std::string slot_name(const Task& slot);

/// 'F3 layer 5' and the like of work, R being forward work that runs again; 'F3 layer 5 tp' of an exchange, 'W3 reduce
/// layer 5' of what a slot reduces, 'reduce layer 5' of what a step does. `layers`: of the model.
std::string task_name(const Task& t, const TaskStream& s, Count layers);

/// The kind of a slot or a task, or the group of an exchange.
std::string_view task_category(const Task& t);

/// What a row is called that a viewer shows.
std::string stream_name(const TaskStream& s);

}  // namespace llmcalc
