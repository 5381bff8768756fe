#include "evidence/names/device_name.hpp"

#include <set>

#include "evidence/convert/inference/inference_row.hpp"
#include "evidence/convert/training/training_row.hpp"
#include "evidence/rows/measurement_file.hpp"
#include "tests/catch.hpp"
#include "tests/evidence/rows.hpp"

using namespace llmcalc;

namespace {

struct Meant {
  const char* name;
  double memory_gb;  ///< 0: not stated
  const char* preset;
};

/// All names in the published rows, and common spellings.
constexpr Meant meant[] = {
    {"p4d.24xlarge", 40, "a100-sxm-40gb"},
    {"p4de.24xlarge", 0, "a100-sxm-80gb"},
    {"AWS p5.48xlarge", 0, "h100-sxm-80gb"},
    {"p5en.48xlarge", 0, "h200-sxm-141gb"},
    {"p6-b200.48xlarge", 0, "b200-sxm-180gb"},
    {"p3dn.24xlarge", 0, "v100-sxm2-32gb"},
    {"g5.12xlarge", 0, "a10g"},
    {"trn1.32xlarge", 0, "trainium"},
    {"inf2.48xlarge", 0, "inferentia2"},
    {"a2-highgpu-8g", 0, "a100-sxm-40gb"},
    {"a3-highgpu-8g", 0, "h100-sxm-80gb"},
    {"a3-megagpu-8g", 0, "h100-sxm-80gb"},
    {"a3-ultragpu-8g", 0, "h200-sxm-141gb"},
    {"a4-highgpu-8g", 0, "b200-sxm-180gb"},
    {"ND A100 v4", 0, "a100-sxm-40gb"},
    {"Standard_ND96amsr_A100_v4", 0, "a100-sxm-80gb"},
    {"ND H100 v5", 0, "h100-sxm-80gb"},
    {"Standard_ND96isr_H100_v5", 0, "h100-sxm-80gb"},
    {"P100", 16, "p100-pcie-16gb"},
    {"A40", 0, "a40"},
    {"H20-3e", 141, "h20-141gb"},
    {"A100-SXM", 80, "a100-sxm-80gb"},
    {"A100-SXM", 40, "a100-sxm-40gb"},
    {"H100-SXM", 80, "h100-sxm-80gb"},
    {"H100-SXM 96GB HBM2e (500 W limit)", 96, "h100-sxm-96gb-hbm2e"},
    {"H100 (form factor not stated)", 80, "h100-sxm-80gb"},
    {"GB200 (NVL72)", 192, "gb200"},
    {"GB200 (NVL72)", 186, "gb200"},
    {"GB300 (NVL72)", 288, "gb300"},
    {"GB300 (NVL72)", 277, "gb300"},
    {"B200-SXM", 192, "b200-sxm-180gb"},
    {"B200-SXM (power limited)", 192, "b200-sxm-180gb"},
    {"Blackwell (SM100, 184 GiB usable)", 192, "b200-sxm-180gb"},
    {"B300-SXM", 270, "b300-sxm-288gb"},
    {"V100-SXM2", 32, "v100-sxm2-32gb"},
    {"V100-SXM2", 16, "v100-sxm2-16gb"},
    {"A800-SXM", 80, "a800-sxm-80gb"},
    {"H200-SXM", 141, "h200-sxm-141gb"},
    {"RTX PRO 6000 Blackwell", 96, "rtx-pro-6000-blackwell"},
    {"RTX 4090", 24, "rtx-4090"},
    {"RTX 5060 Ti", 16, "rtx-5060-ti-16gb"},
    {"RTX 5060 Ti", 8, "rtx-5060-ti-8gb"},
    {"MI350X", 288, "mi350x"},
    {"MI355X", 288, "mi355x"},
    {"TPU v4", 32, "tpu-v4"},
    {"NVIDIA A100-SXM4-80GB", 80, "a100-sxm-80gb"},
    {"NVIDIA A100-SXM4-40GB", 40, "a100-sxm-40gb"},
    {"NVIDIA A100-80GB (form factor not stated)", 80, "a100-sxm-80gb"},
    {"NVIDIA A100 PCIe", 80, "a100-pcie-80gb"},
    {"NVIDIA A100 SXM", 80, "a100-sxm-80gb"},
    {"NVIDIA H100-SXM5-80GB", 80, "h100-sxm-80gb"},
    {"NVIDIA H100 PCIe", 80, "h100-pcie-80gb"},
    {"NVIDIA H200-SXM-141GB", 141, "h200-sxm-141gb"},
    {"NVIDIA B200-SXM-180GB", 180, "b200-sxm-180gb"},
    {"NVIDIA GB300", 288, "gb300"},
    {"NVIDIA GB10 (DGX Spark)", 128, "dgx-spark"},
    {"NVIDIA H20-96GB", 96, "h20-96gb"},
    {"NVIDIA 3070", 8, "rtx-3070"},
    {"NVIDIA 3080", 10, "rtx-3080-10gb"},
    {"NVIDIA 4090", 24, "rtx-4090"},
    {"NVIDIA RTX 3090 Ti", 24, "rtx-3090-ti"},
    {"NVIDIA RTX 4000 Ada", 20, "rtx-4000-ada"},
    {"NVIDIA RTX 5000 Ada", 32, "rtx-5000-ada"},
    {"NVIDIA RTX A6000", 48, "rtx-a6000"},
    {"NVIDIA A40", 48, "a40"},
    {"NVIDIA L40S", 48, "l40s"},
    {"NVIDIA RTX PRO 6000 Blackwell 96GB", 96, "rtx-pro-6000-blackwell"},
    {"NVIDIA Jetson AGX Orin", 64, "jetson-agx-orin-64gb"},
    {"NVIDIA Jetson AGX Orin", 32, "jetson-agx-orin-32gb"},
    {"AMD Instinct MI250X (one GCD)", 64, "mi250x-gcd"},
    {"AMD Instinct MI250X", 128, "mi250x"},
    {"AMD RX 7900 XTX", 24, "rx-7900-xtx"},
    {"Intel Arc Pro B60", 24, "arc-pro-b60"},
    {"Intel Gaudi 2", 96, "gaudi-2"},
    {"Intel Gaudi 3", 128, "gaudi-3"},
    {"AWS Inferentia2", 32, "inferentia2"},
    {"AWS Trainium1", 32, "trainium"},
    {"AWS Trainium2", 96, "trainium2"},
    {"Google TPU v4", 32, "tpu-v4"},
    {"Google TPU v5e", 16, "tpu-v5e"},
    {"TPU7x", 192, "tpu-v7x"},
    {"Apple M1 (8-core GPU)", 0, "m1"},
    {"Apple M1 Pro (14-core GPU)", 0, "m1-pro-14-core"},
    {"Apple M1 Pro (16-core GPU)", 0, "m1-pro"},
    {"Apple M1 Max (24-core GPU)", 0, "m1-max-24-core"},
    {"Apple M1 Max 32-Core GPU", 64, "m1-max"},
    {"Apple M1 Ultra (48-core GPU)", 0, "m1-ultra-48-core"},
    {"Apple M2", 0, "m2"},
    {"Apple M2 (8-core GPU)", 0, "m2-8-core"},
    {"Apple M2 (10-core GPU)", 0, "m2"},
    {"Apple M2 Pro (16-core GPU)", 0, "m2-pro-16-core"},
    {"Apple M2 Ultra 76-Core GPU", 192, "m2-ultra"},
    {"Apple M3 (10-core GPU)", 0, "m3"},
    {"Apple M3 Pro (18-core GPU)", 0, "m3-pro"},
    {"Apple M3 Max (30-core GPU)", 0, "m3-max-30-core"},
    {"Apple M3 Max 40-Core GPU", 64, "m3-max"},
    {"Apple M4 Max (40-core GPU), 64 GB", 64, "m4-max"},
    {"8x H100 SXM5", 80, "h100-sxm-80gb"},
    {"NVIDIA H100 80GB HBM3", 0, "h100-sxm-80gb"},
    {"DGX H100", 0, "h100-sxm-80gb"},
    {"Tesla V100-SXM2-16GB", 0, "v100-sxm2-16gb"},
    {"NVIDIA GeForce RTX4090", 0, "rtx-4090"},
    {"GB200 NVL72", 0, "gb200"},
    {"AMD Instinct MI300X OAM", 192, "mi300x"},
    {"RTX PRO 6000 Blackwell Workstation Edition", 96, "rtx-pro-6000-blackwell"},
    {"RTX PRO 6000 Blackwell Server Edition", 96, "rtx-pro-6000-blackwell-server"},
    {"A100 40G", 0, "a100-sxm-40gb"},
    {"NVIDIA A100 80G PCIe", 0, "a100-pcie-80gb"},
    {"NVIDIA A10G", 0, "a10g"},
    {"NVIDIA H100 Hopper", 0, "h100-sxm-80gb"},
    {"8xH100", 0, "h100-sxm-80gb"},
    {"H100 x8", 0, "h100-sxm-80gb"},
    {"h100x8", 0, "h100-sxm-80gb"},
    {"RTX 3090 x2", 0, "rtx-3090"},
    {"NVIDIA H100 Tensor Core GPU", 0, "h100-sxm-80gb"},
    {"GB200-NVL4", 0, "gb200"},
    {"v5p-128", 0, "tpu-v5p"},
    {"v5p", 0, "tpu-v5p"},
    {"v5e-256", 0, "tpu-v5e"},
    {"v6e-256", 0, "tpu-v6e"},
    {"v4-128", 0, "tpu-v4"},
};

}  // namespace

