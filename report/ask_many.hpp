#pragma once
/// Many requests in one call.

#include <string>
#include <string_view>

#include "report/commands/runner.hpp"

namespace llmcalc {

/// Answers a list of requests, or a sweep (report/sweep/asked_points.hpp), with the shares of work that the runner has.
///
///   [request, ...]          ->  [ answer, ... ]: "[", then the texts of ask_text() separated by lines ",", then "]"
///   {"base", "ranges", ...} ->  {"columns": [name, ...], "rows": [[value, ...], ...]}
///
/// A sweep's columns are the swept keys, the fields and "error": the reason if a point is impossible, else null. An
/// invalid list or sweep gets the error object. Throws only std::bad_alloc.
std::string ask_many_text(std::string_view requests, Runner& runner);

}  // namespace llmcalc
