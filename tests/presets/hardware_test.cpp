#include <algorithm>

#include "calc/step/assemble.hpp"
#include "presets/builtin.hpp"
#include "presets/hardware_file.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using Catch::Matchers::Contains;

namespace {

struct Fact {
  std::string_view name;
  Count memory;
  double bandwidth, bf16, fp16, link, watts;
  Count cache;
};

constexpr Fact facts[] = {
#include "tests/presets/hardware_facts.inc"
};

double peak(const Device& d, Peak p) { return d.peaks[static_cast<std::size_t>(p)].value; }

/// The smallest valid hardware file, with `changed` applied as a JSON merge patch.
json::Value file(const std::string& changed = "{}") {
  auto value = json::parse(R"({"name": "mine", "memory": {"capacity": "8 GiB", "bandwidth": "100 GB/s"},
                               "matmul": {"fp32": "2 TFLOP/s"}, "source": "measured"})",
                           "mine.json");
  value.merge_patch(json::parse(changed, "patch"));
  return value;
}

std::string refusal(const std::string& changed) {
  try {
    read_hardware_file(file(changed), "mine.json");
  } catch (const InputError& e) {
    return e.what();
  }
  return "nothing was rejected";
}

bool holds(const std::vector<std::string>& list, std::string_view what) {
  return std::find(list.begin(), list.end(), what) != list.end();
}

}  // namespace

TEST_CASE("every hardware preset matches its published specifications", "[hardware]") {
  for (const Fact& f : facts) {
    INFO(f.name);
    const HardwareCard c = load_hardware(f.name);
    CHECK(c.name == f.name);
    CHECK(c.source == "preset '" + c.name + "'");
    CHECK(c.cluster.device.memory == Bytes(f.memory));
    CHECK(c.cluster.device.bandwidth.value == f.bandwidth);
    CHECK(peak(c.cluster.device, Peak::bf16) == f.bf16);
    CHECK(peak(c.cluster.device, Peak::fp16) == f.fp16);
    const bool has_link = std::find(c.unknown.begin(), c.unknown.end(), "link") == c.unknown.end();
    CHECK((has_link ? c.cluster.levels[0].bandwidth.value : 0) == f.link);
    CHECK(c.watts == f.watts);
    CHECK(c.cluster.device.cache == Bytes(f.cache));
  }
}

TEST_CASE("a hardware file written by a user needs no sources", "[hardware]") {
  const HardwareCard card = load_hardware(LLMCALC_SOURCE_DIR "/docs/examples/hardware.json");
  CHECK(card.unsourced == 6);
  CHECK(card.cluster.device.memory == Bytes(Count{32} << 30));
  for (const Builtin& b : builtin_hardware()) CHECK(load_hardware(b).unsourced == 0);
}

TEST_CASE("every number of a hardware preset has a source, and achieved rates state their measurement", "[hardware]") {
  for (const Builtin& preset : builtin_hardware()) {
    INFO(preset.name);
    const HardwareCard c = load_hardware(preset.name);
    CHECK(c.title == preset.title);
    CHECK(c.sources.size() >= 3);
    for (const auto& [path, source] : c.sources) CHECK(source.size() > 5);
    for (const Price& price : c.prices) CHECK((price.usd_per_hour > 0 && price.source.size() > 5));
    CHECK((!c.cluster.device.achieved.present || !c.achieved_how.empty()));
    // If an 8-bit peak is more than twice the half-precision one, the latter is not dense.
    const double half = std::max(peak(c.cluster.device, Peak::bf16), peak(c.cluster.device, Peak::fp16));
    if (half > 0) CHECK(peak(c.cluster.device, Peak::fp8) <= 4.5 * half);
  }
}

TEST_CASE("at most 30 numbers of the hardware presets are unverified", "[hardware]") {
  int unverified = 0;
  for (const Builtin& preset : builtin_hardware())
    for (const auto& [path, source] : load_hardware(preset.name).sources)
      unverified += source.find("unverified") != std::string::npos ? 1 : 0;
  CHECK(unverified <= 30);  // of 1,372 numbers, those not found in any of the sources consulted
}