TEST_CASE("a source's device name maps to the intended preset", "[device]") {
  const Devices devices;
  for (const Meant& m : meant) {
    INFO(m.name << ", " << m.memory_gb << " GB");
    const HardwareCard* card = devices.find(m.name, m.memory_gb > 0 ? std::optional(m.memory_gb) : std::nullopt);
    REQUIRE(card != nullptr);
    CHECK(card->name == m.preset);
  }
}

TEST_CASE("every preset is found by its name", "[device]") {
  const Devices devices;
  for (const HardwareCard& card : devices.all()) {
    INFO(card.name);
    const HardwareCard* found = devices.find(card.name);
    REQUIRE(found != nullptr);
    CHECK(found->name == card.name);
  }
}

TEST_CASE("a device name with an extra significant term does not match a preset", "[device]") {
  const Devices devices;
  for (const char* name : {"RTX 4090 D", "RTX 4090 Laptop", "A100X", "H1000", "TPU v9", "RTX 4070 Ti Ultra", "X100",
                           "A100 MIG 1g.10gb", "RTX PRO 6000 Blackwell Max-Q Workstation Edition", ""})
    CHECK(devices.find(name) == nullptr);
}

TEST_CASE("every device in the published measurements has a preset", "[device]") {
  const Devices devices;
  std::set<std::string> names, listed;
  for (const TrainingRow& r : test::training_rows()) names.insert(r.hardware.gpu);
  for (const InferenceRow& r : test::inference_rows()) names.insert(r.hardware.accelerator);
  for (const Meant& m : meant) listed.insert(m.name);
  for (const std::string& name : names) {
    INFO(name);
    CHECK(devices.find(name) != nullptr);
  }
  CHECK(names.size() == 22 + 73);
}
