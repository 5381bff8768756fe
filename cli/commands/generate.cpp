#include "model/generate.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "calc/memory.hpp"
#include "cli/command.hpp"
#include "cli/interrupt.hpp"
#include "cli/output.hpp"
#include "cli/place.hpp"
#include "cli/sections.hpp"
#include "model/checkpoint.hpp"
#include "model/machine_memory.hpp"
#include "model/utf8.hpp"
#include "presets/error.hpp"
#include "presets/quantity.hpp"

namespace llmcalc {
namespace {

struct Options {
  std::string checkpoint, prompt, tokens, temperature, top_k, top_p, beams, seed, device = "cpu";
  bool no_kv_cache = false, json = false;

  void declare(Arguments& a) {
    a.positional("CHECKPOINT", "what 'llmcalc learn' wrote", checkpoint);
    a.positional("PROMPT", "the text to go on from [standard input]", prompt, false);
    a.option("--tokens", "N", "how many more, at most [200]", tokens);
    a.option("--temperature", "T", "0 takes the likeliest token, 1 the model's own distribution [0.8]", temperature);
    a.option("--top-k", "K", "only the K likeliest tokens; 0 is all [0]", top_k);
    a.option("--top-p", "P", "only the likeliest tokens that together have probability P [1]", top_p);
    a.option("--beams", "N", "beam search of so many, in place of drawing [1]", beams);
    a.option("--seed", "N", "of the draws [1]", seed);
    a.option("--device", "cpu|cuda", "where the model runs [cpu]", device);
    a.flag("--no-kv-cache", "run the whole text again for every token: the same text, slower", no_kv_cache);
    a.flag("--json", "one JSON object at the end, not the text as it comes", json);
  }
};

model::GenerateOptions read(const Options& o) {
  model::GenerateOptions g;
  g.sampling.temperature = 0.8;
  if (!o.tokens.empty()) g.tokens = parse_count(o.tokens, "--tokens");
  if (!o.temperature.empty()) g.sampling.temperature = parse_real(o.temperature, "--temperature");
  if (!o.top_k.empty()) g.sampling.top_k = parse_count(o.top_k, "--top-k");
  if (!o.top_p.empty()) g.sampling.top_p = parse_fraction(o.top_p, "--top-p");
  if (!o.beams.empty()) g.beams = parse_positive(o.beams, "--beams");
  if (!o.seed.empty()) g.seed = static_cast<std::uint64_t>(parse_count(o.seed, "--seed"));
  if (g.beams > 1 && (!o.temperature.empty() || !o.top_k.empty() || !o.top_p.empty() || !o.seed.empty()))
    throw InputError("--beams searches and draws nothing; leave --temperature, --top-k, --top-p and --seed out");
  g.cache = !o.no_kv_cache;
  return g;
}

std::string standard_input() {
  std::string text;
  char buffer[65536];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, stdin)) > 0;) text.append(buffer, n);
  if (std::ferror(stdin)) throw InputError("cannot read the prompt from standard input");
  while (text.ends_with('\n')) text.pop_back();  // what a shell's echo puts behind it
  return text;
}

std::string prompt_of(const Options& o) {
  std::string prompt = o.prompt.empty() ? standard_input() : o.prompt;
  model::refuse_unless_utf8(prompt, "the prompt");
  if (prompt.empty()) throw InputError("the prompt is empty; give a text to go on from");
  return prompt;
}

/// Text on its way out, in whole characters.
class Stream {
 public:
  explicit Stream(bool on) : on_(on) {}
  void add(const std::string& text) {
    pending_ += text, all_ += text;
    const std::size_t whole = model::whole_length(pending_);
    if (on_ && whole > 0) write_out(pending_.substr(0, whole));
    pending_.erase(0, whole);
  }
  void end() {
    if (on_) write_out(pending_ + (all_.ends_with('\n') ? "" : "\n"));
  }
  const std::string& all() const { return all_; }

 private:
  bool on_;
  std::string pending_, all_;
};

std::string_view ended_name(model::Ended e) {
  switch (e) {
    case model::Ended::length:
      return "length";
    case model::Ended::end_of_text:
      return "end of text";
    case model::Ended::positions:
      return "positions";
    case model::Ended::stopped:
      return "interrupted";
  }
  return "";
}

