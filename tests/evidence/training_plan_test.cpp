// Devices, links, formats and states of a training row, and rows that cannot be expressed.

#include <array>

#include "calc/train.hpp"
#include "evidence/convert/training/stage_split.hpp"
#include "evidence/convert/training/training_conversion.hpp"
#include "evidence/convert/training/training_layout.hpp"
#include "evidence/convert/training/training_row.hpp"
#include "evidence/convert/words/cluster_words.hpp"
#include "evidence/convert/words/network_rate.hpp"
#include "evidence/rows/training_case.hpp"
#include "tests/catch.hpp"
#include "tests/evidence/rows.hpp"

using namespace llmcalc;
using namespace llmcalc::test;
using Catch::Contains;

TEST_CASE("network bandwidth per device is the device's share of the stated rate", "[training-case]") {
  const auto share = [](const char* text, Count per_node) {
    const auto said = network_share(text, per_node);
    return said ? said->rate.value : 0;
  };
  CHECK(share("InfiniBand HDR 8x200 Gb/s (Selene)", 8) == 25e9);
  CHECK(share("RoCE 1600 Gb/s per node (8x200)", 8) == 25e9);
  CHECK(share("4x Omni-Path 100 Gb/s per node", 8) == 6.25e9);
  CHECK(share("Omni-Path 100 Gb/s", 4) == 12.5e9);
  CHECK(share("4x200 Gb/s HDR InfiniBand (config: 800 Gb/s per node)", 8) == 12.5e9);
  CHECK(share("RDMA 400 Gb/s per GPU", 8) == 50e9);
  CHECK(share("RDMA CX-7 400 Gb/s per GPU", 8) == 50e9);
  CHECK(share("Storage+Management: 1x NVIDIA BlueField 2 DPU 100Gb/s, Compute: 8x NVIDIA ConnectX-7 IB NDR 400Gb/s",
              8) == 50e9);
  CHECK(
      share(
          "Storage: 2x ConnectX-7 IB NDR 400Gb/s, Compute: 8x ConnectX-7 IB NDR 400Gb/s, Management: 100Gb/s Ethernet "
          "NIC",
          8) == 50e9);
  CHECK(share("1x Ethernet 100Gb/Sec, 8x NVIDIA Quantum-2 CX7 InfiniBand (400Gb/s)", 8) == 50e9);
  CHECK(share("4x ConnectX-8 IB XDR 800 Gb/s", 4) == 100e9);
  CHECK(share("NVLink + 8x400G InfiniBand (DeepEP)", 8) == 50e9);
  CHECK(share("50 GB/s per GPU", 8) == 50e9);
  CHECK(share("400 GB/s", 8) == 50e9);
  CHECK(share("4x HDR200", 8) == 12.5e9);
  CHECK(share("NDR400", 8) == 50e9);
  CHECK(share("1x HDR IB", 8) == 25e9 / 8);
  CHECK(share("EFA 3200 Gbps", 8) == 50e9);
  CHECK(share("100 GbE", 8) == 12.5e9 / 8);
  CHECK(share("10 Gbit Ethernet", 8) == 1.25e9 / 8);
  CHECK(share("Spectrum-X 400GbE", 8) == 50e9);
  CHECK(share("InfiniBand (4 NICs x 200 Gb/s)", 8) == 12.5e9);
  CHECK(share("eight 400-gigabit NICs", 8) == 50e9);
  CHECK(network_share("100 GbE", 8)->assumed_of_node);
  CHECK_FALSE(network_share("100 GbE per node", 8)->assumed_of_node);
  CHECK(share("8x H100 80 GB", 8) == 0);
  CHECK(share("InfiniBand HDR (DGX A100)", 8) == 0);
  CHECK(share("ROCE2; Data bandwidth for GPU-PCIe: 504 GB/s; PCIe-NIC: 500 GB/s", 8) == 0);
  CHECK(share("not stated", 8) == 0);
}

TEST_CASE("a row's cluster has a link inside nodes, and a network link between several nodes", "[training-case]") {
  const TrainingCase v100 = training_case_called("bigscience-1b3-v100-32gb-tp1-pp1-dp8-mbs1-ckpt");
  CHECK(v100.cluster().levels[0].ranks == 4);
  CHECK(v100.cluster().levels[1].bandwidth.value == 12.5e9);
  const TrainingCase geforce = training_case_called("llmq-4090x4-qwen2.5-0.5b-fp8");
  CHECK(geforce.cluster().levels[0].bandwidth.value == geforce.on.hardware.pcie.value);
  CHECK(geforce.cluster().levels[0].ranks == 4);
}

