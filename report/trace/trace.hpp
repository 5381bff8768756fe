#pragma once
/// The schedule of one optimizer step as a trace of events that Chrome (chrome://tracing) and Perfetto
/// (ui.perfetto.dev) show: JSON in the Trace Event Format.

#include <string>

#include "ask/request/request.hpp"

namespace llmcalc {

/// A process per pipeline rank and a thread per stream: its slots, the work of their layers on its compute units, the
/// exchanges inside layers by level of the network, those with the ranks that hold the same weights, its messages to
/// the next stage and to the one before (in as many rows as are on their way at once), and the ways to and from the
/// host. An event per slot and per task (ph "X"), times in microseconds to three digits, named as
/// report/trace_names.hpp has it; a slot's args say which chunk of the model and which micro-batch, both counted from
/// 1, and names of tasks have micro-batch and layer. Times are those that the report calls the step's. Precondition:
/// the request has hardware and passed check().
std::string step_trace(const Request& r);

}  // namespace llmcalc
