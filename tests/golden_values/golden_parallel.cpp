#include "calc/links/collective.hpp"
#include "calc/textbook/textbook.hpp"
#include "tests/golden_values/golden_rows.hpp"

namespace llmcalc::golden {
namespace {

using json::Object;
namespace tb = textbook;

// ---- Collectives: the engine's model, compared with the golden values directly

CollectiveOp op(const Object& in) {
  if (const auto o = parse<CollectiveOp>(in.text("op"))) return *o;
  throw InputError(in.where() + ": \"" + in.text("op") + "\" is no known collective");
}
CollectiveAlgorithm algorithm(const Object& in) {
  const std::string given = in.text("algorithm");
  if (op(in) == CollectiveOp::p2p) return CollectiveAlgorithm::direct;
  if (given == "halving_doubling") return CollectiveAlgorithm::recursive;
  if (const auto a = parse<CollectiveAlgorithm>(given)) return *a;
  throw InputError(in.where() + ": \"" + given + "\" is no known algorithm");
}
Link link_of(double latency, double bandwidth) {
  return {.ranks = max_ranks, .bandwidth = BytesPerSecond(bandwidth), .latency = Seconds(latency)};
}
Number collective_volume_value(const Object& in) {
  const ByteFraction v =
      collective_volume(op(in), default_algorithm(op(in)), Bytes(in.count("nbytes")), in.count("ranks"));
  return tb::Fraction(v.numerator.value, v.denominator);
}
Number collective_seconds(const Object& in) {
  return collective_time(op(in), algorithm(in), Bytes(in.count("nbytes")), in.count("ranks"),
                         link_of(real(in, "alpha"), real(in, "bandwidth")))
      .value;
}
Number hierarchical_seconds(const Object& in) {
  return hierarchical_all_reduce_time(Bytes(in.count("nbytes")), in.count("gpus_per_node"), in.count("nodes"),
                                      link_of(real(in, "alpha_intra"), real(in, "bw_intra")),
                                      link_of(real(in, "alpha_inter"), real(in, "bw_inter")))
      .value;
}

// ---- Traffic

bool training(const Object& in) { return in.text("phase") == "train"; }

Number comm_tp_layer(const Object& in) {
  const tb::TensorParallelLayer l{.batch = in.count("batch"),
                                  .seq = in.count("seq"),
                                  .hidden = in.count("d_model"),
                                  .precision = in.count("p"),
                                  .ranks = in.count("tensor_parallel"),
                                  .sequence_parallel = in.flag("sequence_parallel"),
                                  .parallel_block = in.flag("parallel_block"),
                                  .regather = in.flag("regather")};
  return training(in) ? tb::tensor_parallel_train(l, in.text("recompute") == "full") : tb::tensor_parallel_forward(l);
}
Number comm_cp_layer(const Object& in) {
  const tb::ContextParallelLayer l{.batch = in.count("batch"),
                                   .seq = in.count("seq"),
                                   .heads = in.count("n_heads"),
                                   .kv_heads = in.count("n_kv_heads"),
                                   .head_dim = in.count("d_head"),
                                   .precision = in.count("p"),
                                   .ranks = in.count("context_parallel")};
  const auto method = choice<tb::ContextMethod>(in, "method",
                                                {{"ring", tb::ContextMethod::ring},
                                                 {"all_gather", tb::ContextMethod::all_gather},
                                                 {"ulysses", tb::ContextMethod::ulysses}});
  return training(in) ? tb::context_parallel_train(l, method) : tb::context_parallel_forward(l, method);
}
Number comm_ep_layer(const Object& in) {
  return tb::Fraction(training(in) ? 2 : 1) *
         tb::expert_parallel_forward(in.count("tokens_per_rank"), in.count("d_model"), in.count("top_k"),
                                     in.count("expert_parallel"), in.count("dispatch_bytes"),
                                     in.count("combine_bytes"));
}
Number comm_dp_step(const Object& in) {
  return tb::data_parallel_step(in.count("n_params"), in.count("data_parallel"), static_cast<int>(in.count("stage")),
                                in.count("weight_bytes"), in.count("grad_bytes"), in.count("microbatches"));
}
Number comm_pp_step(const Object& in) {
  return tb::pipeline_step(in.count("batch"), in.count("seq"), in.count("d_model"), in.count("p"),
                           in.count("microbatches"), in.count("virtual"), in.text("position") != "middle",
                           in.flag("scatter") ? in.count("tensor_parallel") : 1);
}

// ---- Pipelines

constexpr std::pair<std::string_view, tb::Schedule> schedule_names[] = {
    {"gpipe", tb::Schedule::gpipe}, {"1f1b", tb::Schedule::one_f_one_b}, {"interleaved", tb::Schedule::interleaved},
    {"zb_h1", tb::Schedule::zb_h1}, {"zb_h2", tb::Schedule::zb_h2},      {"dualpipe", tb::Schedule::dualpipe}};

Number inflight_microbatches(const Object& in) {
  return tb::in_flight(choice(in, "schedule", schedule_names), in.count("pipeline"), in.count("microbatches"),
                       in.count("rank"), in.count("virtual"));
}
Number interleave_factor(const Object& in) { return tb::interleave_factor(in.count("pipeline"), in.count("virtual")); }
Number bubble_ratio(const Object& in) {
  return tb::bubble_ratio(in.count("pipeline"), in.count("microbatches"), in.count("virtual"),
                          in.text("relative_to") == "total");
}
Number pipeline_bubble(const Object& in) {
  const tb::StageTimes t{.forward = real(in, "t_f"),
                         .backward = real(in, "t_b"),
                         .weight_part = real(in, "t_w"),
                         .overlapped = in.number_or("t_fb", 0)};
  return tb::bubble_seconds(choice(in, "schedule", schedule_names), in.count("pipeline"), t, in.count("virtual"));
}
Number step_time(const Object& in) {
  return tb::step_seconds({.compute = real(in, "t_compute_mb"),
                           .communication = real(in, "t_comm_mb"),
                           .overlap = real(in, "overlap"),
                           .data_parallel = real(in, "t_dp"),
                           .data_parallel_overlap = real(in, "dp_overlap"),
                           .optimizer = real(in, "t_optimizer")},
                          in.count("microbatches"), in.count("pipeline"), in.count("virtual"));
}

constexpr Row rows[] = {{"collective_volume", collective_volume_value},
                        {"collective_time", collective_seconds},
                        {"hierarchical_all_reduce_time", hierarchical_seconds},
                        {"comm_tp_layer", comm_tp_layer},
                        {"comm_cp_layer", comm_cp_layer},
                        {"comm_ep_layer", comm_ep_layer},
                        {"comm_dp_step", comm_dp_step},
                        {"comm_pp_step", comm_pp_step},
                        {"inflight_microbatches", inflight_microbatches},
                        {"interleave_factor", interleave_factor},
                        {"bubble_ratio", bubble_ratio},
                        {"pipeline_bubble", pipeline_bubble},
                        {"step_time", step_time}};

}  // namespace

std::span<const Row> parallel_rows() { return rows; }

}  // namespace llmcalc::golden
