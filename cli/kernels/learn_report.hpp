#pragma once
/// The report of a training run, compared with n-gram baselines.

#include "cli/kernels/learn_request.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// Outcome of one invocation of the command.
struct LearnOutcome {
  model::TrainingProgress progress;
  double held_out_loss = 0;  ///< loss of the checkpoint's weights, over `held_out_tokens`
  Count tokens = 0;          ///< tokens trained on in this invocation
  double seconds = 0;        ///< wall time, including evaluations and checkpoints
  bool interrupted = false;
};

Report learn_report(const LearnRequest& r, const model::Corpus& corpus, const LearnOutcome& o);

}  // namespace llmcalc
