// Known rates are recovered from tables generated with them, and matmuls of the published tables are predicted within
// 10 %.

#include "evidence/profile/operator_rates.hpp"

#include <cmath>

#include "evidence/names/device_name.hpp"
#include "presets/hardware_file.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"
#include "tests/evidence/rows.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;

namespace {

/// A device with known rates.
struct Known {
  double launch = 3e-6, memory = 0.8, matmul = 0.7, exposed = 0.4, attention = 200e12, cache = 4e12, reads = 0.7,
         large_tensors = 0.9;
};

const Device& device() {
  static const Device d = test::devices_once().called("rtx-pro-6000-blackwell-server")->cluster.device;
  return d;
}

struct Product {
  double in, out;
};

/// Tables of Llama-3.1-8B (width 4096, 32 heads and 8 KV heads of 128 elements, MLP 14336, vocabulary 128256) in bf16,
/// computed from its shapes by t = launch + max(C, M) + exposed min(C, M).
class Synthetic {
 public:
  explicit Synthetic(const Known& k, Count ranks = 1) : k_(k) {
    t_.path = "synthetic";
    t_.ranks = ranks;
    t_.model_folder = "llama-3.1-8b";
    t_.origin.format = "bf16";
  }

  void products(std::string_view layer, const std::vector<Product>& as, const std::vector<Count>& tokens) {
    for (const Count n : tokens) {
      double c = 0, m = 0;
      for (const Product& p : as) {
        const double activations = 2 * d(n) * (p.in + p.out);  // bytes
        c += 2 * d(n) * p.in * p.out / (k_.matmul * peak);
        m += 2 * p.in * p.out / (k_.memory * bandwidth) + activations / rate(activations, k_.memory);
      }
      add(layer, n, k_.launch + std::max(c, m) + k_.exposed * std::min(c, m));
    }
  }
  void elementwise(std::string_view layer, double touched, const std::vector<Count>& tokens) {
    for (const Count n : tokens)
      add(layer, n, k_.launch + 2 * d(n) * touched / rate(2 * d(n) * touched, k_.large_tensors));
  }
  void prompt(Count chunk, Count past) {
    const double pairs = d(chunk) * d(past) + d(chunk) * (d(chunk) + 1) / 2;
    t_.attention.push_back({chunk, past, 0, 0, Seconds(k_.launch + 4 * 128 * heads() * pairs / k_.attention)});
  }
  void decoding(Count sequences, Count context) {
    const double bytes = 2 * 2 * 128 * heads() / 4 * d(sequences) * d(context);  // 4 heads share keys and values
    t_.attention.push_back({0, 0, sequences, context, Seconds(k_.launch + bytes / (k_.reads * bandwidth))});
  }

  Synthetic& all() {
    const std::vector<Count> sizes{1, 2, 4, 8, 12, 16, 64, 128, 192, 256, 320, 384, 512, 1024, 1536, 2048, 3072, 4096};
    const double r = d(t_.ranks);
    products("qkv_proj", {{4096, 4096 / r}, {4096, 1024 / r}, {4096, 1024 / r}}, sizes);
    products("o_proj", {{4096 / r, 4096}}, sizes);
    products("gate_up_proj", {{4096, 14336 / r}, {4096, 14336 / r}}, sizes);
    products("down_proj", {{14336 / r, 4096}}, sizes);
    products("lm_head", {{4096, 128256 / r}}, {1, 2, 4, 8, 16, 64, 256});
    elementwise("act_fn", 3 * 14336 / r, sizes);
    elementwise("rotary_emb", 2 * 5120 / r, sizes);
    for (const Count chunk : {16, 512, 1024, 2048})
      for (const Count past : {0, 512, 4096, 16384}) prompt(chunk, past);
    for (const Count n : {16, 32, 64, 128})
      for (const Count context : {4096, 8192, 16384}) decoding(n, context);
    return *this;
  }
  const OperatorTables& tables() const { return t_; }

