// Which core computes attention, and what a fast one is given: without a GPU.

#include "model/cuda/sdpa.hpp"

#include <vector>

#include "model/cuda/core_choice.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using namespace llmcalc::model::cuda;

namespace {

CoreAnswer yes(const char* name) { return {true, name}; }
CoreAnswer no(const char* why) { return {false, why}; }

/// An attention of 2 sequences of 6 tokens, and a tensor of bf16 for all that it reads.
struct Call {
  std::vector<std::uint16_t> memory = std::vector<std::uint16_t>(2 * 6 * 4 * 16);
  Attention s{.sequences = 2, .heads = 4, .kv_heads = 4, .queries = 6, .keys = 6, .qk_dim = 16, .v_dim = 16};
  AttentionInputs in;
  Dropout d;
  Count number = 2, most = 128;
  Call() {
    const HeadView all{.data = memory.data(), .sequence = 6 * 64, .token = 64, .head = 16};
    in.q = in.k = in.v = all;
  }
  std::string obstacle() const {
    return sdpa_obstacle(s, in, d, sdpa_forward(s, in, nullptr, nullptr), Bytes(number), most);
  }
};

}  // namespace

TEST_CASE("what keeps an attention from being cuDNN's is said in a few words", "[sdpa]") {
  CHECK(Call().obstacle().empty());
  const auto after = [](auto change) {
    Call c;
    change(c);
    return c.obstacle();
  };
  CHECK(after([](Call& c) { c.number = 4; }) == "numbers are float32");
  CHECK(after([](Call& c) { c.s.reach = {5}; }) == "there is a window");
  CHECK(after([](Call& c) { c.s.reach = {5, true}; }) == "there are chunks");
  CHECK(after([](Call& c) { c.s.reach = {6, true}; }).empty());  // hides nothing
  CHECK(after([](Call& c) { c.in.sinks = c.memory.data(); }) == "there are sinks");
  CHECK(after([](Call& c) { c.in.alibi = true; }) == "there is ALiBi");
  CHECK(after([](Call& c) { c.d.p = 0.1; }) == "there is dropout");
  CHECK(after([](Call& c) { c.in.rope_dim = 8; }) == "rotary parts lie apart");
  CHECK(after([](Call& c) { c.s.qk_dim = 20; }) == "heads have 20 and 16 numbers, not multiples of 8 up to 128");
  CHECK(after([](Call& c) { c.most = 8; }) == "heads have 16 and 16 numbers, not multiples of 8 up to 8");
  const std::string unaligned = "heads do not begin at multiples of 16 bytes";
  CHECK(after([](Call& c) { c.in.k.data = c.memory.data() + 1; }) == unaligned);
  CHECK(after([](Call& c) { c.in.v.head = 12; }) == unaligned);
}

TEST_CASE("a token after others and a single token are not asked for", "[sdpa]") {
  CHECK(is_sdpa({.queries = 2, .keys = 2}));
  CHECK_FALSE(is_sdpa({.queries = 1, .keys = 1}));
  CHECK_FALSE(is_sdpa({.queries = 2, .keys = 3}));
}

TEST_CASE("cores are asked from the fastest on, and what kept one from it is remembered", "[sdpa]") {
  CoreChoice c(nullptr);
  c.begin(false);
  CHECK_FALSE(c.done_by(AttentionCore::cudnn, [] { return no("there is a window"); }));
  CHECK(c.done_by(AttentionCore::mma, [] { return yes("mma"); }));
  CHECK(c.ran().text() == "mma, not cudnn: there is a window");
  c.begin(false);
  CHECK_FALSE(c.done_by(AttentionCore::cudnn, [] { return no("cuDNN not found"); }));
  CHECK_FALSE(c.done_by(AttentionCore::mma, [] { return no("numbers are float32"); }));
  c.last();
  CHECK(c.ran().text() == "plain, not cudnn: cuDNN not found; not mma: numbers are float32");
}

