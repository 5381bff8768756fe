#pragma once
/// The schedule of one optimizer step as a trace of events that Chrome (chrome://tracing) and Perfetto
/// (ui.perfetto.dev) show: JSON in the Trace Event Format.

#include <string>

#include "report/request.hpp"

namespace llmcalc {

/// A process per pipeline rank and a thread per stream: its compute units, its exchanges with the ranks that hold the
/// same weights, its messages to the next stage and to the one before (in as many rows as are on their way at once).
/// An event per task (ph "X"), times in microseconds to three digits: F3, B3, W3 are a forward, gradients of inputs (of
/// weights too where no W follows) and of weights of micro-batch 3; its args say which chunk of the model, both counted
/// from 1. Times are those that the report calls the step's. Precondition: the request has hardware and passed check().
std::string step_trace(const Request& r);

}  // namespace llmcalc
