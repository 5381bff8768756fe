#include "ask/request/launch/sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ask/request/options/options.hpp"
#include "text/error.hpp"
#include "text/names.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {
namespace launch_size {

using Text = std::optional<std::string>;

Text number(Count n) { return fmt::format("{}", n); }
Text present(Count n) { return n > 0 ? number(n) : std::nullopt; }
Text mark(bool on) { return on ? Text("on") : std::nullopt; }

// ---- Ranks

/// Number of GPUs per host: 4 if NVLink connects many hosts, otherwise 8.
Count host_size(const Request& r) {
  constexpr Count usual = 8, many = 16, tray = 4;
  return r.hardware && !r.hardware->cluster.levels.empty() && r.hardware->cluster.levels[0].ranks > many ? tray : usual;
}
Text nodes(const Request& r) { return number(ceil_div(devices(r.layout), host_size(r))); }
Text node_gpus(const Request& r) { return number(std::min(devices(r.layout), host_size(r))); }
/// Number of data-parallel ranks across which one copy of the weights is sharded.
Count shard(const Request& r) {
  const Layout& l = r.layout;
  if (l.zero < Zero::gradients) return 1;
  return l.hsdp > 0 ? l.hsdp : replicas(l);
}
Text shard_ranks(const Request& r) { return number(shard(r)); }
Text copies(const Request& r) { return number(replicas(r.layout) / shard(r)); }
Text engine_tp(const Request& r) { return number(mul(ranks(r.layout, Group::tensor), replicas(r.layout))); }
/// Number of expert-parallel ranks for engines that use all their ranks for experts, each rank with different tokens.
Text engine_ep(const Request& r) {
  const Layout& l = r.layout;
  if (ranks(l, Group::expert) == 1 && r.gave("--sp"))
    throw InputError("--sp: an engine supports sequence parallelism only with --ep; add --ep, or omit --sp");
  if (ranks(l, Group::expert) > 1 &&
      mul(ranks(l, Group::expert), ranks(l, Group::expert_tensor)) != mul(ranks(l, Group::tensor), replicas(l)))
    throw InputError(fmt::format("--ep {}: --ep x --etp must equal --tp x --dp = {}, the engine's ranks",
                                 ranks(l, Group::expert), mul(ranks(l, Group::tensor), replicas(l))));
  return ranks(l, Group::expert) > 1 ? number(ranks(l, Group::expert)) : std::nullopt;
}
/// Enables expert parallelism for engines without expert-tensor-parallel ranks.
Text expert_parallel(const Request& r) {
  if (engine_ep(r) && ranks(r.layout, Group::expert_tensor) > 1)
    throw InputError("--etp: this software keeps whole experts on each rank with --ep; set --etp 1");
  return mark(ranks(r.layout, Group::expert) > 1);
}

/// Number of copies of the states under hybrid sharding; absent without it.
Text instances(const Request& r) {
  return r.layout.hsdp > 0 ? number(replicas(r.layout) / r.layout.hsdp) : std::nullopt;
}
/// Layers per device if an engine splits a model: "54,27" counts the head as a layer of the last device; "1,1"
/// means equal shares.
Text device_split(const Request& r) {
  const Count n = mul(ranks(r.layout, Group::tensor), ranks(r.layout, Group::pipeline));
  if (n == 1) return std::nullopt;
  if (ranks(r.layout, Group::tensor) > 1 && ranks(r.layout, Group::pipeline) > 1)
    throw InputError(
        "--tp, --pp: this software splits a model by tensors or by layers, not both; set only one of them");
  const StageLayers& layers = r.layout.stage_layers;
  std::string shares;
  for (Count i = 0; i < n; ++i) {
    const Count share = layers.empty() ? 1 : layers[static_cast<std::size_t>(i)] + (i + 1 == n ? 1 : 0);
    shares += fmt::format("{}{}", i == 0 ? "" : ",", share);
  }
  return shares;
}
Text split_mode(const Request& r) {
  if (ranks(r.layout, Group::tensor) > 1) return "tensors";
  return ranks(r.layout, Group::pipeline) > 1 ? Text("layers") : std::nullopt;
}

// ---- Batches and lengths

Text accumulation(const Request& r) {
  return number(r.plan.global_batch / mul(r.plan.micro_batch, replicas(r.layout)));
}
Text local_batch(const Request& r) {
  return number(ranks(r.layout, Group::pipeline) > 1 ? r.plan.global_batch / replicas(r.layout) : r.plan.micro_batch);
}
/// Number of tokens in the longest request; absent if lengths vary.
std::optional<Count> longest(const Request& r) {
  const ServingInputs& v = r.serving;
  if (!v.log.empty() || !v.lengths.empty() || v.length_variation > 0) return std::nullopt;
  return add(v.shared_prefix, mul(v.turns, add(r.plan.prompt, r.plan.generate)));
}
Text max_length(const Request& r) {
  const auto n = longest(r);
  return n ? number(*n) : std::nullopt;
}
Text total_length(const Request& r) {
  const auto n = longest(r);
  const json::Value inputs = inputs_json(r);
  const json::Object values(inputs, "inputs");
  if (!n || !(values.has("batch") || values.has("max_seqs"))) return std::nullopt;
  return number(mul(*n, values.has("batch") ? r.plan.batch : values.count("max_seqs")));
}

// ---- Layers and experts on the host

/// A fraction of `total` layers or experts (`noun`) as a count. Throws InputError if it is not a whole number.
Count whole_part(const Ratio& part, Count total, std::string_view noun) {
  const double count = part.value() * static_cast<double>(total);
  if (std::abs(count - std::round(count)) > 1e-3)
    throw InputError(
        fmt::format("--offload: {0:.7g} of {1} {2} is not a whole number of {2}, which this software requires; set "
                    "another fraction",
                    part.value(), total, noun));
  return std::llround(count);
}
Count layers_in(const Request& r, const Ratio& part) { return whole_part(part, r.model.arch.layers, "layers"); }
Text device_layers(const Request& r) {
  const Ratio& part = r.plan.offload.weights;
  if (part.numerator == 0) return std::nullopt;
  return number(r.model.arch.layers - layers_in(r, part));
}
Text host_expert_layers(const Request& r) {
  const Ratio& part = r.plan.offload.experts;
  return part.numerator == 0 ? std::nullopt : number(layers_in(r, part));
}
/// Experts of each layer on the device, if some are on the host.
Text device_experts(const Request& r) {
  const Ratio& part = r.plan.offload.experts;
  const Count experts = r.model.arch.moe.experts;
  return part.numerator == 0 ? std::nullopt : number(experts - whole_part(part, experts, "experts"));
}
Text host_cache(const Request& r) {
  const Ratio& part = r.plan.offload.cache;
  if (part.numerator > 0 && part != Ratio{1, 1})
    throw InputError("--offload: this software keeps the whole cache on the host or none of it; omit kv");
  return mark(part.numerator > 0);
}

// ---- The model

/// Throws InputError for a model that a list of sizes cannot describe.
const Arch& plain(const Request& r) {
  const Arch& a = r.model.arch;
  const bool one_kind = a.mixers.empty() && a.mlps.empty() && a.linear_layers == LayerSet() && !a.has_repeats();
  if (a.attention == AttentionKind::latent || !one_kind || a.moe.shared_experts > 0)
    throw InputError(
        fmt::format("{}: a launch command of this software describes only models whose layers are all alike, with "
                    "grouped attention and without shared experts",
                    r.model.name));
  return a;
}
Text layers(const Request& r) { return number(plain(r).layers); }
Text hidden(const Request& r) { return number(r.model.arch.hidden); }
Text mlp_width(const Request& r) { return present(r.model.arch.mlp_width); }
Text heads(const Request& r) { return number(r.model.arch.heads); }
Text head_width(const Request& r) { return number(r.model.arch.head_dim); }
bool groups(const Arch& a) { return a.kv_heads < a.heads; }
Text kv_heads(const Request& r) { return groups(r.model.arch) ? number(r.model.arch.kv_heads) : std::nullopt; }
Text grouped(const Request& r) { return mark(groups(r.model.arch)); }
Text context(const Request& r) { return number(std::max(r.model.arch.context, r.plan.seq)); }
Text experts(const Request& r) { return present(r.model.arch.moe.experts); }
Text expert_choices(const Request& r) { return present(r.model.arch.moe.top_k); }
Text expert_width(const Request& r) { return present(r.model.arch.moe.width); }
Text gated(const Request& r) { return mark(r.model.arch.mlp == MlpKind::gated); }
Text rms_norm(const Request& r) { return mark(r.model.arch.norm == NormKind::rms_norm); }
Text rope(const Request& r) { return mark(r.model.arch.position == Position::rope); }
Text untied(const Request& r) { return mark(!r.model.arch.tied_head); }
Text no_bias(const Request& r) { return mark(!r.model.arch.mlp_bias); }

constexpr std::array all_sizes{
    LaunchSize{"nodes", "gpus dp", false, nodes},
    LaunchSize{"node_gpus", "gpus dp", false, node_gpus},
    LaunchSize{"shard_ranks", "dp hsdp gpus", false, shard_ranks},
    LaunchSize{"copies", "dp hsdp gpus", false, copies},
    LaunchSize{"engine_tp", "tp", false, engine_tp},
    LaunchSize{"instances", "hsdp", false, instances},
    LaunchSize{"device_split", "tp pp stage_layers", false, device_split},
    LaunchSize{"split_mode", "tp pp", false, split_mode},
    LaunchSize{"engine_ep", "ep etp sp", false, engine_ep},
    LaunchSize{"expert_parallel", "ep etp sp", true, expert_parallel},
    LaunchSize{"accumulation", "global_batch dp gpus", false, accumulation},
    LaunchSize{"local_batch", "", false, local_batch},
    LaunchSize{"max_length", "", false, max_length},
    LaunchSize{"total_length", "", false, total_length},
    LaunchSize{"device_layers", "offload", false, device_layers},
    LaunchSize{"host_expert_layers", "offload", false, host_expert_layers},
    LaunchSize{"device_experts", "offload", false, device_experts},
    LaunchSize{"host_cache", "offload", true, host_cache},
    LaunchSize{"layers", "", false, layers},
    LaunchSize{"hidden", "", false, hidden},
    LaunchSize{"mlp_width", "", false, mlp_width},
    LaunchSize{"heads", "", false, heads},
    LaunchSize{"head_width", "", false, head_width},
    LaunchSize{"grouped", "", true, grouped},
    LaunchSize{"kv_heads", "", false, kv_heads},
    LaunchSize{"context", "", false, context},
    LaunchSize{"experts", "", false, experts},
    LaunchSize{"expert_choices", "", false, expert_choices},
    LaunchSize{"expert_width", "", false, expert_width},
    LaunchSize{"gated", "", true, gated},
    LaunchSize{"rms_norm", "", true, rms_norm},
    LaunchSize{"rope", "", true, rope},
    LaunchSize{"untied", "", true, untied},
    LaunchSize{"no_bias", "", true, no_bias},
};

// ---- From sizes to inputs

class Reader {
 public:
  Reader(const InputTexts& sizes, const InputTexts& typed, const Arch& arch, InputTexts& inputs)
      : sizes_(sizes), typed_(typed), arch_(arch), inputs_(inputs) {}

