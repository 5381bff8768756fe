// DeepSeek-V3 in its published layout.

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using test::ask;

TEST_CASE("DualPipe overlaps DeepSeek-V3's expert all-to-all with its paired slots", "[cli]") {
  // arXiv:2412.19437, 3.2 and 4.2: 2,048 H800, 16 pipeline stages, 64 expert-parallel ranks over 8 nodes, at most 4
  // nodes per token, ZeRO-1, sequences of 4,096, batches of 15,360.
  const std::string run =
      "train deepseek-v3 --hardware h800 --gpus 2048 --pp 16 --ep 64 --expert-nodes 4 --zero 1 "
      "--seq 4096 --global-batch 15360 --precision bf16 --efficiency 1 --schedule ";
  const auto waits = [&](const std::string& with) {
    return ask(run + with)["step"]["breakdown_s"]["ep"].get<double>();
  };
  const double paired = waits("dualpipe"), exposed = waits("dualpipe --overlap 0");
  CHECK(exposed == Approx(waits("1f1b")).epsilon(0.01));  // equal layers and micro-batches per rank
  CHECK(paired < 0.5 * exposed);
  CHECK(paired > 0);  // during pipeline fill and drain
  const auto share = [&](const std::string& with) {
    const json::Value step = ask(run + with)["step"];
    return step["breakdown_s"]["ep"].get<double>() / step["time_s"].get<double>();
  };
  CHECK(share("dualpipe") < share("1f1b"));
}
