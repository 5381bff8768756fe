#include "learn/checkpoint.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "learn/learner.hpp"
#include "tests/catch.hpp"
#include "tests/models/tiny.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;
using namespace llmcalc::model;

namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::temp_directory_path() / ("llmcalc_checkpoint_" + std::to_string(getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string file(const std::string& name) const { return (path / name).string(); }
};

std::string content(const std::string& path) {
  std::ostringstream all;
  all << std::ifstream(path, std::ios::binary).rdbuf();
  return all.str();
}
void write(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

using test::sentence;

std::string repeated_text() {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "line " + std::to_string(i * i) + " of a text\n";
  return text;
}

ModelCard card_of(const Arch& arch) {
  ModelCard card;
  card.name = card.title = "tiny";
  card.arch = arch;
  return card;
}

/// A small training run on bytes.
struct Run {
  LearningSettings settings{.steps = 8, .batch = 2, .seq = 6, .rate = 1e-2, .seed = 5};
  Plan plan;
  std::unique_ptr<Backend> cpu;
  std::string text = repeated_text();
  std::unique_ptr<Tokenizer> tokenizer = byte_tokenizer();
  Corpus corpus{text, *tokenizer};
  ModelCard card;
  Transformer t;
  Learner learner;

  explicit Run(Number number, Arch arch = test::tiny_llama(), bool dropout = false)
      : plan(planned(settings, number, dropout)),
        cpu(make_cpu(number)),
        card(card_of(with_bytes(arch))),
        t(card.arch, *cpu, {.plan = plan, .seed = 3}, 7),
        learner(t, corpus, settings) {
    t.weights().make_trainable(plan);
  }
  static Arch with_bytes(Arch a) {
    a.vocabulary = 256;
    return a;
  }
  static Plan planned(const LearningSettings& s, Number number, bool dropout) {
    Plan p = learning_plan(s, number == Number::bf16 ? dtypes::bf16 : dtypes::fp32);
    p.dropout = dropout;
    return p;
  }
  void steps(Count n) {
    for (Count i = 0; i < n; ++i) learner.step();
  }
  void save(const std::string& path) { learner.save(path, card, tokenizer->serialized(), settings_json(settings)); }
};

/// Name of the first tensor that is missing from the other file or differs in it; empty if the files are equal.
std::string different(const std::string& a, const std::string& b) {
  const SafetensorsFile one(a), other(b);
  for (const auto& e : one.entries())
    if (!other.has(e.name) || one.bytes(e) != other.bytes(other.entry(e.name))) return e.name;
  return one.entries().size() == other.entries().size() ? "" : "the number of tensors";
}

}  // namespace

TEST_CASE("a resumed run is bitwise identical to an uninterrupted one", "[checkpoint]") {
  const Folder folder;
  const std::string half = folder.file("half"), whole = folder.file("whole"), again = folder.file("again");
  for (const Number number : {Number::f32, Number::bf16})
    for (const bool evaluated : {false, true}) {
      INFO("number " << static_cast<int>(number) << ", evaluated " << evaluated);
      Run straight(number, test::tiny_gpt(), true), first(number, test::tiny_gpt(), true),
          second(number, test::tiny_gpt(), true);
      for (Run* r : {&straight, &first}) {
        r->steps(2);
        if (evaluated) r->learner.evaluate();
        r->steps(2);
      }
      first.save(half);
      second.learner.resume(TrainingCheckpoint(half));
      CHECK(second.learner.progress() == first.learner.progress());
      for (Run* r : {&straight, &second}) {
        r->steps(4);
        if (evaluated) r->learner.evaluate();
      }
      straight.save(whole);
      second.save(again);
      CHECK(different(whole, again) == "");
      CHECK(different(whole, half) != "");
      CHECK((content(whole) == content(again)));
    }
}

TEST_CASE("loading a checkpoint restores the model and generates with its best weights", "[checkpoint]") {
  const Folder folder;
  Run r(Number::f32);
  r.steps(3);
  r.learner.evaluate();
  const WeightBytes best = weight_bytes(r.t);
  r.steps(2);
  r.save(folder.file("x"));
  const TrainingCheckpoint c(folder.file("x"));
  CHECK(c.card().model.arch == r.card.arch);
  CHECK(c.card().progress == r.learner.progress());
  CHECK(c.card().progress.updates == 5);
  CHECK(c.card().progress.tokens == 5 * 12);
  CHECK(settings_from(c.card().settings, "x") == r.settings);
  CHECK(c.tokenizer().name() == "bytes");
  CHECK(c.number() == Number::f32);
  CHECK(c.can_resume());
  const std::unique_ptr<Backend> cpu = make_cpu(Number::f32, true);
  Transformer t(c.card().model.arch, *cpu, {.plan = r.plan}, 99);
  c.load(t);
  CHECK((weight_bytes(t) == best));
  CHECK((weight_bytes(t) != weight_bytes(r.t)));
}

TEST_CASE("weights are stored with their names, dtypes and shapes", "[checkpoint]") {
  const Folder folder;
  Run r(Number::bf16, test::tiny_deepseek());
  r.steps(1);
  r.save(folder.file("x"));
  const SafetensorsFile file(folder.file("x"));
  // 256 tokens, hidden 12, 4 experts of width 6
  CHECK_NOTHROW(file.entry("embedding.tokens.weight", "BF16", std::vector<Count>{256, 12}));
  CHECK_NOTHROW(file.entry("layers.1.mlp.expert_up.weight", "BF16", std::vector<Count>{4, 6, 12}));
  CHECK_NOTHROW(file.entry("layers.0.attn.norm.weight", "BF16", std::vector<Count>{12}));
  for (const char* state : {"master.", "first.", "second."})
    CHECK_NOTHROW(file.entry(std::string(state) + "head.norm.weight", "F32", std::vector<Count>{12}));
  CHECK_FALSE(file.has("last.head.norm.weight"));
  CHECK(file.text("precision") == "bf16");
}

TEST_CASE("damaged and truncated checkpoints are detected", "[checkpoint]") {
  const Folder folder;
  Run r(Number::f32);
  r.steps(1);
  r.save(folder.file("good"));
  const std::string good = content(folder.file("good"));
  const std::string path = folder.file("damaged");
  std::size_t silent = 0;
  // Damages every byte of the length and the start of the header, then every 397th byte.
  for (std::size_t i = 0; i < good.size(); i += i < 600 ? 1 : 397) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x11);
    write(path, bad);
    const std::string s = sentence([&] { const TrainingCheckpoint c(path); });
    if (s.find(path) == std::string::npos) ++silent, UNSCOPED_INFO("byte " << i << ": " << s);
  }
  CHECK(silent == 0);
  for (std::size_t n = 0; n < good.size(); n += 1009) {
    write(path, good.substr(0, n));
    INFO(n << " bytes");
    CHECK(sentence([&] { const TrainingCheckpoint c(path); }).find(path) != std::string::npos);
  }
}

