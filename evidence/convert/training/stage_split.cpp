#include "evidence/convert/training/stage_split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <regex>

#include "calc/block/block.hpp"
#include "calc/parameters.hpp"
#include "calc/pipeline/partition.hpp"
#include "evidence/convert/training/training_row.hpp"
#include "text/leading_number.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

std::vector<Count> repeated(const std::vector<Count>& chunk_layers, Count times) {
  std::vector<Count> out;
  for (Count i = 0; i < times; ++i) out.insert(out.end(), chunk_layers.begin(), chunk_layers.end());
  return out;
}

/// Divides layers evenly across chunks, with `less_first` fewer layers in the first chunk and `less_last` fewer in
/// the last. Empty if that is impossible.
std::vector<Count> even(Count layers, Count chunks, Count less_first, Count less_last) {
  const Count units = layers + less_first + less_last;
  if (units % chunks != 0) return {};
  std::vector<Count> out = repeated({units / chunks}, chunks);
  out.front() -= less_first;
  out.back() -= less_last;
  return out.front() < 0 || out.back() < 0 ? std::vector<Count>{} : out;
}

/// Contiguous chunks with the smallest maximum parameter count, as in frameworks that partition by parameters. Empty
/// unless all layers are alike.
std::vector<Count> by_parameters(const Arch& arch, const Pipeline& pipeline) {
  const LayerKinds kinds = layer_kinds(arch);
  if (kinds.size() != 1) return {};
  const Parameters p = parameters(arch);
  RowCosts costs;
  costs.layer[0] = static_cast<double>(p.attention + p.mlp) / static_cast<double>(arch.layers);
  costs.embedding = static_cast<double>(p.embedding);
  costs.head = arch.tied_head ? costs.embedding : static_cast<double>(p.lm_head);
  const Partition cut = balanced(kinds, costs, pipeline);
  std::vector<Count> out;
  for (Count i = 0; i < cut.size(); ++i) out.push_back(cut[i].layers());
  return out;
}

/// Number of layers in each chunk, read from a list: "[20,28]", "20, 28". Empty if the text is not such a list.
std::vector<Count> listed_layers(const std::string& text) {
  if (text.size() > 1000 || text.find_first_not_of("0123456789 ,;/|[]()") != std::string::npos) return {};
  static const std::regex number("[0-9]{1,6}");
  std::vector<Count> out;
  for (std::sregex_iterator i(text.begin(), text.end(), number), end; i != end; ++i)
    out.push_back(leading_whole(i->str()));
  return out;
}

/// A key that describes how layers are divided among stages.
struct SplitSaid {
  std::string_view key;
  const std::string* text;
};

/// Whether the text is a rule rather than a list: equal numbers of layers, or one fewer at both ends.
bool is_even_rule(const std::string& text) {
  constexpr std::array rules{"type:transformer", "uniform", "even", "balanced"};
  return std::any_of(rules.begin(), rules.end(), [&](const char* rule) { return text.starts_with(rule); });
}
bool is_ends_rule(const std::string& text) {
  return text.find("embedding") != std::string::npos || text.find("one layer each") != std::string::npos ||
         text.find("first and last stage hold one layer fewer") != std::string::npos;
}

/// Reads the layers that a row states for its stages: the number in each chunk, or a rule.
class SplitReader {
 public:
  SplitReader(Count layers, Count chunks) : layers_(layers), chunks_(chunks) {}
  std::vector<Count> stated;  ///< layers of each chunk, in model order; empty if not stated
  bool fewer_at_ends = false;

  void read(const SplitSaid& said, Assumptions& assumed) {
    const std::string text = lower(*said.text);
    if (text.empty()) return;
    if (is_ends_rule(text)) {
      fewer_at_ends = true;
      return;
    }
    const std::vector<Count> listed = listed_layers(text);
    const std::vector<Count> chunks = listed.empty() ? chunks_of_layout(*said.text) : listed;
    if (fits(chunks)) {
      stated = chunks;
    } else if (!is_even_rule(text)) {
      assumed.weigh(fmt::format("layers are assigned to stages by a default rule: {} is {}, which {}",
                                in_quotes(said.key), in_quotes(*said.text), flaw_of_split(chunks)));
    }
  }

