#pragma once
/// Atomic replacement of regular files; pipes, devices and standard streams are written in place.

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace llmcalc {

/// Writes all bytes to an open file. Returns 0, or errno on failure. Safe to call from signal handlers.
int write_all(int file, std::span<const std::byte> bytes) noexcept;

/// Collects bytes in a new, randomly named file next to PATH, which `finish` renames to PATH. If two writers write to
/// the same PATH, the last one to finish wins; no existing file is opened or removed. The destructor removes the new
/// file if `finish` was not called. A replaced file's permissions are kept. If PATH is a link, its target is replaced.
/// If PATH is a pipe, a device or one of the program's standard streams, the bytes go there directly. Throws an
/// InputError that names the path and the system's reason.
class WholeFile {
 public:
  explicit WholeFile(const std::string& path);
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  void write(std::span<const std::byte> bytes);
  /// Syncs all bytes to disk, then renames the file to its final path.
  void finish();

 private:
  friend bool is_replaced_by_write(const std::string& path);

  /// The file to write, with links resolved, and the permissions of the existing file if there is one.
  struct Target {
    std::string path;
    std::optional<int> stream{};  ///< the standard stream at this path
    bool is_replaced = true;      ///< whether a new file replaces the path; otherwise it is written in place
    std::optional<mode_t> mode{};
  };
  static Target target_of(const std::string& path);
  void open();
  void open_in_place();
  void remove() noexcept;
  [[noreturn]] void fail(const char* what) const;

  Target target_;
  const char* temporary_ = nullptr;  ///< name of the new file; null after it has been renamed or removed
  int file_ = -1;
};

/// Whether a write to the path creates or replaces a regular file. Throws InputError if it is a folder.
bool is_replaced_by_write(const std::string& path);

/// Removes the new files of all unfinished WholeFiles. Safe to call from signal handlers that end the program.
void remove_unfinished_files() noexcept;

}  // namespace llmcalc