TEST_CASE("hardware is found by name and alias, in upper and lower case", "[hardware]") {
  CHECK(load_hardware("H100").name == "h100-sxm-80gb");
  CHECK(load_hardware("h100-SXM-80GB").name == "h100-sxm-80gb");
  CHECK(load_hardware("4090").title == "RTX 4090");
  CHECK(load_hardware("a100").cluster.device.memory == Bytes(85899345920));
}

TEST_CASE("the H100 preset has its datasheet's numbers", "[hardware]") {
  const HardwareCard c = load_hardware("h100");
  CHECK(c.vendor == "NVIDIA");
  CHECK(c.memory_type == "HBM3");
  CHECK(peak(c.cluster.device, Peak::bf16) == 989.4e12);
  CHECK(peak(c.cluster.device, Peak::fp4) == 0);
  CHECK(c.cluster.levels[0].ranks == 8);
  CHECK(c.cluster.levels[0].bandwidth.value == 450e9);
  CHECK(c.cluster.levels[0].latency == Seconds(0.6e-6));  // NCCL's tuning.cc: NVLink, ring, LL protocol
  CHECK(c.cluster.levels[1].latency == Seconds(2.7e-6));  // NCCL's tuning.cc: network, ring, LL protocol
  CHECK(c.cluster.levels[1].bandwidth.value == 50e9);
  CHECK(c.pcie.value == 63e9);
  CHECK(c.prices.size() == 2);
  CHECK(c.prices[0].usd_per_hour == 3.99);
  CHECK_FALSE(c.cluster.device.achieved.present);
  CHECK_FALSE(holds(c.unknown, "link latency"));
  CHECK_FALSE(holds(c.unknown, "price"));
}

TEST_CASE("the number of ranks of a hardware link matches its topology", "[hardware]") {
  const auto link = [](std::string_view name) { return load_hardware(name).cluster.levels[0]; };
  CHECK(link("gb200").ranks == 72);
  CHECK(link("mi300x").ranks == 8);
  CHECK(link("a100-pcie-80gb").ranks == 2);
  CHECK(link("tpu-v5e").ranks == 256);
  CHECK(link("gh200").ranks == 1);  // unknown: no group uses the link
  CHECK(holds(load_hardware("gh200").unknown, "link ranks"));
}

TEST_CASE("TPUs, Trainium and Inferentia are tori whose dimensions match their link's ranks", "[hardware]") {
  const auto sides = [](std::string_view name) {
    const HardwareCard card = load_hardware(name);
    std::vector<Count> all;
    for (const TorusAxis& a : card.cluster.levels[0].torus) all.push_back(a.ranks);
    return all;
  };
  CHECK(sides("tpu-v3") == std::vector<Count>{32, 32});
  CHECK(sides("tpu-v4") == std::vector<Count>{16, 16, 16});  // Jouppi et al. 2023: 4096 chips
  CHECK(sides("tpu-v5e") == std::vector<Count>{16, 16});
  CHECK(sides("tpu-v5p") == std::vector<Count>{16, 20, 28});  // 8960
  CHECK(sides("tpu-v6e") == std::vector<Count>{16, 16});
  CHECK(sides("trainium") == std::vector<Count>{4, 4});
  CHECK(sides("trainium2") == std::vector<Count>{4, 4});
  CHECK(sides("inferentia2") == std::vector<Count>{12});
  CHECK(sides("h100").empty());
  CHECK(load_hardware("tpu-v4").cluster.levels[0].wraps == 4);
  CHECK(load_hardware("tpu-v5e").cluster.levels[0].wraps == 0);
}

