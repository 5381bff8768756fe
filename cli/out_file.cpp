#include "cli/out_file.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "text/error.hpp"
#include "text/file_exists.hpp"
#include "text/whole_file.hpp"

namespace llmcalc {
namespace {

/// Whether the file may be overwritten: it is empty, or the program wrote it. False for an unreadable file.
bool is_replaceable(const OutFile& out) {
  std::error_code failed;
  if (std::filesystem::file_size(out.path, failed) == 0) return true;
  try {
    return out.is_own(out.path);
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace

void check_out(const OutFile& out, bool force) {
  if (!is_replaced_by_write(out.path)) return;
  if (!force && file_exists(out.path) && !is_replaceable(out))
    throw InputError(
        fmt::format("'{}' exists and is not {} written by llmcalc; pass another {}, or --force to replace it", out.path,
                    out.kind, out.option));
  const WholeFile probe(out.path);
}

}  // namespace llmcalc
