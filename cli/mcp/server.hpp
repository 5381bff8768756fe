#pragma once
/// The MCP server on standard input and output.

namespace llmcalc::mcp {

/// Serves one client until its input ends, then lets running calls end for a second. Returns the exit code.
int serve_stdio();

}  // namespace llmcalc::mcp
