// Folders of operator tables: files that are read, and files that are rejected, with their messages.

#include "evidence/profile/operator_table.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "calc/device.hpp"
#include "evidence/profile/table_subject.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;

namespace {

namespace fs = std::filesystem;

/// A folder rtx-4090 for a test's tables, removed at the end.
class TableFolder {
 public:
  explicit TableFolder(const std::string& device = "rtx-4090")
      : root_(fs::temp_directory_path() / ("llmcalc_tables_" + std::to_string(::getpid()))), device_(root_ / device) {
    fs::remove_all(root_);
    fs::create_directories(device_);
  }
  ~TableFolder() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  TableFolder(const TableFolder&) = delete;
  TableFolder& operator=(const TableFolder&) = delete;

  std::string path(const std::string& inside = "") const { return (device_ / inside).string(); }
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((device_ / file).parent_path());
    std::ofstream(device_ / file) << text;
  }
  /// Writes tables of one rank with the given dense.csv.
  void write_tables(const std::string& folder, const std::string& dense) const {
    write(folder + "dense.csv", dense);
    write(folder + "per_sequence.csv", "layer,sequences,time_us\nlm_head,3,700\n");
    write(folder + "attention.csv", "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n512,64,4,256,50\n");
  }
  void remove(const std::string& file) const { fs::remove(device_ / file); }
  std::string refused(const std::string& inside = "") const {
    return test::sentence([&] { read_operator_tables(path(inside)); });
  }

 private:
  fs::path root_, device_;
};

const std::string tp1 = "llama-3.1-8b/tp1/";
const std::string dense = "layer,tokens,time_us\no_proj,1,25\no_proj,16,24.5\nact_fn,1,2.5\n";

}  // namespace

TEST_CASE("reading a device folder, a model folder or a rank folder gives the same tables", "[operators]") {
  const TableFolder f;
  f.write_tables(tp1, dense);
  f.write_tables("llama-3.1-8b/tp2/", dense);
  f.write_tables("qwen3-32b/tp4/", dense);
  f.write(tp1 + "moe.csv", "tokens,activated_experts,time_us\n4,8,90\n");
  const auto all = read_operator_tables(f.path());
  REQUIRE(all.size() == 3);
  CHECK(all[0].ranks == 1);
  CHECK(all[1].ranks == 2);
  CHECK(all[2].ranks == 4);
  CHECK(all[2].model_folder == "qwen3-32b");
  CHECK(all[0].device_folder == "rtx-4090");
  CHECK(all[0].dense.size() == 3);
  CHECK(all[0].dense[1].layer == "o_proj");
  CHECK(all[0].dense[1].tokens == 16);
  CHECK(all[0].dense[1].time.value == Approx(24.5e-6));
  CHECK(all[0].per_sequence[0].tokens == 3);
  CHECK(all[0].attention[0].chunk == 512);
  CHECK(all[0].attention[0].past == 64);
  CHECK(all[0].attention[0].sequences == 4);
  CHECK(all[0].attention[0].context == 256);
  CHECK(all[0].experts[0].activated == 8);
  CHECK_FALSE(all[0].has_meta);
  CHECK(read_operator_tables(f.path("llama-3.1-8b")).size() == 2);
  CHECK(read_operator_tables(f.path(tp1)).size() == 1);
  CHECK(read_operator_tables(f.path(tp1))[0].model_folder == "llama-3.1-8b");
}

TEST_CASE("unknown lines in meta.yaml are ignored", "[operators]") {
  const TableFolder f;
  f.write_tables(tp1, dense);
  f.write(tp1 + "meta.yaml",
          "vllm_version: 0.19.0\ngpu: 'NVIDIA H100 PCIe'\nhardware: H100\nmodel: meta-llama/Llama-3.1-8B\n"
          "variant: bf16\nengine_effective:\n  model: other\n  enforce_eager: false\nlist: [1, 2]\n- odd\n");
  const TableOrigin o = read_operator_tables(f.path())[0].origin;
  CHECK(o.device == "NVIDIA H100 PCIe");
  CHECK(o.model == "meta-llama/Llama-3.1-8B");
  CHECK(o.format == "bf16");
  CHECK(o.engine == "0.19.0");
  CHECK(o.eager == false);
  f.write(tp1 + "meta.yaml", "hardware: H100\n");
  CHECK(read_operator_tables(f.path())[0].origin.device == "H100");
  CHECK_FALSE(read_operator_tables(f.path())[0].origin.eager.has_value());
}

