// Number of ranks in a group.

#include "calc/layout.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;

TEST_CASE("a group's size is the product of its mesh dimensions", "[train]") {
  for (const Count tp : {1, 2, 4})
    for (const Count cp : {1, 3})
      for (const Count dp : {1, 4, 6})
        for (const Count ep : {1, 2})
          for (const Count etp : {Count{0}, Count{1}, tp})
            for (const Count hsdp : {Count{0}, Count{1}, cp * dp, cp}) {
              const Layout l{.tp = tp, .sp = tp > 1, .cp = cp, .ep = ep, .etp = etp, .pp = 5, .dp = dp, .hsdp = hsdp};
              for (std::size_t g = 0; g < group_count; ++g)
                CHECK(ranks(l, static_cast<Group>(g)) == lines(l, static_cast<Group>(g)).ranks());
            }
}