TEST_CASE("a torus whose dimensions disagree with its ranks is rejected", "[hardware]") {
  const auto of = [](const std::string& link) {
    return R"({"link": {"bandwidth": "180 GB/s", "ranks": 256, )" + link + "}}";
  };
  const std::string torus = R"("topology": "torus", )";
  CHECK(read_hardware_file(file(of(torus + R"("dimensions": [16, 16])")), "mine.json").cluster.levels[0].torus.size() ==
        2);
  CHECK(refusal(of(torus + R"("dimensions": [16, 8])")) ==
        "mine.json, \"link\": \"dimensions\" 16 x 8 imply 128 devices, but \"ranks\" is 256; make the two equal");
  for (const char* dimensions : {"[]", "[256, 1]", "[4, 4, 4, 4]", R"([16, 16], "reduces": true)"})
    CHECK_THAT(refusal(of(torus + R"("dimensions": )" + dimensions)), Contains("one to three \"dimensions\""));
  for (const char* link : {R"("topology": "2D torus; 4 links")", R"("dimensions": [16, 16])"})
    CHECK_THAT(refusal(of(link)), Contains("a torus requires \"topology\": \"torus\" and \"dimensions\""));
}

TEST_CASE("the host link is PCI Express unless a file states another", "[hardware]") {
  const auto host = [](std::string_view name) { return load_hardware(name).cluster.device.host; };
  CHECK(host("h100").link.value == 63e9);
  CHECK(host("h100").memory.value == 76.8e9);  // an eighth of a DGX H100's memory bandwidth
  CHECK(host("h100").capacity == Bytes(Count{256} << 30));
  CHECK(host("h100-nvl").memory.value == 0);  // a property of the server
  CHECK(host("h100-nvl").capacity == Bytes());
  CHECK(host("gh200").link.value == 450e9);
  CHECK(host("gh200").memory.value == 512e9);
  CHECK(host("m4-max").link.value == 0);
}

TEST_CASE("NVSwitches since Hopper reduce in the network, and other links only if their file states it", "[hardware]") {
  for (const char* name : {"h100", "h200", "h800", "h20", "b200", "b300", "gb200", "gb300"}) {
    CHECK(load_hardware(name).cluster.levels[0].reduces);
    CHECK_FALSE(load_hardware(name).cluster.levels[1].reduces);
  }
  for (const char* name : {"a100", "mi300x", "h100-pcie-80gb", "tpu-v5e", "rtx-4090"})
    for (const Link& level : load_hardware(name).cluster.levels) CHECK_FALSE(level.reduces);
}

TEST_CASE("PCI Express is the link of every PCIe card without another link", "[hardware]") {
  for (const Builtin& preset : builtin_hardware()) {
    INFO(preset.name);
    const HardwareCard c = load_hardware(preset.name);
    if (c.form_factor.find("PCIe") == std::string::npos) continue;
    CHECK(c.cluster.levels[0].ranks >= 2);
    if (c.link_type.find("PCIe") == 0) CHECK(c.cluster.levels[0].bandwidth == c.pcie);
  }
  // 16 lanes of 16 GT/s, 8 bits per byte, 128 data bits of 130: 31.5 GB/s
  CHECK(load_hardware("rtx-4090").cluster.levels[0].bandwidth.value == Approx(16 * 16e9 / 8 * 128 / 130).epsilon(1e-3));
  CHECK(load_hardware("rtx-4060").cluster.levels[0].bandwidth.value == 15.75e9);  // 8 lanes
}

TEST_CASE("a GeForce card's peak, with FP32 accumulate, is half of a professional card's", "[hardware]") {
  const auto ratio = [](std::string_view name, Peak p) {
    const Device d = load_hardware(name).cluster.device;
    return peak(d, p) / peak(d, Peak::fp32);
  };
  for (const auto name : {"rtx-3060", "rtx-3090", "rtx-4070", "rtx-4090", "rtx-5080", "rtx-5090"}) {
    INFO(name);
    CHECK(ratio(name, Peak::bf16) == Approx(2).epsilon(0.01));
  }
  for (const auto name : {"rtx-a6000", "rtx-6000-ada", "rtx-5000-ada", "rtx-pro-6000-blackwell"}) {
    INFO(name);
    CHECK(ratio(name, Peak::bf16) == Approx(4).epsilon(0.01));
  }
}

