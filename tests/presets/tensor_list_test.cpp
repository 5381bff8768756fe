// A checkpoint's list of tensors: types, order and repeated names.

#include "presets/header/tensor_list.hpp"

#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

void add(TensorList& all, std::string_view name, const std::vector<Count>& shape = {2}, std::uint64_t offset = 0) {
  all.add(name, "F32", shape, offset, [](TensorType& type) { type.bytes = Bytes(8); });
}

/// The names of the first tensors of each type, with the types' numbers of tensors.
std::vector<std::pair<std::string, Count>> types_of(const TensorList& all) {
  std::vector<std::pair<std::string, Count>> out;
  for (const TensorsOfType& of : all.by_type()) out.emplace_back(of.first->name, of.tensors);
  return out;
}

using Types = std::vector<std::pair<std::string, Count>>;

}  // namespace

TEST_CASE("tensors that differ in numbers after the first have one type", "[checkpoint]") {
  TensorList all;
  for (const char* name : {"layers.0.experts.0.up", "layers.0.experts.17.up", "layers.1.experts.0.up",
                           "layers.1.experts.0.down", "layers.0.experts.17.up.2", "layers.0.experts.3.up.4"})
    add(all, name);
  CHECK(types_of(all) == Types{{"layers.0.experts.0.up", 2},
                               {"layers.1.experts.0.up", 1},
                               {"layers.1.experts.0.down", 1},
                               {"layers.0.experts.17.up.2", 2}});
  add(all, "layers.0.experts.1.up", {3});
  CHECK(all.types() == 5);
}

TEST_CASE("digits in words and numbers of more than 18 digits are part of a tensor's type", "[checkpoint]") {
  TensorList all;
  for (const char* name : {"h.0.w1", "h.0.w2", "h.0.1x", "h.0.2x", "h.0.-1", "h.0.-2", "h.1234567890123456789.1",
                           "h.1234567890123456789.2", "", "."})
    add(all, name);
  CHECK(all.types() == all.size());
}

TEST_CASE("sorted tensors are listed by type in their new order", "[checkpoint]") {
  TensorList all;
  add(all, "b.0.1", {2}, 16);
  add(all, "a", {2}, 8);
  add(all, "b.0.2", {2}, 0);
  all.sort_by_offset(0);
  CHECK(types_of(all) == Types{{"b.0.2", 2}, {"a", 1}});
  CHECK_FALSE(all.may_repeat(0));
  add(all, "a", {3});
  CHECK(all.may_repeat(0));
  CHECK_FALSE(all.may_repeat(2));
  all.truncate(3);
  CHECK_FALSE(all.may_repeat(0));
}