TEST_CASE("the kind of a memory measurement is read from its description", "[training-case]") {
  const TrainingCase c = training_case_called("simumax-b200-llama3_70b_l12_tp1_pp2_dp4_mbc4_cef");
  REQUIRE(c.memory.size() == 2);
  CHECK((c.memory[0].bytes == 70.88 * 0x1p30 && c.memory[0].kind == MemoryKind::reserved));
  CHECK((c.memory[1].bytes == 66.55 * 0x1p30 && c.memory[1].kind == MemoryKind::allocated));
  const TrainingCase bloom = training_case_called("bloom-181B-L72-h14336-a64-tp8-pp12-dp4-mbs2-gbs2048-02-21");
  REQUIRE(bloom.memory.size() == 1);
  CHECK((bloom.memory[0].bytes == 37 * 0x1p30 && bloom.memory[0].kind == MemoryKind::process));
}

TEST_CASE("rows that cannot be expressed as a plan are skipped with a reason", "[training-case]") {
  TrainingRow row = row_called(training_rows(), "sc21-t1-1.7B");
  const auto skip = [&] { return training_case(row, devices_once()).skip; };
  row.parallelism.schedule = "wavefront";
  row.parallelism.pp = 2;
  row.parallelism.dp = 16;
  CHECK(skip() == "unknown schedule \"wavefront\"");
  row.parallelism.schedule = "";
  row.parallelism.dp = 32;
  CHECK(skip() == "tp x cp x pp x dp is 64 devices, but the row has 32");
  row.parallelism.pp = 1;
  row.batch.global = 500;
  CHECK(skip() == "500 sequences are not a whole number of micro-batches of 16 on 32 replicas");
  row.batch.global = 512;
  row.model.heads = 7;
  row.model.kv_heads = 3;
  CHECK(skip() == "its architecture: 7 heads cannot share 3 KV heads evenly; heads must be a multiple of KV heads");
  row.hardware.gpu = "Unheard-of 9000";
  row.hardware.memory_gb = std::nullopt;
  row.model.heads = row.model.kv_heads.emplace(24);
  CHECK(skip() == "no preset is named \"Unheard-of 9000\", and the row does not state its memory");
}

TEST_CASE("layers per stage are read from a list, and unrecognized text is reported", "[training-case]") {
  TrainingRow row = row_called(training_rows(), "zerobubble-6.2b-m24-zb-2p");  // 30 layers on 8 stages
  const auto first = [&](std::string TrainingParallelism::*key, const char* said) {
    row.parallelism.layer_split = row.parallelism.partition = row.parallelism.pp_balance = row.parallelism.pp_layout =
        "";
    row.parallelism.*key = said;
    return training_case(row, devices_once());
  };
  for (auto key : {&TrainingParallelism::layer_split, &TrainingParallelism::pp_layout}) {
    const TrainingCase listed = first(key, "[2,4,4,4,4,4,4,4]");
    CHECK((listed.layout.stage_layers[0] == 2 && listed.layout.stage_layers[7] == 4));
    CHECK_FALSE(listed.input_assumed);
  }
  CHECK(first(&TrainingParallelism::pp_layout, "Ett|tttt|tttt|tttt|tttt|tttt|tttt|ttttL").layout.stage_layers[0] == 2);
  const auto sentence_of = [&](std::string TrainingParallelism::*key, const char* said) {
    const TrainingCase c = first(key, said);
    CHECK(c.input_assumed);
    return c.assumed.empty() ? "" : c.assumed[0];
  };
  CHECK(sentence_of(&TrainingParallelism::layer_split, "[20,28]") ==
        "layers are assigned to stages by a default rule: \"layer_split\" is \"[20,28]\", which does not distribute 30 "
        "layers over 8 chunks");
  CHECK(sentence_of(&TrainingParallelism::pp_layout, "wild") ==
        "layers are assigned to stages by a default rule: \"pp_layout\" is \"wild\", which is not recognized");
  for (auto key : {&TrainingParallelism::partition, &TrainingParallelism::pp_balance})
    CHECK_THAT(sentence_of(key, "by the moon"), Catch::EndsWith("\"by the moon\", which is not recognized"));
}

