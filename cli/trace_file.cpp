#include "cli/trace_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/trace/trace_text.hpp"
#include "text/binary_file.hpp"
#include "text/error.hpp"
#include "text/file_exists.hpp"
#include "text/whole_file.hpp"

namespace llmcalc {
namespace {

/// Whether a file is empty or begins as every trace does.
bool is_trace(const std::string& path) {
  const BinaryFile file(path, "a trace");
  std::string head(std::min<std::size_t>(trace_begin.size(), static_cast<std::size_t>(file.size())), '\0');
  file.read(0, std::as_writable_bytes(std::span(head)), "its beginning");
  return file.size() == 0 || head == trace_begin;
}

}  // namespace

void check_trace_out(const std::string& path) {
  const WholeFile probe(path);
  if (file_exists(path) && !is_trace(path))
    throw InputError(
        fmt::format("'{}' exists and is not a trace; refusing to overwrite it, pass a different --trace", path));
}

void write_trace(const std::string& path, const std::string& trace) {
  WholeFile file(path);
  file.write(std::as_bytes(std::span(trace)));
  file.finish();
}

}  // namespace llmcalc
