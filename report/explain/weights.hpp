#pragma once
/// The weights of a model as a table of matrices and vectors, in symbols: what a textbook lists. Parameters, bytes in
/// any number format, multiply-adds and Adafactor's state follow from it. Written from the architecture alone: it knows
/// nothing of the engine's operators.

#include <string>
#include <vector>

#include "calc/op.hpp"
#include "report/explain/setting.hpp"
#include "report/explain/sum.hpp"

namespace llmcalc::explain {

/// `layers` x `copies` matrices (in, out), or vectors of `out` numbers.
struct Weight {
  Component component;
  std::string layers;                          ///< "L", "L_m"; empty: once per model
  Count times = 1;                             ///< alike: keys and values
  std::string copies;                          ///< "n_E" for experts
  std::string active;                          ///< of the copies, those that one token visits: "k"
  std::vector<std::string> in = {}, out = {};  ///< factors of the widths; a vector has no `in`
  bool tied = false;                           ///< the token table, counted there
  bool lookup = false;                         ///< a table that is read, not multiplied
  bool whole = false;                          ///< on every rank, working on its tokens only
  bool shared = false;                         ///< on every rank, working on its heads only
  bool after = false;                          ///< a bias that is added after the ranks' sum
  bool matrix() const { return !in.empty(); }
};

/// Those of one tensor-parallel rank, or of the whole model.
std::vector<Weight> weights(const Setting& s, bool per_rank);

/// How many numbers: all, or of one component; all copies, or those that one token does not visit.
std::string parameters_text(const std::vector<Weight>& all, bool (*which)(const Weight&), bool idle = false);

/// Weights that enter a matmul once per token: the head in even where it is tied, tables and vectors out.
std::string matmul_text(const std::vector<Weight>& all);

/// Bytes in the plan's weight format; what it does not cover stays in the compute format.
/// p_w*N_T where every weight takes as many; else matrix by matrix. Of one rank.
std::string bytes_text(const Setting& s);

/// Numbers of Adafactor's state: rows and columns of a matrix, all of a vector.
std::string factored_text(const std::vector<Weight>& all);

}  // namespace llmcalc::explain
