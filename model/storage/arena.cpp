#include "model/storage/arena.hpp"

#include <algorithm>

namespace llmcalc::model {

Buffer::Buffer(Arena& arena, Purpose purpose, std::string_view op, Bytes bytes)
    : arena_(arena), purpose_(purpose), op_(op), bytes_(bytes), data_(arena.take(purpose, op, bytes)) {}

Buffer::~Buffer() { arena_.give(purpose_, op_, data_, bytes_); }

void Buffer::claim(std::string_view op) {
  if (claimed_) return;
  claimed_ = true;
  arena_.move(purpose_, op_, op, bytes_);
  op_ = op;
}

std::map<std::string_view, Bytes> Arena::by_operator(Purpose p) const {
  Books held;
  for (const auto& [op, bytes] : books_[static_cast<std::size_t>(p)])
    if (bytes != Bytes()) held.emplace(op, bytes);
  return held;
}

void* Arena::take(Purpose p, std::string_view op, Bytes bytes) {
  void* data = memory_.allocate(bytes);
  live_[static_cast<std::size_t>(p)] += bytes;
  books(p)[op] += bytes;
  total_ += bytes;
  peak_ = std::max(peak_, total_);
  return data;
}

void Arena::give(Purpose p, std::string_view op, void* data, Bytes bytes) {
  memory_.release(data, bytes);
  live_[static_cast<std::size_t>(p)] -= bytes;
  books(p)[op] -= bytes;
  total_ -= bytes;
}

void Arena::move(Purpose p, std::string_view from, std::string_view to, Bytes bytes) {
  books(p)[from] -= bytes;
  books(p)[to] += bytes;
}

}  // namespace llmcalc::model
