#include "text/binary_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "text/error.hpp"
#include "text/file_access.hpp"

namespace llmcalc {

namespace {

/// Size of the open file in bytes. Throws InputError unless it is a regular file.
Count regular_size(int file, const std::string& path, std::string_view expected) {
  struct stat status {};
  if (::fstat(file, &status) != 0) throw InputError(fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
  if (!S_ISREG(status.st_mode))
    throw InputError(fmt::format("cannot read '{}': it is not a regular file; pass {}", path, expected));
  return status.st_size;
}

}  // namespace

BinaryFile::BinaryFile(std::string path, std::string_view expected) : path_(std::move(path)) {
  require_file_access(path_);
  file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe without a writer must not hang
  if (file_ < 0) throw InputError(fmt::format("cannot read '{}': {}", path_, std::strerror(errno)));
  try {
    size_ = regular_size(file_, path_, expected);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

BinaryFile::~BinaryFile() { ::close(file_); }

void BinaryFile::read(Count offset, std::span<std::byte> into, std::string_view what) const {
  while (!into.empty()) {
    const ssize_t n = ::pread(file_, into.data(), into.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw InputError(fmt::format("cannot read '{}', {}: {}", path_, what, std::strerror(errno)));
    if (n == 0)
      throw InputError(fmt::format("cannot read '{}', {}: the file was truncated while being read", path_, what));
    into = into.subspan(static_cast<std::size_t>(n));
    offset += n;
  }
}

}  // namespace llmcalc