TEST_CASE("unknown columns are listed once per file", "[operators]") {
  const TableFolder f;
  f.write_tables(tp1, "layer,watts,tokens,time_us\no_proj,300,1,25\no_proj,310,2,25\n");
  CHECK(read_operator_tables(f.path())[0].unread == std::vector<std::string>{"dense.csv: watts"});
}

TEST_CASE("the error for folders without tables shows the expected layout", "[operators]") {
  const TableFolder f;
  CHECK(f.refused("nowhere") == "cannot read '" + f.path("nowhere") + "': no such folder");
  CHECK(f.refused() == "'" + f.path() +
                           "' contains no operator tables; expected MODEL/tpN/dense.csv next to attention.csv "
                           "and per_sequence.csv, and optionally moe.csv and meta.yaml");
  f.write("file", "text");
  CHECK(f.refused("file") == "'" + f.path("file") + "' is a file; pass the folder of a device, a model or tpN");
  f.write(tp1 + "attention.csv", "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n512,64,4,256,50\n");
  CHECK(f.refused() ==
        "'" + f.path("llama-3.1-8b/tp1") +
            "' has no dense.csv (layer,tokens,time_us) with the times of projections, norms and activations, which "
            "every step requires; measure them, or pass the folder that contains them");
  fs::rename(f.path("llama-3.1-8b/tp1"), f.path("llama-3.1-8b/two"));
  CHECK(f.refused() ==
        "'" + f.path("llama-3.1-8b/two") +
            "' contains tables, but its name lacks the number of tensor-parallel ranks; rename it to tp1, tp2 ...");
}

TEST_CASE("the error for a folder that lacks a required table names the table", "[operators]") {
  const TableFolder f;
  for (const std::string missing : {"per_sequence.csv", "attention.csv"}) {
    f.write_tables(tp1, dense);
    f.remove(tp1 + missing);
    CHECK_THAT(f.refused(),
               Catch::Matchers::Contains("tp1' has no " + missing) && Catch::Matchers::Contains("measure them"));
  }
}

TEST_CASE("the error for an impossible row states file, line and reason", "[operators]") {
  const TableFolder f;
  const std::string file = f.path(tp1 + "dense.csv");
  const auto refused = [&](const std::string& rows) {
    f.write_tables(tp1, "layer,tokens,time_us\n" + rows);
    return f.refused();
  };
  CHECK(refused("o_proj,1,0\n") == file + ", line 2, \"time_us\": expected a number above 0 (0.5, 1200), got \"0\"");
  CHECK(refused("o_proj,1,-2\n") == file + ", line 2, \"time_us\": expected a number above 0 (0.5, 1200), got \"-2\"");
  CHECK(refused("o_proj,1,nan\n") ==
        file + ", line 2, \"time_us\": expected a number above 0 (0.5, 1200), got \"nan\"");
  CHECK(refused("o_proj,0,2\n") == file + ", line 2: tokens is 0; an empty call has no time, so remove the row");
  CHECK(refused("o_proj,4,2\nact_fn,4,2\no_proj,4,3\n") ==
        file + ", line 4: o_proj at tokens 4 was already measured in line 2; remove one of the two");
  CHECK(refused("o_proj,64,30\no_proj,2,91\no_proj,4,90\n") ==
        file +
            ", line 2: o_proj at tokens 64 takes 30 us, less than a third of the 91 us at tokens 2 in line 3; noise "
            "and a change of kernel do not explain this: check units and columns");
  CHECK(refused("o_proj,64,31\no_proj,2,91\n") == "nothing was rejected");  // a different kernel
  f.write(tp1 + "attention.csv",
          "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n0,0,8,64,9\n0,0,8,128,2\n16,0,8,128,9\n");
  CHECK(f.refused() ==
        f.path(tp1 + "attention.csv") +
            ", line 3: prefill_chunk 0, kv_prefill 0, n_decode 8, kv_decode 128 takes 2 us, less than a third of the 9 "
            "us at kv_decode 64 in line 2; noise and a change of kernel do not explain this: check units and columns");
  f.write(tp1 + "attention.csv", "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n0,64,0,0,9\n");
  CHECK(f.refused() ==
        f.path(tp1 + "attention.csv") +
            ", line 2: neither a prompt chunk nor a decoding sequence; an empty call has no time, so remove the row");
}

