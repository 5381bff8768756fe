#include "calc/pipeline/even_cut.hpp"

#include <limits>

namespace llmcalc {
namespace {

/// Result of filling the chunks in order, each up to a cost limit.
struct Filled {
  double largest = 0;                                     ///< cost of the largest chunk
  double next = std::numeric_limits<double>::infinity();  ///< smallest higher limit that lengthens a chunk
};
Filled filled(const LayerCosts& c, double most) {
  Filled f;
  Count first = 0, length = 1;
  for (Count i = 0; i < c.chunks(); ++i) {
    const bool last = i + 1 == c.chunks();
    const Count end = last ? c.layers() : c.furthest(i, first, most, length);
    f.largest = std::max(f.largest, c.of(i, first, end));
    if (end < c.last_end(i)) f.next = std::min(f.next, c.of(i, first, end + 1));
    length = end - first;
    first = end;
  }
  return f;
}

/// Cost of the largest chunk if all chunks have the same number of layers, or the first ones have one more.
double even_maximum(const LayerCosts& c) {
  double largest = 0;
  Count first = 0;
  for (Count i = 0; i < c.chunks(); ++i) {
    const Count end = first + c.layers() / c.chunks() + (i < c.layers() % c.chunks() ? 1 : 0);
    largest = std::max(largest, c.of(i, first, end));
    first = end;
  }
  return largest;
}

/// The smallest possible cost of the largest chunk. Every limit tried is the cost of a possible chunk. After a limit
/// that is too small, the next one is the smallest that lengthens a chunk, or the middle of the remaining interval.
double smallest_maximum(const LayerCosts& c) {
  double low = c.all() / static_cast<double>(c.chunks()), high = even_maximum(c);
  while (low < high) {
    const Filled least = filled(c, low);
    if (least.largest <= low) return least.largest;
    high = std::min(high, least.largest);
    low = least.next;
    const double middle = 0.5 * (low + high);
    if (middle >= high || middle <= low) continue;
    const Filled f = filled(c, middle);
    if (f.largest > middle) low = std::max(low, f.next);
    high = std::min(high, f.largest);
  }
  return high;
}

/// For every chunk, the lowest start at which this chunk and the later ones can hold all remaining layers at a cost
/// of at most `most` each.
InplaceVector<Count, max_layers + 1> earliest_starts(const LayerCosts& c, double most) {
  InplaceVector<Count, max_layers + 1> first;
  for (Count i = 0; i <= c.chunks(); ++i) first.push(c.layers());
  for (Count i = c.chunks() - 1; i >= 0; --i) {
    const Count end = first[static_cast<std::size_t>(i + 1)];
    Count start = std::max(i, end - 1);
    while (start > i && c.of(i, start - 1, end) <= most) --start;
    first[static_cast<std::size_t>(i)] = start;
  }
  return first;
}

}  // namespace

Partition even_cut(const LayerCosts& c) {
  const double most = smallest_maximum(c) * (1 + 1e-12);
  const auto starts = earliest_starts(c, most);
  Partition p;
  Count first = 0;
  double left = c.all();
  for (Count i = 0; i + 1 < c.chunks(); ++i) {
    const double share = left / static_cast<double>(c.chunks() - i);
    const Count low = std::max(first + 1, starts[static_cast<std::size_t>(i + 1)]), high = c.furthest(i, first, most);
    Count end = std::min(low, high);
    while (end < high && share - c.of(i, first, end) > c.of(i, first, end + 1) - share) ++end;
    left -= c.of(i, first, end);
    p.end_at(end);
    first = end;
  }
  p.end_at(c.layers());
  return p;
}

}  // namespace llmcalc
