#pragma once
/// A regular file that can be read at arbitrary offsets.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "calc/units.hpp"

namespace llmcalc {

class BinaryFile {
 public:
  /// Opens the file. Throws InputError if it is missing, unreadable or not a regular file; `expected` describes the
  /// kind of file to pass instead ("a safetensors file").
  BinaryFile(std::string path, std::string_view expected);
  ~BinaryFile();
  BinaryFile(const BinaryFile&) = delete;
  BinaryFile& operator=(const BinaryFile&) = delete;

  const std::string& path() const { return path_; }
  Count size() const { return size_; }

  /// Fills `into` with the bytes that start at `offset`. Throws an InputError that names the path and `what` if reading
  /// fails or the file ends too early.
  void read(Count offset, std::span<std::byte> into, std::string_view what) const;

 private:
  std::string path_;
  int file_ = -1;
  Count size_ = 0;
};

}  // namespace llmcalc