TEST_CASE("presets from Goon's table C.1 have a note on the table's unusual units", "[hardware]") {
  for (const auto name : {"a100-sxm-40gb", "a100-sxm-80gb", "v100-sxm2-32gb", "v100-pcie-32gb"}) {
    INFO(name);
    CHECK(load_hardware(name).notes.find("Goon (C.1)") != std::string::npos);
  }
}

TEST_CASE("a minimal hardware file is accepted, and its omissions are listed", "[hardware]") {
  const HardwareCard c = read_hardware_file(file(), "mine.json");
  CHECK(c.title == "mine");
  CHECK(c.source == "mine.json");
  CHECK(c.cluster.device.memory == Bytes(8589934592));
  CHECK(peak(c.cluster.device, Peak::fp32) == 2e12);
  CHECK(c.sources == std::vector<std::pair<std::string, std::string>>{{"memory.capacity", "measured"},
                                                                      {"memory.bandwidth", "measured"},
                                                                      {"matmul.fp32", "measured"}});
  CHECK(c.unknown == std::vector<std::string>{"cache", "power", "pcie", "link", "network", "price", "achieved"});
}

TEST_CASE("a spine is a third network level above networks of a stated size", "[hardware]") {
  const auto with = [](const std::string& network, const std::string& spine) {
    return read_hardware_file(file(R"({"link": {"bandwidth": "450 GB/s", "ranks": 8}, "network": {)" + network +
                                   R"("bandwidth": "50 GB/s"}, "spine": {"bandwidth": ")" + spine + R"("}})"),
                              "mine.json")
        .cluster;
  };
  const Cluster c = with(R"("ranks": 16, )", "10 GB/s");
  REQUIRE(c.levels.size() == 3);
  CHECK(c.levels[2].bandwidth.value == 10e9);
  // 32 ranks: 8 per link, 2 nodes per network, 2 networks. A ring's reduce-scatter of M bytes sends 7/8 M, then 1/2 of
  // an eighth, then 1/2 of a sixteenth; an all-reduce sends twice that.
  const Layout l{.dp = 32};
  const CollectiveCall e{.group = Group::data, .op = CollectiveOp::all_reduce, .messages = 1, .bytes = Bytes(3200)};
  const double once = 3200 * (7.0 / 8 / 450e9 + 1.0 / 16 / 50e9 + 1.0 / 32 / 10e9);
  CHECK(communication_time(e, l, c).total().value == Approx(2 * once));
  CHECK_THROWS_WITH(with("", "10 GB/s"), Contains("set \"ranks\" of \"network\" to the devices of one network"));
}

