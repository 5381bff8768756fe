// Measurements from device counters (FLOPs, energy, memory), in text and in JSON.

#include "cli/kernels/instrument_sections.hpp"
#include "presets/load.hpp"
#include "report/render/render.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

validate::Metered all_measured() {
  validate::Metered m;
  m.tensor_cores = true;
  m.phases = {{{"forward", 1000, 300}, {"forward", 1010, 200, 90, Seconds(0.5)}},
              {{"decode", 1000, 300}, {"decode", 0, 290, 1, Seconds(0.5)}}};
  m.product = 1.0;
  m.energy = {{"training step", 100, 4, {2000, Seconds(4)}}};
  m.memory = {{"training",
               Bytes(1000),
               Bytes(500),
               {.used = Bytes(1540),
                .overhead = Bytes(505),
                .workspaces = {{"cuBLASLt workspace", Bytes(32), ""}},
                .terms = {{"context", Bytes(505), "of the driver"}, {"arena", Bytes(1000), "tensors"}}}}};
  m.board.name = "NVIDIA H200";
  m.board.sm_clock = 1755e6;
  m.board.throttled = {{"power cap"}};
  m.versions = {{"cublaslt", "13.1.0"}};
  return m;
}

/// Counters of a phase split into matmuls, padded matmuls and attention.
validate::Metered parts_told() {
  using enum model::WorkKind;
  validate::Metered m = all_measured();
  m.phases[0].parts = {
      {.kind = products, .predicted = 600, .counted = 606},
      {.kind = padded, .predicted = 100, .counted = 160, .judged = false},
      {.kind = attention, .predicted = 300, .counted = 310, .core = model::CoreRun{model::AttentionCore::mma}}};
  m.phases[1].parts = {{.kind = products}};
  return m;
}

json::Value json_of(const validate::Metered& m) {
  Report r;
  add_instruments(r, m);
  return report_json(r);
}
std::string text_of(const validate::Metered& m) {
  Report r;
  add_instruments(r, m);
  return render(r, {.columns = 120});
}
bool says(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

}  // namespace

TEST_CASE("counted FLOPs and bytes are shown next to their predictions", "[contract][instruments]") {
  const json::Value r = json_of(all_measured());
  CHECK(r["counters"][0] == json::Value{{"phase", "forward"},
                                        {"predicted_flops", 1000.0},
                                        {"counted_flops", 1010.0},
                                        {"ratio", 1.01},
                                        {"predicted_bytes", 300.0},
                                        {"dram_read_bytes", 200.0},
                                        {"dram_written_bytes", 90.0},
                                        {"counted_s", 0.5}});
  const std::string text = text_of(all_measured());
  CHECK(says(text, "forward            1,000    1,010  1.0100"));
  CHECK(says(text, "the counters measured 1.000000 of the FLOPs"));
}

TEST_CASE("tensor core FLOPs are compared with their prediction if there is one", "[contract][instruments]") {
  const json::Value rows = json_of(parts_told())["tensor_work"];
  REQUIRE(rows.size() == 4);
  CHECK(rows[0] == json::Value{{"phase", "forward"},
                               {"of", "products"},
                               {"predicted_flops", 600.0},
                               {"counted_flops", 606.0},
                               {"tolerance", 0.02},
                               {"within", true}});
  CHECK_FALSE(rows[1].contains("within"));
  CHECK(rows[2]["within"] == false);
  CHECK(rows[2]["core"] == "mma");
  CHECK_FALSE(rows[2].contains("obstacle"));
  CHECK(rows[3]["within"] == true);
  const std::string text = text_of(parts_told());
  for (const char* const said :
       {"1.0100   within", "1.6000     none", "1.0333  outside", "decode   products", "non-tensor cores", "are padded"})
    CHECK(says(text, said));
}

TEST_CASE("a note gives the reason if FLOPs are not split by unit", "[contract][instruments]") {
  validate::Metered m = all_measured();
  m.no_parts = "not permitted";
  CHECK_FALSE(json_of(m).contains("tensor_work"));
  CHECK(says(text_of(m), "FLOPs are not split by unit: not permitted"));
}

TEST_CASE("float32 FLOPs are omitted if they were not counted", "[contract][instruments]") {
  validate::Metered m = all_measured();
  m.tensor_cores = false;
  m.product.reset();
  const json::Value r = json_of(m);
  CHECK_FALSE(r["counters"][0].contains("counted_flops"));
  CHECK(r["counters"][0]["dram_read_bytes"] == 200.0);
  CHECK(says(text_of(m), "float32 matmuls do not run on tensor cores"));
}