double tokens_per_second(const model::Generated& g) {
  const auto decoded = static_cast<double>(g.tokens.size()) - 1;
  return decoded > 0 && g.decode.value > 0 ? decoded / g.decode.value : 0;
}

void say_timing(const Arch& a, Count prompt, const model::Generated& g) {
  if (g.ended == model::Ended::positions)
    fmt::print(stderr, "llmcalc: note: the text ends where the model's {} learned positions do\n", a.position_rows);
  fmt::print(stderr, "prefill {} tokens in {}, then {} tokens in {}{}\n", prompt,
             human_text(g.prefill.value, Unit::seconds), g.tokens.size(), human_text(g.decode.value, Unit::seconds),
             tokens_per_second(g) > 0 ? ": " + human_text(tokens_per_second(g), Unit::tokens_per_second) : "");
}

std::string json_report(const model::Checkpoint& c, const Options& o, const model::GenerateOptions& g,
                        const std::string& prompt, const std::string& text, const model::Generated& done) {
  Report r;
  r.command = "generate";
  r.model = model_json(c.card().model);
  r.model["source"] = o.checkpoint;
  r.inputs = {{"tokens", g.tokens}, {"beams", g.beams}, {"kv_cache", g.cache}};
  if (g.beams == 1)
    r.inputs.update({{"temperature", g.sampling.temperature},
                     {"top_k", g.sampling.top_k},
                     {"top_p", g.sampling.top_p},
                     {"seed", g.seed}});
  Section s{"generation", "generation", {}};
  s.add("prompt", "", prompt);
  s.add("text", "", text);
  s.add("tokens", "", static_cast<Count>(done.tokens.size()));
  s.add("ended", "", std::string(ended_name(done.ended)));
  s.add("prefill_s", "", done.prefill);
  s.add("decode_s", "", done.decode);
  s.add("tokens_per_s", "", tokens_per_second(done), Unit::tokens_per_second);
  if (g.beams > 1) s.add("log_probability", "", done.log_probability);
  r.sections = {s};
  json::Value v = report_json(r);
  v["generation"]["token_ids"] = done.tokens;
  return dump(v);
}

Plan plan_for(const model::Checkpoint& c, Count prompt, const model::GenerateOptions& g) {
  Plan p;
  p.precision = c.number() == model::Number::bf16 ? dtypes::bf16 : dtypes::fp32;
  p.weight_precision = p.kv_precision = p.precision;
  p.batch = 1, p.prompt = prompt, p.generate = std::max<Count>(1, g.tokens), p.kv_cache = g.cache;
  return p;
}

int generate(const Options& o) {
  model::GenerateOptions g = read(o);
  const validate::Where where = place(o.device);
  const std::string prompt = prompt_of(o);
  const model::Checkpoint c(o.checkpoint);
  const std::vector<std::int32_t> tokens = c.tokenizer().encode(prompt);
  const Plan plan = plan_for(c, static_cast<Count>(tokens.size()), g);
  const Arch& arch = c.card().model.arch;
  model::refuse_beyond_memory(inference_memory(arch, plan).peak, "generating so long a text with this model",
                              "give fewer --tokens", where.room());
  const std::unique_ptr<model::Backend> backend = where.make(c.number());
  model::Transformer t(arch, *backend, {.plan = plan}, 1);
  c.load(t);
  g.stop = &interrupt_flag();
  g.end = c.tokenizer().end_of_text();
  Stream stream(!o.json);
  if (!o.json) write_out(prompt);
  const model::Generated done = model::generate(
      t, tokens, g, [&](std::int32_t token) { stream.add(c.tokenizer().decode(std::span(&token, 1))); });
  if (o.json)
    write_out(json_report(c, o, g, prompt, stream.all(), done));
  else
    stream.end(), say_timing(arch, static_cast<Count>(tokens.size()), done);
  return done.ended == model::Ended::stopped ? interrupted_code : 0;
}

}  // namespace

int run_generate(Args args) {
  Arguments arguments("generate", "Continues a text with a model that 'llmcalc learn' trained; prints both.",
                      "  llmcalc generate notes.safetensors \"On the first day\"\n"
                      "  echo \"On the first day\" | llmcalc generate notes.safetensors --temperature 0 --tokens 50");
  Options options;
  options.declare(arguments);
  if (!arguments.parse(args)) return 0;
  return generate(options);
}

}  // namespace llmcalc
