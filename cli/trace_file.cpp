#include "cli/trace_file.hpp"

#include <algorithm>

#include "cli/out_file.hpp"
#include "report/trace/trace_text.hpp"
#include "text/binary_file.hpp"
#include "text/whole_file.hpp"

namespace llmcalc {
namespace {

/// Whether a file begins like the traces that this program writes.
bool is_trace(const std::string& path) {
  const BinaryFile file(path, "a trace");
  std::string head(std::min<std::size_t>(trace_begin.size(), static_cast<std::size_t>(file.size())), '\0');
  file.read(0, std::as_writable_bytes(std::span(head)), "its beginning");
  return head == trace_begin;
}

}  // namespace

void check_trace_out(const std::string& path, bool force) { check_out({path, "--trace", "a trace", is_trace}, force); }

void write_trace(const std::string& path, const std::string& trace) {
  WholeFile file(path);
  file.write(std::as_bytes(std::span(trace)));
  file.finish();
}

}  // namespace llmcalc