 private:
  static constexpr double peak = 467.8e12, bandwidth = 1.792e12;
  static constexpr double cache_bytes = 128.0 * (1 << 20);
  static double d(Count n) { return static_cast<double>(n); }
  double heads() const { return 32 / d(t_.ranks); }
  double rate(double bytes, double share) const { return bytes <= cache_bytes ? k_.cache : share * bandwidth; }
  void add(std::string_view layer, Count n, double seconds) {
    (layer == "lm_head" ? t_.per_sequence : t_.dense).push_back({std::string(layer), n, Seconds(seconds)});
  }

  Known k_;
  OperatorTables t_;
};

struct Derived {
  std::vector<TableSubject> subjects;
  std::vector<std::string> left_out;
  OperatorRates rates;
};
Derived derived(const std::vector<OperatorTables>& all, bool recorded = false) {
  Derived d;
  std::vector<TimedRow> rows;
  for (std::size_t i = 0; i < all.size(); ++i) {
    d.subjects.push_back(subject_of(all[i], {}, device(), d.left_out));
    for (TimedRow& row : timed_rows(i, all[i], d.subjects[i], d.left_out)) rows.push_back(std::move(row));
  }
  d.rates = operator_rates(rows, d.subjects, device(), recorded);
  return d;
}

const DerivedNumber* number(const OperatorRates& r, std::string_view key) {
  const auto found = std::find_if(r.numbers.begin(), r.numbers.end(), [&](const auto& n) { return n.key == key; });
  return found == r.numbers.end() ? nullptr : &*found;
}
double value(const OperatorRates& r, std::string_view key) {
  REQUIRE(number(r, key) != nullptr);
  return number(r, key)->value;
}
const LayerResidual& residual(const OperatorRates& r, std::string_view layer, std::size_t table = 0) {
  const auto found = std::find_if(r.residuals.begin(), r.residuals.end(),
                                  [&](const auto& x) { return x.layer == layer && x.table == table; });
  REQUIRE(found != r.residuals.end());
  return *found;
}

/// In the rows that determine the launch overhead, memory time is up to 5 % of the total, and less at the median.
auto about(double x) { return Approx(x).epsilon(0.02); }

void gives_back(const Known& k, Count ranks) {
  const Derived d = derived({Synthetic(k, ranks).all().tables()});
  const OperatorRates& r = d.rates;
  CHECK(value(r, "launch") == about(k.launch));
  CHECK(value(r, "memory") == about(k.memory));
  CHECK(value(r, "matmul.bf16") == about(k.matmul));
  CHECK(value(r, "exposed.bf16") == Approx(k.exposed).margin(0.03));
  CHECK(value(r, "attention.bf16") == about(k.attention));
  CHECK(value(r, "cache") == about(k.cache));
  CHECK(value(r, "cache_reads") == about(k.reads));
  CHECK_FALSE(number(r, "cache_reads")->in_file);
  for (const char* layer : {"o_proj", "down_proj", "lm_head", "act_fn", "attention, prompt"})
    CHECK(residual(r, layer).median == Approx(1).margin(0.03));
  CHECK(d.left_out.empty());
  CHECK(r.notes.empty());
}

}  // namespace

TEST_CASE("the rates used to generate tables are recovered from them", "[operators]") {
  gives_back({}, 1);
  gives_back({}, 2);  // each of two ranks has half of every matrix
  gives_back({.launch = 6e-6, .memory = 0.6, .matmul = 0.9, .exposed = 0, .attention = 120e12, .cache = 6e12}, 1);
  gives_back({.memory = 0.95, .matmul = 0.5, .exposed = 0.7, .attention = 300e12}, 1);
}

TEST_CASE("a fused matmul is one kernel in the table and several in the cost model", "[operators]") {
  const Derived d = derived({Synthetic({.exposed = 0}).all().tables()});
  // One token: the 33.6 + 8.4 + 8.4 MB of q, k and v at 0.8 x 1.792 TB/s take 35.1 us, plus 3 us of launch. The cost
  // model launches three times.
  CHECK(residual(d.rates, "qkv_proj").by_size[0].value() == Approx((35.1 + 9) / (35.1 + 3)).epsilon(0.02));
}