TEST_CASE("FSDP shards the states that its sharding strategy specifies", "[training-case]") {
  TrainingRow row = row_called(training_rows(), "mosaic-13b-s2048-512xh100_80gb-mbs16");
  row.parallelism.zero_stage = std::nullopt;
  const auto read = [&](const char* strategy) {
    row.parallelism.fsdp_strategy = strategy;
    return training_case(row, devices_once());
  };
  const auto is = [&](const char* strategy, Zero zero, bool reshard, Count group) {
    INFO(strategy);
    const Layout l = read(strategy).layout;
    CHECK((l.zero == zero && l.reshard == reshard && l.hsdp == group));
    CHECK_FALSE(read(strategy).input_assumed);
  };
  is("FULL_SHARD", Zero::weights, true, 0);
  is("ShardingStrategy.FULL_SHARD", Zero::weights, true, 0);
  is("SHARD_GRAD_OP", Zero::weights, false, 0);
  is("HYBRID_SHARD", Zero::weights, true, 8);  // 8 GPUs in a node
  is("_HYBRID_SHARD_ZERO2", Zero::weights, false, 8);
  is("NO_SHARD", Zero::none, true, 0);
  CHECK(read("SOME_SHARD").input_assumed);
  using Catch::VectorContains;
  CHECK_THAT(read("SOME_SHARD").assumed,
             VectorContains(std::string("FULL_SHARD: unknown FSDP strategy \"SOME_SHARD\"")));
  row.parallelism.fsdp_group = "the moon";
  CHECK_THAT(read("FULL_SHARD").assumed,
             VectorContains(std::string("sharding over all devices: unrecognized group \"the moon\"")));
}

TEST_CASE("a note reports states that exceed the memory of the devices", "[training-case]") {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  const auto said = [&] {
    for (const std::string& sentence : training_case(row, devices_once()).assumed)
      if (sentence.starts_with("devices that hold weights")) return sentence;
    return std::string();
  };
  CHECK(said().empty());
  row.model.layers = 96;
  row.model.hidden = 8192;
  row.model.ffn_hidden = 4 * 8192;
  row.model.heads = 64;
  row.model.kv_heads = row.model.head_dim = std::nullopt;
  // 12 x 96 x 8192^2 parameters at 2 + 4 bytes, plus an eighth of 12 bytes each: 541 GiB
  CHECK_THAT(said(), Catch::StartsWith("devices that hold weights, gradients and optimizer states, 54") &&
                         Catch::EndsWith("GiB on each: they have 80"));
}

TEST_CASE("MTP modules and offloaded states become part of the plan", "[training-case]") {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  const auto read = [&] { return training_case(row, devices_once()); };
  const double plain = train(read().arch, read().plan, read().layout, read().cluster()).bound.total().value;
  row.model.mtp = "1";
  const TrainingCase c = read();
  REQUIRE(c.skip == "");
  CHECK((c.plan.mtp == 1 && c.arch.mtp.modules == 1 && c.arch.mtp.mlp_of == 11));
  CHECK(c.assumed[0] ==
        "an MTP module, each with a layer like the model's last one, sharing the model's embedding table and head");
  CHECK(train(c.arch, c.plan, c.layout, c.cluster()).bound.total().value > plain);
  row.model.mtp = "four heads";
  CHECK(read().skip == "the run uses multi-token prediction, but \"mtp\" is \"four heads\"");
  row.model.mtp = "";
  const auto offload = [&](const char* said) {
    row.parallelism.offload = said;
    return read();
  };
  for (const char* none : {"none", "None", "false", ""}) {
    CHECK(offload(none).skip == "");
    CHECK_FALSE(offload(none).plan.offload.any());
  }
  CHECK(offload("optimizer").plan.offload == Offload{.optimizer = {1, 1}});
  CHECK(offload("optimizer states: 0.5, activations").plan.offload ==
        Offload{.activations = {1, 1}, .optimizer = {1, 2}});
  CHECK(offload("cpu_optimizer + weights").plan.offload == Offload{.optimizer = {1, 1}, .weights = {1, 1}});
  CHECK(offload("opt-m").skip == "the offload \"opt-m\" cannot be expressed in a plan");
  row.parallelism.offload = "";
  row.activation_offload_layers = 3;  // 3 of 12 layers
  CHECK(read().plan.offload == Offload{.activations = {1, 4}});
}

