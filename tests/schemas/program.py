"""Runs llmcalc: commands, and an MCP session for many requests in one process."""

import json
import os
import subprocess

PROGRAM = os.environ.get("LLMCALC", "build/release/cli/llmcalc")


def printed(arguments):
    """Standard output of a command, whatever its exit code."""
    return subprocess.run(f"'{PROGRAM}' {arguments}", shell=True, capture_output=True, text=True, check=False).stdout


def error_of(arguments):
    return subprocess.run(f"'{PROGRAM}' {arguments}", shell=True, capture_output=True, text=True, check=False).stderr


class Session:
    """An MCP session over the program's standard streams."""

    def __init__(self):
        self._program = subprocess.Popen([PROGRAM, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._ids = 0
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}})

    def line(self, method, params):
        """The line that answers a request."""
        self._ids += 1
        message = {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params}
        self._program.stdin.write(json.dumps(message) + "\n")
        self._program.stdin.flush()
        return self._program.stdout.readline()

    def ask(self, method, params):
        return json.loads(self.line(method, params))

    def answer_text(self, request):
        """The answer to a request as ask() takes it: the bytes of --json without spaces outside strings."""
        arguments = {key: value for key, value in request.items() if key != "command"}
        tool = request["command"].replace(" ", "_")
        line = self.line("tools/call", {"name": tool, "arguments": arguments})
        mark = '"structuredContent":'
        return line[line.index(mark) + len(mark) : line.rindex("}}")]

    def close(self):
        self._program.stdin.close()
        return self._program.wait(timeout=10)
