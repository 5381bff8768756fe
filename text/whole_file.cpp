#include "text/whole_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "text/error.hpp"

namespace llmcalc {

namespace {

namespace fs = std::filesystem;

/// The path with links resolved. A folder or a device must not be replaced.
std::string resolved(const std::string& path) {
  std::error_code unknown;
  const auto status = fs::status(path, unknown);
  if (is_directory(status)) throw InputError(fmt::format("cannot write '{}': it is a folder; name a file", path));
  if (exists(status) && !is_regular_file(status))
    throw InputError(fmt::format("cannot write '{}': it is not a regular file; name another", path));
  if (!is_symlink(fs::symlink_status(path, unknown))) return path;
  const auto target = fs::weakly_canonical(path, unknown);
  return unknown ? path : target.string();
}

/// The rename itself survives a crash once the folder is on the disk. Not every file system can do it, and by now the
/// file is in place: nothing is lost if not.
void sync_folder(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  const int file = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  ::fsync(file);
  ::close(file);
}

}  // namespace

int write_all(int file, std::span<const std::byte> bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0 ? EIO : errno;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return 0;
}

WholeFile::WholeFile(const std::string& path) : path_(resolved(path)), temporary_(path_ + ".tmp") {
  file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) fail("open");
}

WholeFile::~WholeFile() {
  if (file_ >= 0) ::close(file_);
  if (!in_place_) ::unlink(temporary_.c_str());
}

void WholeFile::fail(const char* what) const {
  throw InputError(
      fmt::format("cannot {} '{}': {}; '{}' is left as it was", what, temporary_, std::strerror(errno), path_));
}

void WholeFile::write(std::span<const std::byte> bytes) {
  errno = write_all(file_, bytes);
  if (errno != 0) fail("write");
}

void WholeFile::finish() {
  if (::fsync(file_) != 0) fail("write");
  const int closed = ::close(file_);
  file_ = -1;
  if (closed != 0) fail("write");
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail("rename");
  in_place_ = true;
  sync_folder(path_);
}

}  // namespace llmcalc
