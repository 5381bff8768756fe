#include <unistd.h>

#include "cli/command.hpp"
#include "cli/mcp/server.hpp"
#include "cli/output.hpp"

namespace llmcalc {
namespace {

int run_mcp(const Arguments&) {
  if (::isatty(STDIN_FILENO) == 1)
    say("llmcalc: serving MCP on standard input, one JSON-RPC message per line; Ctrl-D ends it (docs/mcp.md)");
  return mcp::serve_stdio();
}

}  // namespace

const Command mcp_command{
    .name = "mcp",
    .arguments = "",
    .summary = "tools for agents over stdio",
    .about =
        "Serves the commands as tools of the Model Context Protocol on standard input and output, and presets and "
        "JSON Schemas as resources. Reads no files and runs no programs for its client. docs/mcp.md shows how clients "
        "start it.",
    .examples = "  claude mcp add llmcalc -- llmcalc mcp",
    .parts = part::help,
    .run = run_mcp};

}  // namespace llmcalc