TEST_CASE("every table has the same weight, however many rows it has", "[operators]") {
  Synthetic slow({.matmul = 0.6}), quick({.matmul = 0.8});
  slow.all();
  quick.all();
  for (Count n = 2050; n < 4000; n += 2) quick.products("o_proj", {{4096, 4096}}, {n});
  const Derived d = derived({slow.tables(), quick.tables()});
  CHECK(value(d.rates, "matmul.bf16") == Approx(0.7).margin(0.02));
  CHECK(number(d.rates, "matmul.bf16")->tables == 2);
  CHECK(number(d.rates, "matmul.bf16")->low == Approx(0.6).margin(0.02));
  CHECK(number(d.rates, "matmul.bf16")->high == Approx(0.8).margin(0.02));
}

TEST_CASE("no rate is derived from a table with fewer than five suitable rows", "[operators]") {
  Synthetic s({});
  s.elementwise("act_fn", 3 * 14336, {1, 2, 3});
  s.elementwise("rotary_emb", 2 * 5120, {1, 2});
  s.products("lm_head", {{4096, 128256}}, {1, 2, 4, 8});
  s.prompt(2048, 16384);
  const Derived d = derived({s.tables()});
  CHECK(value(d.rates, "launch") == about(3e-6));
  for (const char* key : {"memory", "matmul.bf16", "exposed.bf16", "attention.bf16", "cache"})
    CHECK(number(d.rates, key) == nullptr);
  CHECK(d.rates.achieved.memory == 1);
  CHECK(std::find(d.rates.notes.begin(), d.rates.notes.end(),
                  "memory: omitted, since no table has 5 rows to derive it from") != d.rates.notes.end());
  Synthetic none({});
  none.products("o_proj", {{4096, 4096}}, {1, 2, 4, 8, 16, 64});
  CHECK(test::sentence([&] { derived({none.tables()}); }) ==
        "among 6 rows, no table has 5 of norms, activations or rotary embedding with few enough tokens to show the "
        "minimum time of a kernel, which every other rate requires");
}

TEST_CASE("a single outlier row does not change any rate", "[operators]") {
  OperatorTables t = Synthetic({}).all().tables();
  const Derived before = derived({t});
  for (const char* layer : {"o_proj", "act_fn", "gate_up_proj"})
    for (const Count n : {3, 400, 2500}) t.dense.push_back({layer, n, Seconds(1)});
  const Derived after = derived({t});
  for (const char* key : {"launch", "memory", "matmul.bf16", "attention.bf16"})
    CHECK(value(after.rates, key) == about(value(before.rates, key)));
}

TEST_CASE("rates above the datasheet's are clamped to it, with a note", "[operators]") {
  const Derived d = derived({Synthetic({.memory = 1.2}).all().tables()});
  CHECK(value(d.rates, "memory") == 1);
  REQUIRE_FALSE(d.rates.notes.empty());
  CHECK(d.rates.notes[0].starts_with("memory: 1.2 is out of range and was clamped to 1"));
}

TEST_CASE("the derived rates are valid in a hardware file", "[operators]") {
  const Derived d = derived({Synthetic({}).all().tables()}, true);
  json::Value sheet = hardware_json("rtx-pro-6000");
  sheet["achieved"] = achieved_json(d.rates, "from tables");
  const Achieved a = read_hardware_file(sheet, "the test").cluster.device.achieved;
  const auto bf16 = static_cast<std::size_t>(dtypes::bf16.format().peak);
  CHECK(a.present);
  CHECK(a.matmul[bf16] == about(0.7));
  CHECK(a.matmul[static_cast<std::size_t>(dtypes::fp8.format().peak)] == 1);
  CHECK(a.memory == about(0.8));
  CHECK(a.exposed[bf16] == Approx(0.4).margin(0.03));
  CHECK(a.flash[bf16].forward.value == about(200e12));
  CHECK(a.cache.value == about(4e12));
  CHECK(a.launch.value == about(3e-6));
  CHECK(a.recorded.value == about(3e-6));
  CHECK(a.half_matmul[bf16] == 0);
  CHECK_FALSE(sheet["achieved"].contains("cache_reads"));
  CHECK_FALSE(achieved_json(derived({Synthetic({}).all().tables()}).rates, "how").contains("recorded"));
}