TEST_CASE("the error for a file from another program or model names the offending field", "[checkpoint]") {
  const Folder folder;
  const std::string path = folder.file("x");
  const auto refused = [&] { return sentence([&] { const TrainingCheckpoint c(path); }); };
  const std::vector<float> numbers(6);
  const std::vector<StoredTensor> foreign{{"w", "F32", {2, 3}, std::as_bytes(std::span(numbers))}};
  write_safetensors(path, foreign, {{"format", "pt"}});
  CHECK(refused() == "'" + path +
                         "' is not an llmcalc checkpoint: \"__metadata__\" has no \"llmcalc_checkpoint\"; pass a file "
                         "written by 'llmcalc learn', or the folder of a downloaded model");
  write(path, "some text");
  CHECK(refused().find("'" + path + "'") == 0);
  CHECK(sentence([&] { const TrainingCheckpoint c(folder.file("nowhere")); }).find("nowhere") != std::string::npos);

  Run r(Number::f32);
  r.save(path);
  const SafetensorsFile file(path);
  std::vector<std::vector<std::byte>> bytes;
  std::vector<StoredTensor> all;
  for (const auto& e : file.entries()) bytes.push_back(file.bytes(e));
  for (std::size_t i = 0; i < bytes.size(); ++i)
    all.push_back({file.entries()[i].name, file.entries()[i].dtype, file.entries()[i].shape, bytes[i]});
  Metadata metadata = file.metadata();
  const auto with = [&](const std::vector<StoredTensor>& tensors, const Metadata& texts) {
    write_safetensors(folder.file("y"), tensors, texts);
    return sentence([&] { const TrainingCheckpoint c(folder.file("y")); });
  };
  auto changed = all;
  changed[0].shape = {128, 24};
  CHECK(with(changed, metadata) ==
        "'" + folder.file("y") +
            "', tensor \"embedding.tokens.weight\": expected F32 [256, 12], got F32 [128, 24]; "
            "this file belongs to a different model");
  changed = all;
  changed.pop_back();
  CHECK(with(changed, metadata).find("tensor \"tokenizer\" is missing") != std::string::npos);
  changed = all;
  changed[1].name = "layers.7.x";
  CHECK(with(changed, metadata).find("is missing") != std::string::npos);
  changed = all;
  changed.push_back({"extra", "F32", {2, 3}, std::as_bytes(std::span(numbers))});
  CHECK(with(changed, metadata).find("tensor \"extra\"") != std::string::npos);
  Metadata texts = metadata;
  texts["precision"] = "fp7";
  CHECK(with(all, texts).find("\"precision\": expected fp32, bf16 or fp64, got \"fp7\"") != std::string::npos);
  texts = metadata;
  texts["llmcalc_checkpoint"] = "2";
  CHECK(with(all, texts).find("by a later llmcalc") != std::string::npos);
  texts = metadata;
  texts.erase("model");
  CHECK(with(all, texts).find("\"model\" is missing") != std::string::npos);
  texts = metadata;
  texts["training"] = "{}";
  CHECK(with(all, texts).find("\"training\"") != std::string::npos);
}