TEST_CASE("a row with an unknown precision or optimizer is skipped, and the reason suggests a name",
          "[training-case]") {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  const auto skip = [&](const char* precision, const char* optimizer) {
    row.precision = precision;
    row.optimizer = optimizer;
    return training_case(row, devices_once()).skip;
  };
  CHECK(skip("bf17", "") == "unknown training precision \"bf17\", did you mean \"bf16\"?");
  CHECK(skip("fp9 + bf16", "") == "unknown training precision \"fp9\", did you mean \"fp8\"?");
  CHECK_THAT(skip("int8 mixed", ""), Catch::StartsWith("unknown training precision \"int8\""));
  CHECK(skip("bf16", "shampoo") == "unknown optimizer \"shampoo\"");
  CHECK(skip("bf16", "Fused Muno") == "unknown optimizer \"Fused Muno\", did you mean \"muon\"?");
  for (const char* known :
       {"", "AdamW", "fused Adam", "distributed optimizer", "8-bit AdamW", "SGD with momentum", "Muon"})
    CHECK(skip("bf16", known) == "");
  for (const char* known : {"fp8_e4m3 + bf16", "mxfp8-cublas", "mixed", "half", ""}) CHECK(skip(known, "") == "");
}

TEST_CASE("matmuls run in the compute format, not in the storage format", "[training-case]") {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  row.measured = {};
  row.measured.iteration_time_s = 100;  // also possible in fp32
  for (const auto& [said, format] : {std::pair{"fp32 master weights, bf16 compute", "bf16"},
                                     {"fp32 params, bf16 autocast", "bf16"},
                                     {"fp32 (TF32 matmuls)", "tf32"},
                                     {"fp32", "fp32"},
                                     {"bf16 (no fp8)", "bf16"},
                                     {"bf16, fp32 gradient accumulation", "bf16"},
                                     {"bf16, gradients accumulated in fp32", "bf16"},
                                     {"bf16 + fp8 FSDP all-gather", "bf16"},
                                     {"fp8 e4m3 matmuls, bf16 params", "fp8"},
                                     {"pure bf16 weights, gradients and AdamW states", "bf16"}}) {
    INFO(said);
    row.precision = said;
    CHECK(training_case(row, devices_once()).plan.precision.name() == format);
  }
  row.precision = "half precision";
  CHECK(training_case(row, devices_once()).plan.precision.name() == "fp16");
}

TEST_CASE("a step too fast for fp32 is assumed to have run in TF32", "[training-case]") {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  row.precision = "fp32";
  // 8 x 19.5e12 FLOP/s in fp32, 8 x 156e12 in TF32; 6 x 124e6 FLOPs for each of 524288 tokens take 2.5 s in fp32.
  row.measured = {};
  row.measured.iteration_time_s = 5;
  CHECK(training_case(row, devices_once()).plan.precision.name() == "fp32");
  row.measured.iteration_time_s = 1;
  CHECK(training_case(row, devices_once()).plan.precision.name() == "tf32");
}

TEST_CASE("training formats are recognized by all their names, and assumed if missing", "[training-case]") {
  TrainingRow row = row_called(training_rows(), "llmc-gpt2-124M");
  row.measured = {};
  row.measured.iteration_time_s = 100;  // also possible in fp32
  const auto read = [&](const char* precision) {
    row.precision = precision;
    return training_case(row, devices_once());
  };
  for (const auto& [said, format] : {std::pair{"float16", "fp16"}, {"bfloat16", "bf16"}, {"float32", "fp32"}}) {
    CHECK(read(said).plan.precision.name() == format);
    CHECK_FALSE(read(said).input_assumed);
  }
  CHECK(read("").input_assumed);
  CHECK(read("").assumed.back() == "matmuls in bf16: the row does not state the precision");
  CHECK(read("mixed").assumed.back() == "matmuls in bf16: the precision \"mixed\" names no number format");
}

TEST_CASE("a device without a preset is built from the row's values, with a note", "[training-case]") {
  TrainingRow row = row_called(training_rows(), "sc21-t1-1.7B");
  row.hardware.gpu = "Unheard-of 9000";
  row.hardware.memory_gb = 100;
  row.hardware.peak_bw_gb_s = 6700;  // twice the H100's 3.35 TB/s
  const TrainingCase c = training_case(row, devices_once());
  REQUIRE(c.skip == "");
  CHECK_FALSE(c.on.preset);
  CHECK(c.input_assumed);
  CHECK_FALSE(training_case_called("sc21-t1-1.7B").input_assumed);
  CHECK(c.cluster().device.memory == Bytes(Count{100} << 30));
  CHECK(c.cluster().device.bandwidth.value == 6700e9);
  CHECK(c.cluster().device.peak(dtypes::bf16).value == 2 * 989.4e12);
  CHECK(c.assumed[0] == "no preset is named \"Unheard-of 9000\": a H100 SXM 80GB with 100 GB and rates scaled by 2.00");
}

