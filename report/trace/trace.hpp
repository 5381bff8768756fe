#pragma once
/// The schedule of one optimizer step as a trace for Chrome (chrome://tracing) and Perfetto (ui.perfetto.dev): JSON in
/// the Trace Event Format.

#include <string>

#include "ask/request/request.hpp"

namespace llmcalc {

/// A process per pipeline rank and a thread per stream: slots, layer work on the compute units, collectives inside
/// layers by network level, collectives among the ranks that hold the same weights, messages to the next and the
/// previous stage (a row for each message in flight), and transfers to and from the host. An event per slot and per
/// task (ph "X"), times in microseconds to three digits, named as in report/trace/trace_names.hpp. A slot's args name
/// its chunk of the model and its micro-batch, counted from 1; task names contain the micro-batch and the layer.
/// Times are the step times of the report. Precondition: the request has hardware and passed check().
std::string step_trace(const Request& r);

}  // namespace llmcalc
