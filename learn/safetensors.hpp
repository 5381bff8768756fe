#pragma once
/// Tensors in a file, in the safetensors format (text/safetensors_header.hpp).

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calc/units.hpp"
#include "text/safetensors_header.hpp"

namespace llmcalc::model {

/// Bytes of one number of that dtype. Nothing for a name that the format does not have, or numbers of less than a byte.
std::optional<Bytes> stored_bytes(std::string_view dtype);

/// A tensor to be written to a file; its bytes are viewed, not copied.
struct StoredTensor {
  std::string name;
  std::string dtype;
  std::vector<Count> shape;
  std::span<const std::byte> bytes;
};

using Metadata = std::map<std::string, std::string>;

/// Writes the tensors, in their order, to PATH.tmp, brings it to the disk, and renames it to PATH: at every moment PATH
/// is the old file or the new one, whole. Throws InputError naming the path and the reason when any of that fails (the
/// disk is full, say), and then PATH is as it was and PATH.tmp is gone; also for a duplicate name, a dtype
/// that is none of the above, or bytes that are not those of the shape. If PATH is a link, the file it leads to is
/// meant.
void write_safetensors(const std::string& path, std::span<const StoredTensor> tensors, const Metadata& metadata = {});

/// A file that is open for reading: the header is read and checked at once, the tensors when they are asked for.
/// Every mistake in the file is an InputError that names the file and the field.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(std::string path);

  using Entry = SafetensorsEntry;

  const std::string& path() const { return file_.path(); }
  const Metadata& metadata() const { return metadata_; }
  /// All tensors, in the order of their bytes in the file.
  const std::vector<Entry>& entries() const { return entries_; }

  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// The tensor of that name; null if it is not in the file.
  const Entry* find(std::string_view name) const;
  /// The tensor of that name. Throws InputError if it is not in the file.
  const Entry& entry(std::string_view name) const;
  /// The tensor of that name. Throws InputError if it is not in the file or has another dtype or shape.
  const Entry& entry(std::string_view name, std::string_view dtype, std::span<const Count> shape) const;

  /// The metadata text of that key. Throws InputError if there is none.
  const std::string& text(const std::string& key) const;

  /// The bytes of a tensor of this file, into room of exactly their size.
  void read(const Entry& entry, std::span<std::byte> into) const;
  /// Some of its bytes, those from `first` on.
  void read_part(const Entry& entry, Count first, std::span<std::byte> into) const;
  std::vector<std::byte> bytes(const Entry& entry) const;

 private:
  BinaryFile file_;
  Count data_begin_ = 0;
  Metadata metadata_;
  std::vector<Entry> entries_;
};

}  // namespace llmcalc::model
