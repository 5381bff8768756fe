#pragma once
/// A file that is replaced as a whole or not at all.

#include <cstddef>
#include <span>
#include <string>

namespace llmcalc {

/// Writes all of it to an open file; what errno says where that fails, else 0. Signal handlers may call it.
int write_all(int file, std::span<const std::byte> bytes) noexcept;

/// Collects bytes in PATH.tmp, next to PATH, until `finish` renames it. Destroyed before that, it removes PATH.tmp.
/// Throws InputError naming the path and the system's reason. If PATH is a link, the file it leads to is meant.
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
  [[noreturn]] void fail(const char* what) const;

  std::string path_, temporary_;
  int file_ = -1;
  bool in_place_ = false;
};

}  // namespace llmcalc
