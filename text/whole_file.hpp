#pragma once
/// A file that is replaced as a whole or not at all.

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace llmcalc {

/// Writes all of it to an open file; what errno says where that fails, else 0. Signal handlers may call it.
int write_all(int file, std::span<const std::byte> bytes) noexcept;

/// Collects bytes in a new file next to PATH, whose name is drawn, until `finish` renames it: two writers of one PATH
/// leave the file of one of them, and no file that was there before is opened or removed. Destroyed before that, it
/// removes its new file. A file that is replaced keeps its permissions. Throws InputError naming the path and the
/// system's reason. If PATH is a link, the file it leads to is meant.
class WholeFile {
 public:
  explicit WholeFile(const std::string& path);
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  void write(std::span<const std::byte> bytes);
  /// Brings every byte to the disk, then puts the file in place.
  void finish();

 private:
  /// A file to write, with links resolved, and the permissions of the one that is there.
  struct Target {
    std::string path;
    std::optional<mode_t> mode;
  };
  static Target target_of(const std::string& path);
  void open();
  void remove() noexcept;
  [[noreturn]] void fail(const char* what) const;

  Target target_;
  const char* temporary_ = nullptr;  ///< its name, from before it is made until it is renamed or removed
  int file_ = -1;
};

/// Removes what WholeFiles have written and not put in place. Signal handlers that end the program may call it.
void remove_unfinished_files() noexcept;

}  // namespace llmcalc