 private:
  bool fits(const std::vector<Count>& chunks) const {
    return static_cast<Count>(chunks.size()) == chunks_ &&
           std::accumulate(chunks.begin(), chunks.end(), Count{0}) == layers_;
  }
  std::string flaw_of_split(const std::vector<Count>& chunks) const {
    if (chunks.empty()) return "is not recognized";
    return fmt::format("does not distribute {} layers over {} chunks", layers_, chunks_);
  }

  Count layers_, chunks_;
};

/// Number of layers in each chunk by the framework's rule.
std::vector<Count> chunks_by_rule(const Arch& arch, const Layout& split, bool fewer_at_ends, Assumptions& assumed) {
  const Count chunks = mul(split.pp, split.chunks);
  if (fewer_at_ends)
    if (auto ends = even(arch.layers, chunks, 1, 1); !ends.empty()) return ends;
  if (auto plain = even(arch.layers, chunks, 0, 0); !plain.empty() && !fewer_at_ends) return plain;
  if (auto ends = even(arch.layers, chunks, 1, 1); !ends.empty()) {
    assumed.note("embedding and head count as a layer each, which makes the layers divisible");
    return ends;
  }
  if (split.schedule == Schedule::one_f_one_b && chunks <= arch.layers)
    if (auto balanced_chunks = by_parameters(arch, {split.schedule, split.pp, split.chunks, 1});
        !balanced_chunks.empty()) {
      assumed.note(fmt::format("{} layers over {} stages are balanced by parameters: the row does not state how",
                               arch.layers, split.pp));
      return balanced_chunks;
    }
  assumed.note("layers are spread so that the slowest stage is as fast as possible: the row does not state how");
  return {};
}

/// Number of layers in each of a row's chunks, in model order. Empty if the calculation chooses the split.
std::vector<Count> chunks_of(const TrainingRow& row, const Arch& arch, const Layout& split, Assumptions& assumed) {
  const TrainingParallelism& p = row.parallelism;
  SplitReader reader(arch.layers, mul(split.pp, split.chunks));
  for (const SplitSaid& said : {SplitSaid{"layer_split", &p.layer_split},
                                {"partition", &p.partition},
                                {"pp_balance", &p.pp_balance},
                                {"pp_layout", &p.pp_layout}})
    reader.read(said, assumed);
  return reader.stated.empty() ? chunks_by_rule(arch, split, reader.fewer_at_ends, assumed) : reader.stated;
}

}  // namespace

std::vector<Count> chunks_of_layout(const std::string& text) {
  // Expands repetitions and brackets from the innermost outward, then counts chunks.
  static const std::regex group("\\(([^()]*)\\)(?:\\*([0-9]{1,4}))?"), item("([A-Za-z|])\\*([0-9]{1,4})");
  std::string plain;
  for (const char c : text)
    if (c != ',' && c != ' ') plain += c;
  if (plain.size() > 1000) return {};
  for (const std::regex& what : {item, group, item}) {
    std::smatch found;
    for (int n = 0; n < 512 && plain.size() < 4096 && std::regex_search(plain, found, what); ++n) {
      std::string all;
      const Count times = found[2].matched ? std::min<Count>(leading_whole(found[2]), 1024) : 1;
      for (Count i = 0; i < times; ++i) all += found[1];
      plain = found.prefix().str() + all + found.suffix().str();
    }
  }
  if (plain.find_first_not_of("EtmL|") != std::string::npos || plain.find('t') == std::string::npos) return {};
  std::vector<Count> chunks{0};
  for (const char c : plain) {
    if (c == '|') chunks.push_back(0);
    if (c == 't') ++chunks.back();
  }
  return chunks;
}

StageLayers stage_layers_of(const TrainingRow& row, const Arch& arch, const Layout& split, Assumptions& assumed) {
  StageLayers out;
  if (split.pp == 1 || fixed_chunks(split.schedule) > 1) return out;
  const std::vector<Count> chunks = chunks_of(row, arch, split, assumed);
  if (chunks.size() <= StageLayers::capacity)
    for (const Count n : chunks) out.push(n);
  return out;
}

}  // namespace llmcalc
