#include "presets/header/tensor_list.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

namespace llmcalc {

namespace {

/// Appends a name in which '#' replaces each number after the first. A number is a dot-separated part of at most 18
/// digits, which layer_index() can read.
void append_pattern(std::string& key, std::string_view name) {
  constexpr std::size_t longest = 18;
  const auto is_digit = [](char c) { return '0' <= c && c <= '9'; };
  bool numbered = false;
  std::size_t copied = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!is_digit(name[i])) continue;
    const std::size_t begin = i;
    while (i < name.size() && is_digit(name[i])) ++i;
    const bool starts = begin == 0 || name[begin - 1] == '.', ends = i == name.size() || name[i] == '.';
    if (!starts || !ends || i - begin > longest) continue;
    if (numbered) {
      key.append(name, copied, begin - copied) += '#';
      copied = i;
    }
    numbered = true;
  }
  key.append(name, copied);
}

bool is_before(const CheckpointTensor& a, const CheckpointTensor& b) {
  return a.offset != b.offset ? a.offset < b.offset : a.type->bytes < b.type->bytes;
}

}  // namespace

const TensorType* TensorList::find(std::string_view name, std::string_view format, std::span<const Count> shape) {
  const Count dimensions = static_cast<Count>(shape.size());
  key_.assign(format) += '\0';
  key_.append(reinterpret_cast<const char*>(&dimensions), sizeof dimensions);
  key_.append(reinterpret_cast<const char*>(shape.data()), shape.size_bytes());
  append_pattern(key_, name);
  const auto at = types_.find(key_);
  return at == types_.end() ? nullptr : &at->second;
}

std::string_view TensorList::kept(std::string_view name) {
  if (name.empty()) return {};
  char* copy = static_cast<char*>(names_->allocate(name.size(), 1));
  std::memcpy(copy, name.data(), name.size());
  return {copy, name.size()};
}

void TensorList::sort_by_offset(std::size_t first) {
  const auto begin = all_.begin() + static_cast<std::ptrdiff_t>(first);
  if (!std::is_sorted(begin, all_.end(), is_before)) std::stable_sort(begin, all_.end(), is_before);
}

bool TensorList::may_repeat(std::size_t first) const {
  std::vector<std::size_t> hashes;
  hashes.reserve(size() - first);
  for (const CheckpointTensor& t : from(first)) hashes.push_back(std::hash<std::string_view>()(t.name));
  std::sort(hashes.begin(), hashes.end());
  return std::adjacent_find(hashes.begin(), hashes.end()) != hashes.end();
}

std::vector<TensorsOfType> TensorList::by_type() const {
  std::vector<TensorsOfType> out;
  std::vector<std::size_t> place(types_.size(), types_.size());
  for (const CheckpointTensor& t : all_) {
    std::size_t& at = place[t.type->index];
    if (at == types_.size()) {
      at = out.size();
      out.push_back({&t, 0});
    }
    ++out[at].tensors;
  }
  return out;
}

}  // namespace llmcalc