TEST_CASE("the cores of both directions are told apart where they differ", "[sdpa]") {
  CoreChoice c(nullptr);
  CHECK(c.ran().text().empty());
  for (const bool backward : {false, true}) {
    c.begin(backward);
    REQUIRE(c.done_by(AttentionCore::cudnn, [] { return yes("cuDNN 9.19.0"); }));
    CHECK(c.ran().text() == "cuDNN 9.19.0");
  }
  c.begin(true);
  c.last();
  CHECK(c.ran().text() == "forward: cuDNN 9.19.0; backward: plain");
}

TEST_CASE("LLMCALC_ATTENTION lets one core be asked, and says what it cannot", "[sdpa]") {
  CoreChoice mma("mma");
  mma.begin(false);
  CHECK_FALSE(mma.done_by(AttentionCore::cudnn, [] { return yes("cuDNN"); }));
  CHECK(mma.done_by(AttentionCore::mma, [] { return yes("mma"); }));
  CHECK(mma.ran().text() == "mma");
  CoreChoice plain("plain");
  plain.begin(false);
  CHECK_FALSE(plain.done_by(AttentionCore::cudnn, [] { return yes("cuDNN"); }));
  plain.last();
  CHECK(plain.ran().text() == "plain");
  CHECK_THROWS_WITH(CoreChoice("cudnn").done_by(AttentionCore::cudnn, [] { return no("there are sinks"); }),
                    "LLMCALC_ATTENTION is cudnn, and there are sinks");
  CHECK_THROWS_WITH(CoreChoice("mma").last(), "LLMCALC_ATTENTION is mma, which is not built here");
  CHECK_THROWS_WITH(CoreChoice("fast"), "LLMCALC_ATTENTION is fast; cudnn, mma and plain are known");
}

TEST_CASE("statistics turn from heads first to tokens first and back", "[sdpa]") {
  constexpr Count sequences = 2, heads = 3, tokens = 4, n = sequences * heads * tokens;
  std::vector<float> by_head(n), by_token(n), again(n);
  for (Count i = 0; i < n; ++i) by_head[static_cast<std::size_t>(i)] = static_cast<float>(i);
  for (Count i = 0; i < n; ++i) Turned{heads, tokens, by_head.data(), by_token.data()}(i);
  for (Count i = 0; i < n; ++i) Turned{tokens, heads, by_token.data(), again.data()}(i);
  CHECK(again == by_head);
  const auto at = [&](Count b, Count t, Count h) {
    return by_token[static_cast<std::size_t>((b * tokens + t) * heads + h)];
  };
  CHECK(at(0, 1, 2) == 2 * tokens + 1);
  CHECK(at(1, 3, 0) == heads * tokens + 3);
}

TEST_CASE("the memory beside an attention's tensors is that of its parts, which do not overlap", "[sdpa]") {
  SdpaShape s{.sequences = 2,
              .heads = 3,
              .kv_heads = 3,
              .tokens = 5,
              .qk_dim = 8,
              .v_dim = 8,
              .q = {},
              .k = {},
              .v = {},
              .dq = {},
              .dk = {},
              .dv = {}};
  CHECK(sdpa_room(s, 256).total() == 256 + 256);  // 30 floats, and the workspace
  s.backward = true;
  const SdpaRoom room = sdpa_room(s, 100);
  CHECK(room.total() == 256 + 256 + 1024 + 256);  // 30 floats twice, 30 rows of 8, and the workspace
  std::vector<std::byte> memory(static_cast<std::size_t>(room.total()));
  const SdpaScratch at(room, memory.data());
  CHECK(at.delta - at.statistics >= room.statistics);
  CHECK(at.dq_sum - at.delta >= room.delta);
  CHECK(at.workspace - at.dq_sum >= room.dq_sum);
  CHECK(memory.data() + room.total() - at.workspace >= room.workspace);
  s.deterministic = true;
  CHECK(sdpa_room(s, 100).dq_sum == 0);
}