TEST_CASE("expert time depends on the number of experts that receive tokens", "[operators]") {
  OperatorTables t = Synthetic({}).all().tables();
  t.model_folder = "qwen3-30b-a3b";
  t.experts = {{8, 8, Seconds(1e-4)}, {8, 64, Seconds(1e-4)}};
  std::vector<std::string> left_out;
  const TableSubject s = subject_of(t, {}, device(), left_out);
  std::vector<double> weights;
  for (const TimedRow& row : timed_rows(0, t, s, left_out)) {
    if (row.work != TableWork::experts) continue;
    weights.push_back(0);
    for (const TimedOp& o : row.ops) weights.back() += o.cost.moved.weights;
  }
  // Three matrices of 2048 x 768 per expert, and a router of 2048 x 128, all in bf16.
  const double expert = 3 * 2048.0 * 768 * 2, router = 2048.0 * 128 * 2;
  REQUIRE(weights.size() == 2);
  CHECK(weights[0] == Approx(8 * expert + router));
  CHECK(weights[1] == Approx(64 * expert + router));
  t.experts = {{8, 129, Seconds(1e-4)}};
  CHECK(test::sentence([&] { timed_rows(0, t, s, left_out); }) ==
        "'synthetic/moe.csv': 129 activated experts, but qwen3-30b-a3b, tp 1 has only 128");
}

TEST_CASE("table rows without an operator in the model or cost model are skipped and reported once", "[operators]") {
  OperatorTables t = Synthetic({}).all().tables();
  t.per_sequence.push_back({"sampler", 1, Seconds(1e-5)});
  t.per_sequence.push_back({"sampler", 2, Seconds(1e-5)});
  t.dense.push_back({"qk_norm", 1, Seconds(1e-5)});
  t.experts = {{8, 8, Seconds(1e-4)}};
  CHECK(derived({t}).left_out ==
        std::vector<std::string>{"qk_norm: omitted, since llama-3.1-8b, tp 1 has no such operator",
                                 "sampler: omitted, since no operator corresponds to it",
                                 "moe.csv: omitted, since llama-3.1-8b, tp 1 has no experts"});
}

TEST_CASE("rates derived from the published tables of one device predict the tables' matmuls", "[operators]") {
  const auto all = read_operator_tables(LLMCALC_SOURCE_DIR "/evidence/operators/rtx-pro-6000");
  REQUIRE(all.size() == 3);
  CHECK(device_of(all) == "rtx-pro-6000-blackwell-server");
  const Derived d = derived(all);
  // The device's GDDR7 has 1597 or 1792 GB/s, depending on the source; no kernel is faster.
  CHECK(value(d.rates, "memory") > 0.75);
  CHECK(value(d.rates, "memory") < 1597.0 / 1792);
  CHECK(value(d.rates, "matmul.bf16") < 1);
  CHECK(number(d.rates, "memory")->tables == 3);
  for (const std::size_t dense : {0, 2})  // Llama 8B, and Qwen3 32B on two ranks
    for (const char* layer : {"qkv_proj", "o_proj", "gate_up_proj", "down_proj", "lm_head"})
      CHECK(residual(d.rates, layer, dense).median == Approx(1).margin(0.1));
  CHECK(residual(d.rates, "experts", 1).median == Approx(1).margin(0.1));  // not used to derive a value
}