TEST_CASE("a full disk leaves the last good checkpoint intact", "[checkpoint]") {
  const Folder folder;
  const std::string path = folder.file("x");
  Run r(Number::f32);
  r.steps(1);
  r.save(path);
  const std::string before = content(path);
  r.steps(1);
  rlimit old{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &old) == 0);
  const rlimit small{.rlim_cur = before.size() / 2, .rlim_max = old.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string said = sentence([&] { r.save(path); });
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  CHECK(said.find(path) != std::string::npos);
  CHECK((content(path) == before));
  CHECK_FALSE(fs::exists(path + ".tmp"));
  r.save(path);
  CHECK(TrainingCheckpoint(path).card().progress.updates == 2);
}

TEST_CASE("a step that is stopped leaves weights and counters unchanged", "[checkpoint]") {
  const Folder folder;
  std::atomic<bool> stop = false;
  Run r(Number::f32, test::tiny_gpt(), true);
  Learner learner(r.t, r.corpus, r.settings, &stop);
  learner.step();
  const WeightBytes before = weight_bytes(r.t);
  stop = true;
  CHECK_THROWS_AS(learner.step(), Stopped);
  CHECK((weight_bytes(r.t) == before));
  CHECK(learner.updates() == 1);
  CHECK(r.t.settings().steps == 1);
}

TEST_CASE("the error for a NaN loss names the step and the operator", "[checkpoint]") {
  Run r(Number::f32);
  r.steps(1);
  Parameter& p = r.t.weights().at(1, "mlp.up.weight");
  const std::vector<double> huge(static_cast<std::size_t>(p.elements()), 3e38);
  r.t.weights().set(p, huge);
  try {
    r.learner.step();
    FAIL("nothing was thrown");
  } catch (const NotANumber& e) {
    CHECK(std::string(e.what()) == "step 2: the loss is not finite, first in the result of mlp.up in layer 1");
  }
  CHECK(r.learner.updates() == 1);
}