  void read() {
    read_gpus();
    read_engine();
    read_split();
    read_instances();
    read_shards();
    read_batches();
    read_length();
    read_host();
    omit_idle();
    check_model();
  }

 private:
  std::optional<Count> size(std::string_view name) const {
    const auto found = sizes_.find(name);
    return found == sizes_.end() ? std::nullopt
                                 : std::optional(parse_count(found->second, fmt::format("--from, {}", name)));
  }
  std::optional<Count> input(std::string_view key) const {
    for (const InputTexts* from : {&typed_, static_cast<const InputTexts*>(&inputs_)})
      if (const auto found = from->find(key); found != from->end())
        return parse_positive(found->second, fmt::format("--from, {}", key));
    return std::nullopt;
  }
  Count degree(std::string_view key) const { return input(key).value_or(1); }
  void set(const std::string& key, Count n) { inputs_[key] = fmt::format("{}", n); }
  /// The number of data-parallel ranks, if the inputs determine it.
  std::optional<Count> data_ranks() const {
    if (const auto dp = input("dp")) return dp;
    const auto gpus = input("gpus");
    const Count replica = mul(mul(degree("tp"), degree("cp")), degree("pp"));
    return gpus ? std::optional(std::max<Count>(1, *gpus / replica)) : std::nullopt;
  }

