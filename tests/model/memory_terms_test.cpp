// A GPU's memory, divided into terms that sum to the used bytes.

#include "model/cuda/instruments/memory_terms.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::model::cuda;

namespace {

/// 10 bytes used before, a context of 400, libraries of 50, kernels of 25; a pool of 4000 with a workspace of 32.
MemoryPoints points() {
  return {.before = Bytes(10),
          .context = Bytes(410),
          .libraries = Bytes(460),
          .kernels = Bytes(485),
          .workspaces = {{"cuBLASLt workspace", Bytes(32), ""}},
          .graphs = Bytes(20),
          .used = Bytes(4510),
          .pool = Bytes(4000),
          .pool_most = Bytes(3800)};
}

Count of(const model::DeviceMemory& m, const std::string& name) {
  for (const model::UsedMemory& t : m.terms)
    if (t.name == name) return t.bytes.value;
  return -1;
}
Count sum(const model::DeviceMemory& m) {
  Count all = 0;
  for (const model::UsedMemory& t : m.terms) all += t.bytes.value;
  return all;
}

}  // namespace

TEST_CASE("the memory terms cover every byte used on a GPU", "[memory_terms]") {
  const model::DeviceMemory m = explained(points(), Bytes(3500));
  CHECK(of(m, "before") == 10);
  CHECK(of(m, "context") == 400);
  CHECK(of(m, "libraries") == 50);
  CHECK(of(m, "kernels") == 25);
  CHECK(of(m, "cuBLASLt workspace") == 32);
  CHECK(of(m, "arena") == 3500);
  CHECK(of(m, "scratch") == 3800 - 32 - 3500);
  CHECK(of(m, "pool slack") == 200);
  CHECK(of(m, "graphs") == 20);
  CHECK(of(m, "unexplained") == 5);
  CHECK(m.overhead == Bytes(490));
  CHECK(sum(m) == m.used.value);
}

TEST_CASE("memory in use before the run counts as context if its amount is unknown", "[memory_terms]") {
  MemoryPoints p = points();
  p.before.reset();
  const model::DeviceMemory m = explained(p, Bytes(3500));
  CHECK(of(m, "before") == -1);
  CHECK(of(m, "context") == 410);
  CHECK(sum(m) == m.used.value);
}

TEST_CASE("the scratch term is not negative if the pool reports less memory than its tensors use", "[memory_terms]") {
  MemoryPoints p = points();
  p.pool_most = Bytes(100);
  const model::DeviceMemory m = explained(p, Bytes(3500));
  CHECK(of(m, "scratch") == 0);
  CHECK(of(m, "pool slack") == 4000 - 3532);
  CHECK(sum(m) == m.used.value);
}
