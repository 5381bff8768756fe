#include "model/cuda/instruments/memory_terms.hpp"

#include <algorithm>

namespace llmcalc::model::cuda {

DeviceMemory explained(const MemoryPoints& p, Bytes arena) {
  DeviceMemory m{.used = p.used, .overhead = p.used - p.pool - p.graphs, .workspaces = p.workspaces, .terms = {}};
  const Bytes before = p.before.value_or(Bytes());
  if (p.before) m.terms.push_back({"before", before, "used before this program created a context"});
  m.terms.push_back({"context", p.context - before, "driver context"});
  m.terms.push_back({"libraries", p.libraries - p.context, "cuBLASLt handle and its libraries"});
  m.terms.push_back({"kernels", p.kernels - p.libraries, "loaded on first use"});
  Bytes named = arena;
  for (const UsedMemory& w : p.workspaces) {
    m.terms.push_back(w);
    named += w.bytes;
  }
  m.terms.push_back({"arena", arena, "tensors, at the peak"});
  const Bytes most = std::max(p.pool_most, named);
  m.terms.push_back({"scratch", most - named, "operator scratch and rounding to blocks, at the peak"});
  m.terms.push_back({"pool slack", p.pool - most, "reserved but unused"});
  m.terms.push_back({"graphs", p.graphs, "tensors of recorded steps"});
  Bytes known;
  for (const UsedMemory& t : m.terms) known += t.bytes;
  m.terms.push_back({"unexplained", p.used - known, ""});
  return m;
}

}  // namespace llmcalc::model::cuda