  void read_gpus() {
    const auto nodes = size("nodes"), per_node = size("node_gpus");
    if (nodes || per_node) set("gpus", mul(nodes.value_or(1), per_node.value_or(1)));
  }
  void read_engine() {
    if (const auto ranks = size("engine_tp")) set("tp", std::max<Count>(1, *ranks / degree("dp")));
    const Count whole = mul(degree("tp"), degree("dp"));
    const Count experts = sizes_.contains("expert_parallel") ? whole : size("engine_ep").value_or(1);
    if (experts <= 1) return;
    set("ep", experts);
    if (whole / experts != degree("tp")) set("etp", std::max<Count>(1, whole / experts));
    if (degree("tp") > 1) inputs_["sp"] = "on";
  }
  void read_split() {
    const auto shares = sizes_.find("device_split"), mode = sizes_.find("split_mode");
    if (shares == sizes_.end()) return;
    const bool tensors = mode != sizes_.end() && mode->second == "tensors";
    set(tensors ? "tp" : "pp", 1 + std::count(shares->second.begin(), shares->second.end(), ','));
  }
  void read_instances() {
    const auto copies = size("instances");
    if (!copies || *copies <= 1) return;
    if (!data_ranks()) throw InputError("--from: hybrid sharding needs the number of GPUs; add --gpus");
    set("hsdp", std::max<Count>(1, *data_ranks() / *copies));
  }
  void read_shards() {
    const auto found = sizes_.find("shard_ranks");
    if (found == sizes_.end() && !sizes_.contains("copies")) return;
    const bool rest = found == sizes_.end() || found->second == "-1";
    const Count copies = std::max<Count>(1, size("copies").value_or(1));
    if (rest && !data_ranks()) return shard_all();
    const Count shard = rest ? std::max<Count>(1, *data_ranks() / copies) : std::max<Count>(1, *size("shard_ranks"));
    if (!typed_.contains("gpus")) set("dp", mul(shard, copies));
    if (shard > 1) shard_all();
    if (shard > 1 && copies > 1) set("hsdp", shard);
    if (shard == 1 && inputs_.contains("zero") && inputs_["zero"] != "1") inputs_["zero"] = "0";
  }
  void shard_all() { inputs_.emplace("zero", "3"); }
  void read_batches() {
    if (const auto local = size("local_batch"); local && degree("pp") == 1) set("micro_batch", *local);
    const auto times = size("accumulation");
    if (!times) return;
    const Count micro = mul(degree("micro_batch"), *times);
    if (const auto global = input("global_batch"); global && !data_ranks()) {
      set("dp", std::max<Count>(1, *global / std::max<Count>(1, micro)));
    } else if (!global && data_ranks()) {
      set("global_batch", mul(micro, *data_ranks()));
    }
  }
  /// Reads a limit on the length of requests. The limit shortens the default prompt; specified lengths must not exceed
  /// it.
  void read_length() {
    std::optional<Count> limit = size("max_length");
    if (const auto total = size("total_length"); total && *total > 0)
      limit = *total / (inputs_.contains("batch") ? degree("batch") : degree("max_seqs"));
    if (!limit || *limit == 0) return;
    const Plan usual;
    const Count generate = input("generate").value_or(std::min(usual.generate, std::max<Count>(1, *limit / 2)));
    const Count prompt = input("prompt").value_or(usual.prompt);
    if (add(prompt, generate) <= *limit) return;
    if (typed_.contains("prompt") || generate >= *limit)
      throw InputError(fmt::format("--from: requests of {} tokens exceed the limit of {} tokens in the command",
                                   add(prompt, generate), *limit));
    set("prompt", *limit - generate);
    set("generate", generate);
  }
  void add_offload(const std::string& part) {
    std::string& parts = inputs_["offload"];
    parts += (parts.empty() ? "" : ",") + part;
  }
  /// Adds `count` of `total` layers or experts to the offload.
  void add_offload(std::string_view part, Count count, Count total) {
    if (count <= 0) return;
    const double share = static_cast<double>(count) / static_cast<double>(total);
    add_offload(share >= 1 ? std::string(part) : fmt::format("{}:{:.6f}", part, share));
  }
  void read_host() {
    if (const auto on_device = size("device_layers")) add_offload("weights", arch_.layers - *on_device, arch_.layers);
    if (const auto on_host = size("host_expert_layers")) add_offload("experts", *on_host, arch_.layers);
    if (const auto on_device = size("device_experts"))
      add_offload("experts", arch_.moe.experts - *on_device, arch_.moe.experts);
    if (sizes_.contains("host_cache")) add_offload("kv");
  }
  /// Omits defaults of the stack for ranks that the plan does not have.
  void omit_idle() {
    if (degree("cp") == 1) inputs_.erase("cp_method");
    if (degree("tp") == 1) inputs_.erase("sp");
  }
  /// Throws InputError if the command describes a model other than the one it names.
  void check_model() const {
    Request r;
    r.model.arch = arch_;
    for (const char* name : {"layers", "hidden", "mlp_width", "heads", "kv_heads", "head_width", "experts"}) {
      const auto said = size(name);
      if (!said || std::string(name) == "layers") continue;
      const Text own = find_size(name)->text(r);
      if (own && *own != fmt::format("{}", *said))
        throw InputError(fmt::format("--from: the command has {} {}, but the model has {}", name, *said, *own));
    }
    if (const auto said = size("layers"); said && *said != arch_.layers)
      throw InputError(fmt::format("--from: the command has {} layers, but the model has {}", *said, arch_.layers));
  }

  const InputTexts& sizes_;
  const InputTexts& typed_;
  const Arch& arch_;
  InputTexts& inputs_;
};

}  // namespace launch_size
}  // namespace

std::span<const LaunchSize> launch_sizes() { return launch_size::all_sizes; }

const LaunchSize* find_size(std::string_view name) {
  const auto sizes = launch_sizes();
  const auto found = std::find_if(sizes.begin(), sizes.end(), [&](const LaunchSize& s) { return s.name == name; });
  return found == sizes.end() ? nullptr : &*found;
}

void add_inputs_of_sizes(const InputTexts& sizes, const InputTexts& typed, const Arch& arch, InputTexts& inputs) {
  launch_size::Reader(sizes, typed, arch, inputs).read();
}

}  // namespace llmcalc
