#include "text/file_access.hpp"

#include <fmt/format.h>

#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

thread_local int prohibitions = 0;

}  // namespace

NoFileAccess::NoFileAccess() { ++prohibitions; }
NoFileAccess::~NoFileAccess() { --prohibitions; }

bool has_file_access() { return prohibitions == 0; }

void require_file_access(const std::string& path) {
  if (!has_file_access())
    throw InputError(
        fmt::format("{} is a file, which a request cannot name; specify a preset or an object", in_quotes(path)));
}

}  // namespace llmcalc