TEST_CASE("measured energy is shown in joules per run and per token, and in watts", "[contract][instruments]") {
  CHECK(json_of(all_measured())["energy"][0] == json::Value{{"what", "training step"},
                                                            {"joules", 500.0},
                                                            {"joules_per_token", 5.0},
                                                            {"watts", 500.0},
                                                            {"runs", 4},
                                                            {"seconds", 4.0}});
}

TEST_CASE("measured device memory is shown next to its prediction", "[contract][instruments]") {
  const json::Value rows = json_of(all_measured())["device_memory"];
  CHECK(rows[0] == json::Value{{"part", "training"}, {"term", "context"}, {"bytes", 505}, {"what", "of the driver"}});
  CHECK(rows[1]["predicted_bytes"] == 1000);
  CHECK(rows[2]["term"] == "in all");
  CHECK(rows[2]["predicted_bytes"] == 1532);
  CHECK(rows[2]["bytes"] == 1540);
  CHECK(rows[2]["within"] == true);
  CHECK(says(text_of(all_measured()), "of non-tensor memory; ratio 1.0052, within"));

  validate::Metered uncalibrated = all_measured();
  uncalibrated.memory[0].overhead = Bytes();
  CHECK_FALSE(json_of(uncalibrated)["device_memory"][2].contains("predicted_bytes"));
}

TEST_CASE("validate lists the known properties of the machine", "[contract][instruments]") {
  const json::Value machine = json_of(all_measured())["machine"];
  CHECK(machine == json::Value{{"name", "NVIDIA H200"},
                               {"sm_clock_hz", 1755e6},
                               {"held_back_by", "power cap"},
                               {"versions", {{"cublaslt", "13.1.0"}}}});
  CHECK(says(text_of(all_measured()), "1755 MHz"));
}

TEST_CASE("a missing measurement is reported in a note instead of a section", "[contract][instruments]") {
  validate::Metered m;
  m.no_counts = "no CUPTI";
  m.no_energy = "no board";
  m.no_memory = "not alone";
  const json::Value r = json_of(m);
  for (const char* section : {"counters", "energy", "device_memory"}) CHECK_FALSE(r.contains(section));
  CHECK(r["notes"] ==
        json::Value{"no hardware counters: no CUPTI", "no energy: no board", "no total memory: not alone"});
}

TEST_CASE("validate shows which attention implementation ran if there is a choice", "[contract][instruments]") {
  validate::CaseVerdict v;
  Report r;
  add_attention_cores(r, v);
  CHECK(r.sections.empty());
  using enum model::AttentionCore;
  v.cores = {{"training", {model::CoreRun{mma}, model::CoreRun{plain, model::CoreObstacle::dropout}}},
             {"inference", {model::CoreRun{mma}, {}}}};
  add_attention_cores(r, v);
  const json::Value training{{"forward", {{"core", "mma"}}},
                             {"backward", {{"core", "plain"}, {"obstacle", "dropout"}}}};
  CHECK(report_json(r)["attention_core"] ==
        json::Value{{"training", training}, {"inference", {{"forward", {{"core", "mma"}}}}}});
  CHECK(attention_core_json(v.cores[0]) == training);
  for (const Style style : {Style::text, Style::markdown}) CHECK(says(render(r, {style}), "not mma: dropout"));
}

TEST_CASE("utilization uses the datasheet's peak if a preset has the board's name", "[contract][instruments]") {
  validate::Case c{"gpt-2", load_model("gpt-2-124m").arch, {}};
  c.plan.seq = 1024;
  c.plan.micro_batch = c.plan.global_batch = 64;
  HardwareCard measured;
  measured.title = "measured",
  measured.cluster.device.peaks[static_cast<std::size_t>(Peak::bf16)] = FlopsPerSecond(500e12);
  Report r;
  r.sections = {mfu_section(c, 0.12, "NVIDIA H200", measured)};
  const json::Value mfu = report_json(r)["utilization"];
  const double tokens_per_s = 65536 / 0.12;
  CHECK(mfu["tokens_per_s"] == tokens_per_s);
  CHECK(mfu["peak_flops_per_s"] == 989.4e12);
  CHECK(mfu["llm_c"].get<double>() == Approx(803261952 * tokens_per_s / 989.4e12));
  for (const char* key : {"model", "palm", "nanogpt", "six_n", "executed"}) CHECK(mfu.contains(key));
  r.sections = {mfu_section(c, 0.12, "NVIDIA Something", measured)};
  CHECK(report_json(r)["utilization"]["peak_flops_per_s"] == 500e12);
}