TEST_CASE("achieved rates of single operators are read per format", "[hardware]") {
  const HardwareCard c = read_hardware_file(
      file(R"({"achieved": {"how": "measured", "attention": {"fp32": "31 GFLOP/s"}, "half_matmul": {"bf16": 2.5e6},
               "plain_attention": {"bf16": "3 GFLOP/s"}, "plain_attention_backward": {"bf16": "4 GFLOP/s"},
               "naive_attention": {"bf16": "5 GFLOP/s"}, "naive_attention_backward": {"bf16": "6 GFLOP/s"},
               "matmul": {"fp32": 0.9}, "unaligned": {"bf16": 0.3}, "exposed": {"bf16": 1.75},
               "recorded": "2 us", "recorded_backward": "5 us", "functions": 1.7e9, "cache": "40 GB/s", "launch_backward": "9 us",
               "overhead": "600 MiB"}})"),
      "mine.json");
  const Achieved& a = c.cluster.device.achieved;
  CHECK(Device::of(a.flash, dtypes::fp32).of(true).value == 31e9);
  CHECK(Device::of(a.flash, dtypes::bf16).forward.value == 0);
  CHECK(Device::of(a.plain, dtypes::bf16).of(false).value == 3e9);
  CHECK(Device::of(a.plain, dtypes::bf16).of(true).value == 4e9);
  CHECK(Device::of(a.naive, dtypes::bf16).of(false).value == 5e9);
  CHECK(Device::of(a.naive, dtypes::bf16).of(true).value == 6e9);
  CHECK(Device::of(a.matmul, dtypes::fp32) == 0.9);
  CHECK(Device::of(a.matmul, dtypes::bf16) == 1);
  CHECK(Device::of(a.half_matmul, dtypes::bf16) == 2.5e6);
  CHECK(Device::of(a.unaligned, dtypes::bf16) == 0.3);
  CHECK(Device::of(a.unaligned, dtypes::fp32) == 1);
  CHECK(Device::of(a.exposed, dtypes::bf16) == 1.75);
  CHECK(Device::of(a.exposed, dtypes::fp32) == 0);
  CHECK(a.functions == 1.7e9);
  CHECK(a.cache.value == 40e9);
  CHECK(a.launch_backward == Seconds(9e-6));
  CHECK(a.recorded == Seconds(2e-6));
  CHECK(a.recorded_backward == Seconds(5e-6));
  CHECK(a.overhead == Bytes(600 << 20));
  CHECK(refusal(R"({"achieved": {"how": "x", "exposed": {"bf16": -2}}})") ==
        "mine.json, \"achieved\", \"exposed\", \"bf16\": expected 0 or more, got -2");
  CHECK(refusal(R"({"achieved": {"how": "x", "functions": -1}})") ==
        "mine.json, \"achieved\", \"functions\": expected 0 or more, got -1");
  CHECK(refusal(R"({"achieved": {"how": "x", "attention": {"fp33": "31 GFLOP/s"}}})").find("fp33") !=
        std::string::npos);
}

TEST_CASE("a hardware file may have the ratios of a benchmarked server", "[hardware]") {
  const auto c = read_hardware_file(
      file(R"({"served": {"engine": "vllm", "model": "gpt2", "file": "b.json", "decode": 1.25}})"), "mine.json");
  REQUIRE(c.served);
  CHECK(c.served->engine == "vllm");
  CHECK(c.served->decode == 1.25);
  CHECK_FALSE(c.served->prompt);
  CHECK(refusal(R"({"served": {"engine": "vllm", "model": "gpt2", "file": "b.json", "prompt": 0}})") ==
        "mine.json, \"served\", \"prompt\": expected a ratio from 0.01 to 100, got 0");
}

TEST_CASE("achieved rates require a description of their measurement", "[hardware]") {
  const auto c = read_hardware_file(
      file(R"({"achieved": {"matmul": 0.71, "memory": 0.9, "link": 0.8, "launch": "4 us", "how": "n = 8192"}})"),
      "mine.json");
  CHECK(c.cluster.device.achieved.present);
  CHECK(c.cluster.device.achieved.matmul == for_each_format(0.71));
  CHECK(c.cluster.device.achieved.memory == 0.9);
  CHECK(c.cluster.device.achieved.links.inside == 0.8);
  CHECK(c.cluster.device.achieved.launch == Seconds(4e-6));
  CHECK(c.achieved_how == "n = 8192");
  CHECK(refusal(R"({"achieved": {"matmul": 0.71}})") ==
        "mine.json, \"achieved\", \"how\": expected a string in quotes, got nothing");
  CHECK(refusal(R"({"achieved": {"matmul": 71, "how": "x"}})") ==
        "mine.json, \"achieved\", \"matmul\": expected a fraction above 0 and at most 1, got 71");
}

