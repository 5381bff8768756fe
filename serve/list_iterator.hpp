#pragma once
/// Iterator over a list whose operator[] returns elements by value.

#include <cstddef>
#include <iterator>

namespace llmcalc {

template <typename List, typename Value>
class ListIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Value;
  using difference_type = std::ptrdiff_t;
  using pointer = const Value*;
  using reference = Value;

  ListIterator(const List& list, std::size_t i) : list_(&list), i_(i) {}
  Value operator*() const { return (*list_)[i_]; }
  ListIterator& operator++() {
    ++i_;
    return *this;
  }
  bool operator==(const ListIterator& o) const { return i_ == o.i_; }

 private:
  const List* list_;
  std::size_t i_;
};

}  // namespace llmcalc
