#pragma once
/// Inference in a pipeline whose stages may run on different devices. Every stage has consecutive layers; the first
/// also has the embedding, the last also the head. A pass takes
///
///   T = (sum_i t_i + (m - 1) max_i t_i) / m,    t_i = sum over rows in i of n_row t_row(device i) + send_i
///
/// seconds. n_row is the number of layers of a row of the price list (calc/price.hpp), priced at the rates of the
/// stage's device. m is the number of parts into which an engine divides a prompt; stages work on different parts at
/// the same time. m = 1 in decode. send_i is the time to send the hidden states to stage i > 0, over the slower of
/// the two devices' links (CollectiveOp::p2p). The engine's overhead per pass counts once. With m = 1 on equal
/// devices, T is the time of one device that holds all layers, plus the sends. Not modeled: later parts of a prompt
/// attend to more earlier tokens and take longer; devices without direct access to each other copy through host
/// memory. Source: the recurrence of GPipe (arXiv:1811.06965) for one direction; llama.cpp, pull request 6017, for m.

#include <utility>
#include <vector>

#include "calc/pass/pass_curve.hpp"
#include "calc/pass/pass_spent.hpp"

namespace llmcalc {

/// Layers, and the device that runs them, with its links.
struct PassStage {
  ModelChunk chunk;
  Cluster cluster;
};

/// The stages of one engine, in model order.
struct PassStages {
  explicit PassStages(std::vector<PassStage> stages) : all(std::move(stages)) {}
  std::vector<PassStage> all;
  Count prompt_parts = 1;  ///< number of parts into which a prefill is divided (m)
};

/// One stage with all layers.
PassStages one_stage(const Arch& arch, const Cluster& cluster);

/// The pass time T of stages with the times t_i, excluding sends.
PassEstimate in_sequence(const std::vector<PassEstimate>& stages, Count parts);
PassSpent in_sequence(const std::vector<PassSpent>& stages, Count parts);

/// Adds the time of the message that stage `i` receives; the first stage receives no message. `prices`: prices on the
/// stage's device of any pass with the same number of tokens as the message.
void add_send(PassEstimate& pass, const Prices& prices, const PassStages& stages, std::size_t i, const Layout& layout);

/// A pass over all stages. `price(device)`: prices of the pass on a device.
template <typename PriceOn>
PassEstimate staged_pass(const PassStages& s, const Plan& plan, const Layout& layout, Count parts,
                         const PriceOn& price) {
  std::vector<PassEstimate> each;
  for (std::size_t i = 0; i < s.all.size(); ++i) {
    const Prices prices = price(s.all[i].cluster.device);
    each.push_back(assemble_pass(prices, s.all[i].chunk, plan, layout, s.all[i].cluster));
    add_send(each.back(), prices, s, i, layout);
  }
  return in_sequence(each, parts);
}

/// The breakdown of staged_pass(). Precondition: as for pass_spent().
template <typename PriceOn>
PassSpent staged_spent(const PassStages& s, const Plan& plan, const Layout& layout, Count parts, const PriceOn& price) {
  std::vector<PassSpent> each;
  for (std::size_t i = 0; i < s.all.size(); ++i) {
    const Prices prices = price(s.all[i].cluster.device);
    each.push_back(pass_spent(prices, s.all[i].chunk, plan, layout, s.all[i].cluster));
    PassEstimate sent;
    add_send(sent, prices, s, i, layout);
    each.back().parts[Part::pp] += sent.estimate.communication;
  }
  return in_sequence(each, parts);
}

}  // namespace llmcalc
