#pragma once
/// Reads a log of requests in CSV format (request_log.hpp).

#include <string>
#include <string_view>

#include "ask/answer/serving/log_format.hpp"
#include "ask/answer/serving/request_log.hpp"

namespace llmcalc {

/// Appends the requests of the text to the log. `where` names the text in errors.
void read_csv_log(std::string_view text, const std::string& where, RequestLog& log);

/// Records an ignored key or column. Throws InputError for a near miss of a name of the format.
void note_unused(RequestLog& log, const LogFormat& format, const std::string& name, const std::string& where);

}  // namespace llmcalc
