#include "cli/mcp/server.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "cli/mcp/line_reader.hpp"
#include "cli/mcp/session.hpp"
#include "cli/output.hpp"
#include "cli/stop.hpp"
#include "text/error.hpp"

namespace llmcalc::mcp {
namespace {

/// Writes a line to the client. Ends the program if the client reads no more: nobody awaits the other answers.
void send_line(const std::string& line) {
  try {
    write_out(line + "\n");
  } catch (const PipeClosed&) {
    ::_exit(0);
  } catch (const InputError& e) {
    say(fmt::format("llmcalc: {}", e.what()));
    ::_exit(2);
  }
}

ProtocolError too_long() {
  return {Code::invalid_request,
          fmt::format("the message exceeds the limit of {} MiB; send a smaller one", json::max_bytes >> 20)};
}

}  // namespace

int serve_stdio() {
  constexpr std::chrono::milliseconds patience{1000};
  stop_at_once();
  LineReader lines(STDIN_FILENO, json::max_bytes);
  Session session(send_line);
  while (const auto line = lines.next()) line->too_long ? session.refuse(too_long()) : session.receive(line->text);
  if (!session.finish(patience)) ::_exit(0);  // a call that does not look at its flag
  return 0;
}

}  // namespace llmcalc::mcp