TEST_CASE("the devices of a run are divided evenly over nodes that are at least half full", "[training-case]") {
  const auto in_a_node = [](const char* device, double memory_gb, Count count) {
    HardwareSaid said;
    said.device = device;
    said.memory_gb = memory_gb;
    said.count = count;
    return cluster_of(said, devices_once()).hardware.cluster.levels[0].ranks;
  };
  for (const auto& [count, each] :
       std::array<std::pair<Count, Count>, 6>{{{64, 72}, {72, 72}, {128, 64}, {512, 64}, {2496, 64}, {73, 72}}})
    CHECK(in_a_node("GB200 (NVL72)", 186, count) == each);
  CHECK(in_a_node("TPU v4", 32, 6144) == 3072);  // PaLM (arXiv:2204.02311): two pods of 4,096
}

TEST_CASE("missing values of a device without a preset come from a similar preset", "[training-case]") {
  const auto like = [](const char* device) {
    HardwareSaid said;
    said.device = device;
    said.memory_gb = 48;
    const RowCluster on = cluster_of(said, devices_once());
    CHECK_FALSE(on.preset);
    return on.assumed.at(0);
  };
  const char *h100 = ": a H100 SXM 80GB with 48 GB", *geforce = ": a RTX 4090 with 48 GB";
  CHECK_THAT(like("RTX 4090 Laptop"), Contains(geforce));
  for (const auto& [device, title] : {std::pair{"Quadro RTX 8000", ": a T4 with"},
                                      {"Quadro P6000", ": a P100 PCIe 16GB with"},
                                      {"GeForce RTX 2070", ": a T4 with"},
                                      {"GTX 1070", ": a P100 PCIe 16GB with"},
                                      {"RTX A5500", ": a RTX A6000 with"},
                                      {"RTX 2000 Ada", ": a RTX 6000 Ada"},
                                      {"Tesla A16", ": a A10 with"},
                                      {"L20", ": a L40S with"},
                                      {"RTX PRO 6000 Blackwell Max-Q", ": a RTX PRO 6000"},
                                      {"AMD Instinct MI450", ": a MI355X"},
                                      {"Intel Arc B570", "Arc Pro B60"},
                                      {"Apple M5 Ultra", "M5 Max"},
                                      {"TPU v2", "TPU v3"},
                                      {"B150", "B200"}}) {
    INFO(device);
    CHECK_THAT(like(device), Contains(title));
  }
  CHECK_THAT(like("AMD MI999X"), Contains(": a MI300X with 48 GB"));
  CHECK_THAT(like("Intel Arc Z9"), Contains("Arc Pro B60"));
  for (const char* other : {"Foo X100", "Marconi Omicron", "Searchlight 3", "Demimonde"})
    CHECK_THAT(like(other), Contains(h100));
}

TEST_CASE("a row with arbitrarily large values gives a case or a reason to skip it", "[training-case]") {
  TrainingRow row = row_called(training_rows(), "sc21-t1-1.7B");
  const Count huge = Count{1} << 40;
  const auto skipped = [&](TrainingRow r) { return !training_case(r, devices_once()).skip.empty(); };
  for (auto TrainingParallelism::*key : {&TrainingParallelism::tp, &TrainingParallelism::pp, &TrainingParallelism::cp,
                                         &TrainingParallelism::ep, &TrainingParallelism::dp}) {
    TrainingRow changed = row;
    changed.parallelism.*key = huge;
    changed.hardware.count = mul(huge, key == &TrainingParallelism::dp ? 1 : 32);
    changed.model.moe = MoeRow{huge, 2, 100, {}, 0, 0, 1, {}};
    CHECK(skipped(changed));
  }
  TrainingRow many = row;
  many.model.layers = huge;
  CHECK(skipped(many));
  TrainingRow few = row;  // 24 layers in 64 stages
  few.parallelism.pp = 64;
  few.parallelism.dp = 1;
  few.hardware.count = 64;
  CHECK(training_case(few, devices_once()).skip == "24 layers are fewer than the chunks of the pipeline");
  TrainingRow no_experts = row;
  no_experts.model.moe = MoeRow{8, 2, 100, {}, 0, 24, 1, {}};
  CHECK(training_case(no_experts, devices_once()).skip == "no layer has experts");
}