TEST_CASE("the last tenth of a text is held out, starting at the beginning of a line", "[corpus]") {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "nine byte\n";
  CHECK(split(text).held_out == 900);
  text.insert(0, "12345");
  CHECK(split(text).held_out == 895);  // 0.9 x 1005 = 904; its line starts at 895
  const std::string one_line(1000, 'a');
  CHECK(split(one_line).held_out == 900);
  std::string wide;
  for (int i = 0; i < 333; ++i) wide += "\xE2\x82\xAC";  // 999 bytes; 899 is inside a character
  CHECK(split(wide).held_out == 897);
}

TEST_CASE("the twentieth before the held-out part is the validation set, and no sets overlap", "[corpus]") {
  CHECK(split(std::string(1000, 'a')).validation == 850);
  std::string text;
  for (int i = 0; i < 100; ++i) text += "nine byte\n";
  CHECK(split(text).validation == 850);
  text.insert(0, "12345");
  CHECK(split(text).validation == 845);  // 17/18 x 895 = 845, where a line starts
  const Corpus c(text, *byte_tokenizer());
  CHECK(c.learned().size() == 845);
  CHECK(c.validation().size() == 50);
  CHECK(c.held_out().size() == 110);
  CHECK(sentence([] { Corpus(std::string(19, 'a'), *byte_tokenizer()); }).find("too short") != std::string::npos);
}

TEST_CASE("the best weights are chosen by validation loss", "[corpus]") {
  Run r(Number::f32);
  const double loss = r.learner.evaluate();
  CHECK(loss == Corpus::loss(r.t, r.corpus.validation()));
  CHECK(loss != Corpus::loss(r.t, r.corpus.held_out()));
  CHECK(r.learner.progress().validation_loss == loss);
}

TEST_CASE("bits per byte are the total loss in bits divided by the number of predicted bytes", "[corpus]") {
  const std::string text = repeated_text();
  const std::unique_ptr<Tokenizer> bytes = byte_tokenizer();
  const Corpus c(text, *bytes);
  CHECK(c.predicted_bytes() == static_cast<Count>(c.held_out().size()) - 1);
  CHECK(c.bits_per_byte(std::log(2.0)) == Approx(1));
  const Batch b = c.batch(1, 0, 3, 10);
  REQUIRE(b.ids.size() == 30);
  for (std::size_t i = 0; i < 30; ++i)
    if (i % 10 != 9) CHECK(b.targets[i] == b.ids[i + 1]);
  CHECK(c.batch(1, 0, 3, 10).ids == b.ids);
  CHECK(c.batch(1, 1, 3, 10).ids != b.ids);
}

TEST_CASE("the held-out loss counts every token once, for any batch size", "[corpus]") {
  Run r(Number::f32);
  const double all = Corpus::loss(r.t, r.corpus.held_out());
  double sum = 0;
  const auto held = r.corpus.held_out();
  const Count seq = r.settings.seq;
  Count counted = 0;
  r.t.settings().plan.micro_batch = 1;
  for (std::size_t at = 0; at + 1 < held.size(); at += static_cast<std::size_t>(seq)) {
    const std::size_t n = std::min(static_cast<std::size_t>(seq), held.size() - 1 - at);
    const auto ids = held.subspan(at, n), targets = held.subspan(at + 1, n);
    r.t.settings().plan.seq = static_cast<Count>(n);
    sum += r.t.loss({{ids.begin(), ids.end()}, {targets.begin(), targets.end()}}) * static_cast<double>(n);
    counted += static_cast<Count>(n);
  }
  CHECK(counted == static_cast<Count>(held.size()) - 1);
  CHECK(all == Approx(sum / static_cast<double>(counted)).epsilon(1e-6));
}

TEST_CASE("the learning rate warms up, then decays along half a cosine", "[corpus]") {
  const LearningSettings s{.warm_up = 0.1, .least_rate = 0.2};
  CHECK(rate_share(s, 0) == 0);
  CHECK(rate_share(s, 0.05) == Approx(0.5));
  CHECK(rate_share(s, 0.1) == Approx(1));
  CHECK(rate_share(s, 0.55) == Approx(0.6));  // halfway between 1 and 0.2
  CHECK(rate_share(s, 1) == Approx(0.2));
  CHECK(rate_share(s, 2) == Approx(0.2));
}
