// Every message sent is received: pipeline messages are checked one by one, and collectives inside layers by the
// tensors before and after them.

#include <map>
#include <tuple>

#include "calc/cost/cost.hpp"
#include "calc/pipeline/events.hpp"
#include "tests/calc/cluster_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// Sender, receiver, whether it carries a gradient, micro-batch, and chunk within a copy of the model.
using Message = std::tuple<Count, Count, bool, Count, Count>;

/// Messages that the ranks' slots need from other ranks.
std::map<Message, int> awaited(const Pipeline& p) {
  std::map<Message, int> all;
  for (Count d = 0; d < directions(p); ++d)
    for (Count i = 0; i < micro_batches_per_direction(p); ++i)
      for (Count q = 1; q < model_chunks(p); ++q) {
        const Count below = rank_of(p, q - 1, d), above = rank_of(p, q, d);
        const Count micro_batch = i + d * micro_batches_per_direction(p);
        if (below == above) continue;
        ++all[{below, above, false, micro_batch, q - 1}];
        ++all[{above, below, true, micro_batch, q}];
      }
  return all;
}

/// Messages that the tasks of a pipeline send, each from the rank of its stream to the rank of the next chunk.
std::map<Message, int> sent(const Pipeline& p, const pipeline_tests::Times& t) {
  Timeline line;
  PipelineTasks tasks;
  add_pipeline(line, tasks, p, t.view());
  REQUIRE(line.run());
  std::map<Message, int> all;
  for (const Task& task : line.tasks()) {
    const bool gradient = task.kind == TaskKind::send_gradient;
    if (!gradient && task.kind != TaskKind::send_activation) continue;
    const Count d = task.micro_batch / micro_batches_per_direction(p), next = task.chunk + (gradient ? -1 : 1);
    const Count from = line.streams()[task.stream].rank, to = rank_of(p, next, d);
    ++all[{from, to, gradient, task.micro_batch, task.chunk}];
  }
  return all;
}

Count elements_of(const Segment& s, TensorId t) {
  if (t == block_input) return s.input_elements;
  for (const Op& op : s.ops)
    if (!op.in_place() && op.out == t) return out_elements(op.shape);
  return 0;
}

/// Elements that a rank contributes to a collective and receives from it.
struct Ends {
  Count in = 0, out = 0;
};

/// Checks the sizes around a collective, except for tensor-parallel ranks, which gather only part of a latent row.
void check_ends(const Collective& c, CollectiveOp op, const Ends& e, bool latent) {
  if (latent && c.group == Group::tensor) return;
  if (op == CollectiveOp::all_gather) CHECK(c.ranks * e.in == e.out);
  if (op == CollectiveOp::reduce_scatter) CHECK(e.in == c.ranks * e.out);
  if (op == CollectiveOp::all_to_all) CHECK(e.in == e.out);
}

bool is_opposite(CollectiveOp a, CollectiveOp b) {
  const auto gathers = [](CollectiveOp op) { return op == CollectiveOp::all_gather; };
  const auto scatters = [](CollectiveOp op) { return op == CollectiveOp::reduce_scatter; };
  return (gathers(a) && scatters(b)) || (scatters(a) && gathers(b)) || (a == b && !gathers(a) && !scatters(a));
}

}  // namespace

TEST_CASE("every pipeline message arrives once at a slot that waits for it, under every schedule", "[cluster]") {
  std::mt19937 random(71);
  for (int i = 0; i < 200; ++i) {
    const Schedule s = pipeline_tests::all_schedules[static_cast<std::size_t>(i) % 10];
    const Pipeline p = pipeline_tests::random_pipeline(s, random, 8, 40);
    INFO(name(s) << " " << p.ranks << " ranks " << p.chunks << " chunks " << p.micro_batches << " micro-batches");
    CHECK(sent(p, pipeline_tests::random_times(p, random)) == awaited(p));
  }
}

TEST_CASE("in every layout, the ranks of a collective together receive as many elements as they contribute",
          "[cluster]") {
  Cases cases(72);
  int seen = 0;
  for (int i = 0; i < 300; ++i) {
    const ClusterCase c = cases.any();
    INFO(text_of(c.layout));
    for_each_operator(c.arch, c.plan, c.layout, training_step(c.plan), [&](const OperatorRow& row) {
      const Collective* x = std::get_if<Collective>(&row.op.shape);
      if (x == nullptr) return;
      if (x->forward_on && x->backward_on) CHECK(is_opposite(x->forward, x->backward));
      if (x->out_elements == 0 || x->group == Group::context) return;  // in place, or keys and values at once
      const Ends e{elements_of(row.segment, row.op.in[0]), x->out_elements};
      INFO(row.op.name);
      const bool latent = c.arch.attention == AttentionKind::latent;
      if (x->forward_on) check_ends(*x, x->forward, e, latent);
      if (x->forward_on && x->backward_on) check_ends(*x, x->backward, {e.out, e.in}, latent);
      ++seen;
    });
  }
  CHECK(seen > 1000);
}
