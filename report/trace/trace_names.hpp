#pragma once
/// Names of slots, tasks and rows in a step's trace.

#include <string>
#include <string_view>

#include "calc/pipeline/events.hpp"

namespace llmcalc {

/// Name of a slot: F3, B3 or W3 for the forward pass, the input gradients (also the weight gradients, unless a W
/// follows) or the weight gradients of micro-batch 3, counted from 1; 'F3 B1' for a forward and a backward pass in
/// one slot.
std::string slot_name(const Task& slot);

/// Name of a task: 'F3 layer 5' for work; R is recomputed forward work. 'F3 layer 5 tp' for a collective, 'W3 reduce
/// layer 5' for a reduction within a slot, 'reduce layer 5' for one per step. `layers`: number of layers in the
/// model.
std::string task_name(const Task& t, const TaskStream& s, Count layers);

/// The kind of a slot or task, or the group of a collective.
std::string_view task_category(const Task& t);

/// The displayed name of a row.
std::string stream_name(const TaskStream& s);

}  // namespace llmcalc
