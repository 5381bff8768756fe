#pragma once
/// Tensors in a safetensors file (text/safetensors_header.hpp).

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

/// Bytes of one element of the dtype. Absent for unknown names and for elements smaller than a byte.
std::optional<Bytes> stored_bytes(std::string_view dtype);

/// A tensor to be written to a file. Its bytes are a view, not a copy.
struct StoredTensor {
  std::string name;
  std::string dtype;
  std::vector<Count> shape;
  std::span<const std::byte> bytes;
};

using Metadata = std::map<std::string, std::string>;

/// Writes the tensors, in their order, to a temporary file next to PATH, flushes it to disk and renames it to PATH, so
/// PATH is always either the old file or the complete new one. On failure (a full disk, for example), throws an
/// InputError with the path and the reason, leaves PATH unchanged and removes the temporary file; likewise for a
/// duplicate name, an unknown dtype, or bytes that do not match the shape. If PATH is a link, its target is replaced.
void write_safetensors(const std::string& path, std::span<const StoredTensor> tensors, const Metadata& metadata = {});

/// A file open for reading. The header is read and checked immediately, tensors on demand. Every error in the file is
/// an InputError that names the file and the field.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(std::string path);

  using Entry = SafetensorsEntry;

  const std::string& path() const { return file_.path(); }
  const Metadata& metadata() const { return metadata_; }
  /// All tensors, ordered by position in the file.
  const std::vector<Entry>& entries() const { return entries_; }

  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// The tensor with this name, or null.
  const Entry* find(std::string_view name) const;
  /// The tensor with this name. Throws InputError if it is missing.
  const Entry& entry(std::string_view name) const;
  /// The tensor with this name. Throws InputError if it is missing or has another dtype or shape.
  const Entry& entry(std::string_view name, std::string_view dtype, std::span<const Count> shape) const;

  /// The metadata string for this key. Throws InputError if it is missing.
  const std::string& text(const std::string& key) const;

  /// Reads the bytes of a tensor into a buffer of exactly their size.
  void read(const Entry& entry, std::span<std::byte> into) const;
  /// Reads part of a tensor's bytes, starting at byte `first`.
  void read_part(const Entry& entry, Count first, std::span<std::byte> into) const;
  std::vector<std::byte> bytes(const Entry& entry) const;

 private:
  BinaryFile file_;
  Count data_begin_ = 0;
  Metadata metadata_;
  std::vector<Entry> entries_;
};

}  // namespace llmcalc::model