TEST_CASE("a mistake in a hardware file is reported with an error message", "[hardware]") {
  CHECK(refusal(R"({"memory": {"bandwidth": "4.8 TB"}})") ==
        "mine.json, \"memory\", \"bandwidth\": expected a rate (4.8 TB/s), got \"4.8 TB\", a size");
  CHECK(refusal(R"({"memory": {"capacity": 85899345920}})") ==
        "mine.json, \"memory\", \"capacity\": expected a string in quotes, got 85899345920");
  CHECK(refusal(R"({"memory": {"capacity": "0 B"}})") ==
        "mine.json, \"memory\": \"capacity\" is zero; set the memory size of the device");
  CHECK(refusal(R"({"memory": null})") == "mine.json, \"memory\": expected an object in braces, got nothing");
  CHECK(refusal(R"({"matmul": {"bf16_sparse": "1979 TFLOP/s"}})") ==
        "mine.json, \"matmul\": \"bf16_sparse\" is a sparse peak; set the dense peak, which is usually half of it");
  CHECK(refusal(R"({"matmul": {"bf16": "1979 TFLOP/s sparse"}})") ==
        "mine.json, \"matmul\": \"bf16\" is a sparse peak; set the dense peak, which is usually half of it");
  CHECK(refusal(R"({"matmul": {"bfp16": "1 TFLOP/s"}})") ==
        "mine.json, \"matmul\": unknown key \"bfp16\"; did you mean \"bf16\"?");
  CHECK(refusal(R"({"matmul": {"fp32": null}})") ==
        "mine.json, \"matmul\": expected the dense peak of at least one number format");
  CHECK(refusal(R"({"sources": {"matmul.fp23": "x"}})") ==
        "mine.json, \"sources\": unknown key \"matmul.fp23\"; did you mean \"matmul.fp32\"?");
  CHECK(refusal(R"({"link": {"bandwidth": "50 GB/s", "ranks": 0}})") ==
        "mine.json, \"link\", \"ranks\": expected a whole number of at least 1, got 0");
  CHECK(refusal(R"({"powr": "700 W"})") == "mine.json: unknown key \"powr\"; did you mean \"power\"?");
}

TEST_CASE("hardware with shared system memory states the share usable by a program", "[presets]") {
  CHECK(read_hardware_file(file(), "mine.json").usable == 0);
  CHECK(read_hardware_file(file(R"({"memory": {"usable": 0.75}})"), "mine.json").usable == 0.75);
  CHECK(refusal(R"({"memory": {"usable": 1.5}})") ==
        "mine.json, \"memory\": \"usable\" must be a fraction of the memory, above 0 and at most 1");
  CHECK(load_hardware("m1").usable == 0.67);
  CHECK(load_hardware("m4-max").usable == 0.75);
  CHECK(load_hardware("strix-halo").usable == 0.5);
  for (const Builtin& b : builtin_hardware()) {
    const HardwareCard card = load_hardware(b);
    CAPTURE(card.name);
    if (card.usable > 0) CHECK((card.vendor == "Apple" || card.memory_type.starts_with("LPDDR")));
  }
}

TEST_CASE("cards connected in pairs by a bridge reach others over PCI Express", "[hardware]") {
  const HardwareCard card = load_hardware("rtx-3090");
  CHECK(card.bridged);
  REQUIRE(card.cluster.levels.size() == 2);
  CHECK(card.cluster.levels[0].ranks == 2);
  CHECK(card.cluster.levels[1].ranks == 8);
  CHECK(card.cluster.levels[1].bandwidth == card.pcie);
  CHECK_FALSE(load_hardware("rtx-4090").bridged);
  CHECK_FALSE(load_hardware("h100-nvl-94gb").bridged);  // its file states a network
}

TEST_CASE("the memory visible to a process is at most the driver's, which is at most the capacity", "[hardware]") {
  int stated = 0;
  for (const Builtin& b : builtin_hardware()) {
    const HardwareCard card = load_hardware(b.name);
    if (card.visible == Bytes()) continue;
    ++stated;
    INFO(b.name);
    CHECK(card.visible <= card.cluster.device.memory);
    if (card.driver > Bytes()) CHECK(card.visible <= card.driver);
    CHECK(real(card.visible.value) > 0.9 * real(card.cluster.device.memory.value));
  }
  CHECK(stated >= 80);
}