TEST_CASE("meta.yaml or the folder name gives the device, which must be the same for all tables", "[operators]") {
  const TableFolder f;
  f.write_tables(tp1, dense);
  CHECK(device_of(read_operator_tables(f.path())) == "rtx-4090");
  f.write(tp1 + "meta.yaml", "gpu: NVIDIA H100 PCIe\n");
  CHECK(device_of(read_operator_tables(f.path())) == "h100-pcie-80gb");
  f.write_tables("qwen3-32b/tp2/", dense);
  const auto two = read_operator_tables(f.path());
  CHECK(test::sentence([&] { device_of(two); }) ==
        "'" + f.path("llama-3.1-8b/tp1") + "' was measured on h100-pcie-80gb and '" + f.path("qwen3-32b/tp2") +
            "' on rtx-4090; a hardware file describes one device, so pass the folder of one device, or --hardware HW");
  const TableFolder odd("rtx-409");
  odd.write_tables(tp1, dense);
  const auto unknown = read_operator_tables(odd.path());
  CHECK(test::sentence([&] { device_of(unknown); })
            .starts_with("the tables in '" + odd.path("llama-3.1-8b/tp1") +
                         "': unknown hardware \"rtx-409\", did you mean 'rtx-4090'"));
}

TEST_CASE("meta.yaml or the folder name gives the model, which the ranks must divide", "[operators]") {
  const TableFolder f;
  const Device device = load_hardware("rtx-4090").cluster.device;
  std::vector<std::string> assumed;
  const auto subject = [&](const std::optional<ModelCard>& said) {
    return subject_of(read_operator_tables(f.path())[0], said, device, assumed);
  };
  f.write_tables(tp1, dense);
  CHECK(subject({}).name == "llama-3.1-8b, tp 1");
  CHECK(assumed.size() == 1);  // the format
  f.write(tp1 + "meta.yaml", "model: Qwen/Qwen3-32B\nvariant: fp8\n");
  assumed.clear();
  CHECK(subject({}).name == "qwen3-32b, tp 1");
  CHECK(subject({}).plan.precision == dtypes::fp8);
  CHECK(assumed.empty());
  CHECK(subject(load_model("gpt-2-124m")).name == "gpt-2-124m, tp 1");
  f.write(tp1 + "meta.yaml", "variant: fp99\n");
  CHECK(
      test::sentence([&] { subject({}); }) ==
      "'" + f.path("llama-3.1-8b/tp1") +
          "': variant \"fp99\" in meta.yaml is not a supported number format; 'llmcalc list dtypes' shows all formats");
  fs::rename(f.path("llama-3.1-8b"), f.path("llama-3.1-9b"));
  fs::remove(f.path("llama-3.1-9b/tp1/meta.yaml"));
  CHECK(test::sentence([&] {
          subject({});
        }).starts_with("the tables in '" + f.path("llama-3.1-9b/tp1") + "': unknown model \"llama-3.1-9b\", did you "));
  fs::rename(f.path("llama-3.1-9b/tp1"), f.path("llama-3.1-9b/tp3"));
  CHECK(test::sentence([&] { subject(load_model("llama-3.1-8b")); }) ==
        "'" + f.path("llama-3.1-9b/tp3") +
            "': the heads of llama-3.1-8b (32) cannot be divided evenly among 3 tensor-parallel ranks; pass the folder "
            "of this model, or the right --model");
}

TEST_CASE("a model with experts is rejected without a table of expert times", "[operators]") {
  const TableFolder f;
  f.write_tables("qwen3-30b-a3b/tp1/", dense);
  const Device device = load_hardware("rtx-4090").cluster.device;
  const auto subject = [&] {
    std::vector<std::string> assumed;
    subject_of(read_operator_tables(f.path()).at(0), std::nullopt, device, assumed);
  };
  CHECK_THAT(test::sentence(subject),
             Catch::Matchers::Contains(
                 "tp1' has no moe.csv (tokens,activated_experts,time_us) with the times of qwen3-30b-a3b's experts"));
  f.write("qwen3-30b-a3b/tp1/moe.csv", "tokens,activated_experts,time_us\n4,8,90\n");
  CHECK(test::sentence(subject) == "nothing was rejected");
}
