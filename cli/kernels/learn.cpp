#include "cli/kernels/run.hpp"

#include <fmt/format.h>

#include <chrono>

#include "cli/kernels/learn_report.hpp"
#include "cli/output.hpp"
#include "cli/print.hpp"
#include "cli/progress_line.hpp"
#include "cli/stop.hpp"
#include "text/error.hpp"
#include "text/whole_file.hpp"

namespace llmcalc {
namespace {

/// Limits on the number of steps between two evaluations on the validation split; a checkpoint is saved when the loss
/// improves.
constexpr Count least_evaluations_apart = 10, most_evaluations_apart = 100;
/// Maximum number of batches per evaluation during the run.
constexpr Count evaluated_batches = 16;

/// A training run with its progress display, evaluations and checkpoints.
class LearningRun {
 public:
  LearningRun(const LearnRequest& r, const model::Corpus& corpus, model::Transformer& t, ProgressLine& line)
      : r_(r),
        corpus_(corpus),
        transformer_(t),
        line_(line),
        learner_(t, corpus, r.settings, &(is_replaced_by_write(r.out) ? save_flag() : stop_flag())),
        apart_(std::clamp(r.settings.steps / 10, least_evaluations_apart, most_evaluations_apart)) {
    if (r.resumed) learner_.resume(*r.resumed);
    begin_ = learner_.progress();
  }

  LearnOutcome outcome() {
    LearnOutcome o;
    try {
      while (done() < 1) step();
      evaluate();
    } catch (const model::Stopped&) {
      o.interrupted = true;
    }
    transformer_.watch(nullptr);
    line_.show("writing the checkpoint");
    save();
    if (o.interrupted) {
      line_.clear();
      say(fmt::format("stopped; the trained model is saved in '{}', and a second signal skips the report", r_.out));
    }
    o.progress = learner_.progress();
    o.tokens = o.progress.tokens - begin_.tokens;
    o.seconds = seconds();
    line_.show("evaluating the held-out text");
    learner_.take_best();
    o.held_out_loss = model::Corpus::loss(transformer_, corpus_.held_out());
    return o;
  }

  bool has_saved() const { return saved_; }
  Count step_number() const { return learner_.updates() + 1; }

 private:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

  /// The fraction of the run that is done, by steps or by minutes.
  double done() const {
    const double by_steps = static_cast<double>(learner_.updates()) / static_cast<double>(r_.settings.steps);
    const double by_time = r_.minutes > 0 ? seconds() / (60 * r_.minutes) : 0;
    return r_.by_minutes ? by_time : std::max(by_steps, by_time);
  }

  void step() {
    learner_.step(done());
    line_.show(status());
    if (learner_.updates() % apart_ == 0 && done() < 1) evaluate();
  }

  void evaluate() {
    const auto best = learner_.progress().validation_loss;
    last_validation_ = learner_.evaluate(evaluated_batches * r_.settings.batch * r_.settings.seq);
    if (learner_.progress().validation_loss != best) save_if_possible();
  }

  /// Continues if saving fails: a full disk may have space for a later checkpoint.
  void save_if_possible() {
    try {
      save();
    } catch (const InputError& e) {
      if (std::exchange(has_warned_, true)) return;
      line_.clear();
      say(fmt::format("llmcalc: note: {}; training continues, and a later checkpoint may succeed", e.what()));
    }
  }

  void save() {
    json::Value settings = r_.settings_json();
    if (r_.by_minutes) settings["steps"] = std::max<Count>(1, learner_.updates());
    learner_.save(r_.out, r_.model, r_.tokenizer->serialized(), settings);
    saved_ = true;
  }

  std::string status() const {
    const model::TrainingProgress& p = learner_.progress();
    const double rate = static_cast<double>(p.tokens - begin_.tokens) / seconds();
    const double here = static_cast<double>(p.updates - begin_.updates);
    const double left_by_steps = seconds() / here * static_cast<double>(r_.settings.steps - p.updates);
    const double left_by_time = 60 * r_.minutes - seconds();
    double left = r_.by_minutes ? left_by_time : left_by_steps;
    if (r_.minutes > 0 && !r_.by_minutes) left = std::min(left, left_by_time);
    const std::string of = r_.by_minutes ? "" : fmt::format(" of {}", r_.settings.steps);
    const std::string validation = last_validation_ > 0 ? fmt::format("  validation {:.3f}", last_validation_) : "";
    return fmt::format("step {}{}  loss {:.3f}{}  {:.0f} tokens/s  {} left", p.updates, of, p.loss.value_or(0),
                       validation, rate, clock_text(left));
  }

  const LearnRequest& r_;
  const model::Corpus& corpus_;
  model::Transformer& transformer_;
  ProgressLine& line_;
  model::Learner learner_;
  Count apart_;
  model::TrainingProgress begin_;
  double last_validation_ = 0;
  bool saved_ = false, has_warned_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

int refuse(const LearnRequest& r, const LearningRun& run, const model::NotANumber& e) {
  const std::string kept = run.has_saved() ? fmt::format("'{}' contains the best model before this step", r.out)
                                           : "no checkpoint has been written";
  say(fmt::format("llmcalc: {}; {}; a learning rate below {:g} (--rate) may avoid this", e.what(), kept,
                  r.settings.rate));
  return 1;
}

int learn(const LearnRequest& r, const Screen& screen, ProgressLine& line) {
  const model::Corpus corpus(r.text, *r.tokenizer);
  for (const Note& note : r.notes) say("llmcalc: note: " + note.text);
  line.show("creating the model");
  const Plan plan = model::learning_plan(r.settings, r.precision);
  const std::unique_ptr<model::Backend> backend = r.where.make(r.number());
  model::Transformer t(r.model.arch, *backend, {.plan = plan, .seed = r.settings.seed}, r.settings.seed);
  t.weights().make_trainable(plan);
  LearningRun run(r, corpus, t, line);
  try {
    const LearnOutcome o = run.outcome();
    line.show("counting tokens for the baselines");
    const Report report = learn_report(r, corpus, o);
    line.clear();
    print(report, screen);
    return o.interrupted ? stopped_code() : 0;
  } catch (const model::NotANumber& e) {
    line.clear();
    return refuse(r, run, e);
  }
}

}  // namespace

int run_learn(const Arguments& arguments) {
  ProgressLine line("reading the text");
  return learn(settled(arguments), screen_of(arguments), line);
}

}  // namespace llmcalc
