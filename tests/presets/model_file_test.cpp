#include "presets/model_file.hpp"

#include "calc/parameters.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

// 12 layers of width 768 with 12 heads: GPT-2 small, (50257 + 1024)*768 + 12*(12*768*768 + 13*768) + 2*768 = 124439808
const json::Value gpt2 = json::parse(R"({
  "llmcalc_model": 1, "name": "mine", "title": "Mine", "aliases": ["my-gpt"],
  "layers": 12, "hidden": 768, "vocabulary": 50257, "context": 1024, "block": "serial",
  "attention": {"kind": "grouped", "heads": 12, "kv_heads": 12, "head_width": 64, "qkv_bias": true, "out_bias": true,
                "qk_norm": "none", "sinks": false},
  "mlp": {"kind": "plain", "width": 3072, "activation": "gelu_tanh", "bias": true},
  "norm": {"kind": "layer_norm", "placement": "pre", "per_layer": 2, "final": true, "embedding": false},
  "position": {"kind": "learned", "rows": 1024},
  "head": {"tied": true, "bias": false},
  "published": {"parameters": 124439808, "source": "Radford et al. 2019"},
  "stored_parameters": 137022720, "notes": "a note"})",
                                     "gpt2.json");

// The experts of a small mixture with shared experts.
const json::Value experts = json::parse(R"({"experts": 8, "top_k": 2, "width": 64, "shared_experts": 1,
  "shared_width": 128, "shared_gate": true, "router_bias": false, "expert_bias": false, "router_correction_bias": true,
  "layers": {"from": 1, "every": 2}})",
                                        "moe");

const json::Value latent = json::parse(R"({"kind": "latent", "heads": 12, "q_rank": 0, "kv_rank": 32, "nope_width": 16,
  "rope_width": 8, "v_width": 16, "qkv_bias": false, "out_bias": false})",
                                       "latent");

/// gpt2 without its published count, with the value at `pointer` replaced, or removed if null.
json::Value changed(const char* pointer, const json::Value* value) {
  json::Value v = gpt2;
  v.erase("published");
  const json::Value::json_pointer p{std::string(pointer)};
  if (value != nullptr)
    v[p] = *value;
  else
    v[p.parent_pointer()].erase(p.back());
  return v;
}

json::Value with(const char* pointer, const json::Value& value) { return changed(pointer, &value); }
json::Value without(const char* pointer) { return changed(pointer, nullptr); }

ModelCard read(const json::Value& v) { return read_model_file(v, "m.json"); }

std::string refusal(const json::Value& v) {
  try {
    read(v);
  } catch (const InputError& e) {
    return e.what();
  }
  return "nothing was rejected";
}

json::Value j(const char* text) { return json::parse(text, "value"); }

}  // namespace

TEST_CASE("a model file describes a model completely", "[model_file]") {
  const ModelCard card = read(gpt2);
  CHECK(card.name == "mine");
  CHECK(card.title == "Mine");
  CHECK(card.aliases == std::vector<std::string>{"my-gpt"});
  CHECK(card.source == "m.json");
  CHECK(card.published == 124439808);
  CHECK(card.stored == 137022720);
  CHECK(card.notes == "a note");
  const Arch& a = card.arch;
  CHECK(a.layers == 12);
  CHECK(a.embedding_width == 768);
  CHECK(a.head_dim == 64);
  CHECK(a.activation == Activation::gelu_tanh);
  CHECK(a.position_rows == 1024);
  CHECK(a.tied_head);
  CHECK(parameters(a).total == 124439808);
  CHECK(model_file_json(card) == gpt2);
  CHECK(is_model_file(gpt2));
  CHECK_FALSE(is_model_file(j(R"({"model_type": "gpt2"})")));
}

TEST_CASE("optional sections round-trip through a model file", "[model_file]") {
  json::Value v = with("/moe", experts);
  v["sliding_window"] = j(R"({"window": 128, "layers": {"except": {"from": 5, "every": 6}}})");
  v["linear_attention"] = j(R"({"layers": [5, 11]})");
  v["embedding_width"] = 512;
  const ModelCard card = read(v);
  CHECK(card.arch.moe.experts == 8);
  CHECK(card.arch.moe.layers == LayerSet::every(1, 2, 12));
  CHECK(card.arch.moe.router_correction);
  CHECK(card.arch.local.layers.size() == 10);
  CHECK_FALSE(card.arch.local.layers.contains(5));
  CHECK(card.arch.linear_layers == LayerSet::every(5, 6, 12));
  CHECK(card.arch.embedding_width == 512);
  CHECK(read(model_file_json(card)).arch == card.arch);
  const ModelCard mla = read(with("/attention", latent));
  CHECK(mla.arch.latent == Latent{.q_rank = 0, .kv_rank = 32, .nope_dim = 16, .rope_dim = 8, .v_dim = 16});
  CHECK(read(model_file_json(mla)).arch == mla.arch);
}

TEST_CASE("chunked attention round-trips through a model file", "[model_file]") {
  const ModelCard card = read(with("/chunked_attention", j(R"({"chunk": 128, "layers": "all"})")));
  CHECK(card.arch.local == LocalAttention{{128, true}, LayerSet::all(12)});
  const json::Value written = model_file_json(card);
  CHECK(written["chunked_attention"] == j(R"({"chunk": 128, "layers": "all"})"));
  CHECK_FALSE(written.contains("sliding_window"));
}

TEST_CASE("the head width is optional if the heads divide the hidden size evenly", "[model_file]") {
  CHECK(read(without("/attention/head_width")).arch.head_dim == 64);
  json::Value v = without("/attention/head_width");
  v["hidden"] = 770;
  CHECK_THAT(refusal(v), Catch::Contains("set \"head_width\""));
  v["attention"]["head_width"] = 64;
  CHECK(read(v).arch.head_dim == 64);
}

TEST_CASE("a model file is written with the shortest layer pattern", "[model_file]") {
  const auto written = [](const char* pattern) {
    return model_file_json(
        read(with("/sliding_window", {{"window", 8}, {"layers", j(pattern)}})))["sliding_window"]["layers"];
  };
  CHECK(written(R"("all")") == "all");
  CHECK(written("[0,1,2,3,4,5,6,7,8,9,10,11]") == "all");
  CHECK(written("[0,2,4,6,8,10]") == j(R"({"from": 0, "every": 2})"));
  CHECK(written("[3,4,5,6,7,8,9,10,11]") == j(R"({"from": 3, "every": 1})"));
  CHECK(written("[0,1,2,3,4,6,7,8,9,10]") == j(R"({"except": {"from": 5, "every": 6}})"));
  CHECK(written("[0,3,4]") == j("[0,3,4]"));
  CHECK(written("[7]") == j("[7]"));
  CHECK(written(R"({"from": 11, "every": 999999})") == j("[11]"));
}

TEST_CASE("a model file whose published parameter count differs from the engine's is rejected", "[model_file]") {
  json::Value v = gpt2;
  v["published"]["parameters"] = 124439809;
  CHECK_THAT(refusal(v),
             Catch::Contains("124439809 parameters are published") && Catch::Contains("has 124439808 (-1)"));
  v["published"].erase("source");
  CHECK_THAT(refusal(v), Catch::Contains("\"source\""));
}

TEST_CASE("every key of a model file is required, and unknown keys are rejected", "[model_file]") {
  for (const char* pointer : {"/llmcalc_model",
                              "/name",
                              "/layers",
                              "/hidden",
                              "/vocabulary",
                              "/context",
                              "/block",
                              "/attention",
                              "/attention/kind",
                              "/attention/heads",
                              "/attention/kv_heads",
                              "/attention/qkv_bias",
                              "/attention/out_bias",
                              "/attention/qk_norm",
                              "/mlp",
                              "/mlp/kind",
                              "/mlp/width",
                              "/mlp/activation",
                              "/mlp/bias",
                              "/norm",
                              "/norm/kind",
                              "/norm/placement",
                              "/norm/per_layer",
                              "/norm/final",
                              "/norm/embedding",
                              "/position",
                              "/position/kind",
                              "/position/rows",
                              "/head",
                              "/head/tied",
                              "/head/bias"}) {
    CAPTURE(pointer);
    const std::string key = std::string(pointer).substr(std::string(pointer).rfind('/') + 1);
    const std::string said = refusal(without(pointer));
    CHECK_THAT(said, Catch::Contains("\"" + key + "\"") || Catch::Contains(key + ": expected") ||
                         Catch::Contains("mlp width"));
  }
  for (const char* pointer :
       {"/extra", "/attention/extra", "/mlp/extra", "/norm/extra", "/position/extra", "/head/extra"})
    CHECK_THAT(refusal(with(pointer, 1)), Catch::Contains("unknown key \"extra\""));
  CHECK_THAT(refusal(with("/layer", 1)), Catch::Contains("did you mean \"layers\"?"));
}

TEST_CASE("a model file with an invalid size is rejected", "[model_file]") {
  const auto says = [](const char* pointer, const json::Value& value, const char* what) {
    CAPTURE(pointer, value.dump());
    CHECK_THAT(refusal(with(pointer, value)), Catch::Contains(what));
  };
  says("/layers", 0, "\"layers\"");
  says("/layers", 1025, "got 1025");
  says("/layers", -3, "\"layers\"");
  says("/layers", 12.5, "\"layers\"");
  says("/layers", "12", "\"layers\"");
  says("/hidden", Count{1} << 40, "hidden size");
  says("/vocabulary", Count{1} << 32, "vocabulary");
  says("/context", Count{1} << 32, "context length");
  says("/embedding_width", Count{1} << 32, "embedding width");
  says("/attention/kv_heads", 5, "a multiple of KV heads");
  says("/attention/heads", Count{1} << 32, "number of heads");
  says("/attention/head_width", Count{1} << 31, "attention width");
  says("/mlp/width", Count{1} << 32, "mlp width");
  says("/position/rows", 1000, "are too few for a context of 1024");
  says("/llmcalc_model", 2, "version 1");
  says("/name", "", "\"name\": expected a name");
  says("/aliases", "x", "\"aliases\"");
  says("/stored_parameters", 0, "\"stored_parameters\"");
}

TEST_CASE("a model file with sizes whose product exceeds 2^63 is rejected", "[model_file]") {
  json::Value v = with("/layers", 1000);
  v["hidden"] = Count{1} << 31;
  v["mlp"]["width"] = Count{1} << 31;
  CHECK_THAT(refusal(v), Catch::Contains("exceeds 2^63"));
}

TEST_CASE("a model file with contradictory choices is rejected", "[model_file]") {
  const auto says = [](const char* pointer, const json::Value& value, const char* what) {
    CAPTURE(pointer, value.dump());
    CHECK_THAT(refusal(with(pointer, value)), Catch::Contains(what));
  };
  says("/block", "sideways", "expected serial, parallel or shortcut, got \"sideways\"");
  says("/attention/qk_norm", "some", "expected none, weight_free, per_head");
  says("/norm/per_layer", 4, "expected 2 norms");
  says("/norm/per_layer", 1, "expected 2 norms");
  says("/norm/placement", "both", "expected 4 norms");
  says("/position/kind", "rope", "unknown key \"rows\"");
  says("/sliding_window", j(R"({"window": 0, "layers": "all"})"), "\"window\"");
  says("/sliding_window", j(R"({"window": 8})"), "\"layers\" is missing; expected \"all\"");
  says("/chunked_attention", j(R"({"window": 8, "layers": "all"})"), "\"chunk\"");
  json::Value two = with("/sliding_window", j(R"({"window": 8, "layers": [3]})"));
  two["chunked_attention"] = j(R"({"chunk": 8, "layers": [4]})");
  CHECK_THAT(refusal(two), Catch::Contains("conflicts with \"sliding_window\""));
  json::Value parallel = with("/block", "parallel");
  CHECK(read(parallel).arch.norms_per_layer == 2);
  parallel["norm"]["per_layer"] = 3;
  CHECK_THAT(refusal(parallel), Catch::Contains("from 1 to 2"));
  parallel["norm"] =
      j(R"({"kind": "rms_norm", "placement": "post", "per_layer": 1, "final": true, "embedding": false})");
  CHECK_THAT(refusal(parallel), Catch::Contains("must be \"pre\""));
  json::Value both = with("/sliding_window", j(R"({"window": 8, "layers": [3]})"));
  both["linear_attention"] = j(R"({"layers": "all"})");
  CHECK_THAT(refusal(both), Catch::Contains("layer 3 has both"));
}

TEST_CASE("expert keys of a model file are validated", "[model_file]") {
  const auto says = [](const char* key, const json::Value& value, const char* what) {
    CAPTURE(key, value.dump());
    json::Value m = experts;
    m[key] = value;
    CHECK_THAT(refusal(with("/moe", m)), Catch::Contains(what));
  };
  says("top_k", 9, "from 1 to 8");
  says("top_k", 0, "\"top_k\"");
  says("experts", 0, "\"experts\"");
  says("width", 0, "\"width\"");
  says("shared_width", 0, "shared experts' width");
  says("shared_experts", 0, "shared experts' width");
  says("layers", j("[]"), "contains no layer");
  says("layers", "all", "so the mlp width is unused");
  says("router_bias", 1, "\"router_bias\"");
  json::Value dense = with("/moe", experts);
  dense["mlp"].erase("width");
  CHECK_THAT(refusal(dense), Catch::Contains("mlp width"));
  dense["moe"]["layers"] = "all";
  CHECK(read(dense).arch.mlp_width == 0);
}

TEST_CASE("MTP modules round-trip through a model file and are validated", "[model_file][mtp]") {
  const json::Value modules = j(R"({"modules": 2, "mixer_of": 11, "mlp_of": 0, "own_norm": true, "own_embedding": false,
    "own_head": true})");
  const ModelCard card = read(with("/mtp", modules));
  CHECK(card.arch.mtp == Mtp{.modules = 2, .mixer_of = 11, .mlp_of = 0, .own_norm = true, .own_head = true});
  CHECK(model_file_json(card)["mtp"] == modules);
  const auto says = [&](const char* key, const json::Value& value, const char* what) {
    json::Value m = modules;
    m[key] = value;
    CHECK_THAT(refusal(with("/mtp", m)), Catch::Contains(what));
  };
  says("modules", 0, "\"modules\"");
  says("modules", 17, "from 0 to 16, got 17");
  says("mixer_of", 12, "mixer_of of the MTP modules: expected a whole number from 0 to 11, got 12");
  says("mlp_of", 12, "mlp_of of the MTP modules");
  says("own_norm", 1, "\"own_norm\"");
  json::Value narrow = with("/mtp", modules);
  narrow["embedding_width"] = 512;
  CHECK_THAT(refusal(narrow), Catch::Contains("a token embedding as wide as the model"));
}

TEST_CASE("latent-attention keys of a model file are validated", "[model_file]") {
  const auto says = [](const char* key, const json::Value& value, const char* what) {
    CAPTURE(key, value.dump());
    json::Value a = latent;
    a[key] = value;
    CHECK_THAT(refusal(with("/attention", a)), Catch::Contains(what));
  };
  says("kv_rank", 0, "\"kv_rank\"");
  says("v_width", 0, "\"v_width\"");
  says("q_rank", Count{1} << 32, "q_rank");
  says("nope_width", Count{1} << 62, "expected nope_width");
  says("heads", 0, "\"heads\"");
  says("kv_heads", 12, "unknown key \"kv_heads\"");
  json::Value none = latent;
  none["nope_width"] = none["rope_width"] = 0;
  CHECK_THAT(refusal(with("/attention", none)), Catch::Contains("nope_width + rope_width"));
}

TEST_CASE("shortcut blocks and zero experts of a model file are validated", "[model_file]") {
  json::Value v = with("/block", "shortcut");
  CHECK_THAT(refusal(v), Catch::Contains("for the experts"));
  v["moe"] = experts;
  v["moe"]["layers"] = "all";
  v["moe"]["zero_experts"] = 4;
  CHECK_THAT(refusal(v), Catch::Contains("four norms"));
  v["norm"]["per_layer"] = 4;
  const ModelCard card = read(v);
  CHECK(card.arch.block == BlockKind::shortcut);
  CHECK(card.arch.moe.choices() == 12);
  CHECK(read(model_file_json(card)).arch == card.arch);
  v["moe"]["top_k"] = 13;
  CHECK_THAT(refusal(v), Catch::Contains("from 1 to 12"));
}

TEST_CASE("residual streams and indexers are rejected with incompatible options", "[model_file]") {
  json::Value streams = with("/streams", 4);
  CHECK(read(streams).arch.streams == 4);
  streams["output_scale"] = true;
  CHECK_THAT(refusal(streams), Catch::Contains("remove these or \"streams\""));
  streams.erase("output_scale");
  streams["residual_block"] = 2;
  CHECK_THAT(refusal(streams), Catch::Contains("remove these or \"streams\""));
  json::Value attention = gpt2["attention"];
  attention["indexer"] = j(R"({"kind": "blocks", "heads": 2, "width": 8, "top_k": 4, "block": 16})");
  CHECK(read(with("/attention", attention)).arch.indexer.top_k == 4);
  attention["bidirectional"] = true;
  CHECK_THAT(refusal(with("/attention", attention)), Catch::Contains("up to the query; remove \"bidirectional\""));
}

TEST_CASE("indexer keys of a model file are validated", "[model_file]") {
  const auto of = [](const json::Value& attention, const char* indexer) {
    json::Value a = attention;
    a["indexer"] = j(indexer);
    return with("/attention", a);
  };
  json::Value low = latent;
  low["q_rank"] = 24;
  const char* lightning = R"({"kind": "lightning", "heads": 2, "width": 8, "top_k": 64})";
  CHECK(read(of(low, lightning)).arch.indexer ==
        Indexer{.kind = IndexerKind::lightning, .heads = 2, .width = 8, .top_k = 64});
  CHECK_THAT(refusal(of(latent, lightning)), Catch::Contains("low-rank"));
  CHECK_THAT(refusal(of(gpt2["attention"], lightning)), Catch::Contains("low-rank"));
  CHECK_THAT(refusal(of(low, R"({"kind": "blocks", "heads": 2, "width": 8, "top_k": 4, "block": 16})")),
             Catch::Contains("grouped"));
  CHECK_THAT(refusal(of(low, R"({"kind": "lightning", "heads": 2, "width": 8, "top_k": 64, "block": 16})")),
             Catch::Contains("unknown key \"block\""));
  CHECK_THAT(refusal(of(low, R"({"kind": "lightning", "heads": 2, "width": 8, "top_k": 64, "shared": true})")),
             Catch::Contains("no earlier layer has one"));
  json::Value windowed = of(low, lightning);
  windowed["sliding_window"] = j(R"({"window": 16, "layers": "all"})");
  CHECK_THAT(refusal(windowed), Catch::Contains("remove the window"));
}

TEST_CASE("layer patterns of a model file are validated", "[model_file]") {
  const auto says = [](const char* pattern, const char* what) {
    CAPTURE(pattern);
    CHECK_THAT(refusal(with("/linear_attention", {{"layers", j(pattern)}})), Catch::Contains(what));
  };
  says("[12]", "from 0 to 11");
  says("[-1]", "from 0 to 11");
  says("[1.5]", "from 0 to 11");
  says("[1, 1]", "twice");
  says("[]", "contains no layer");
  says(R"("some")", "\"all\"");
  says(R"({"from": 12, "every": 1})", "layers are 0 to 11");
  says(R"({"from": 0, "every": 0})", "\"every\"");
  says(R"({"from": 0})", "\"every\"");
  says(R"({"from": 0, "every": 1, "to": 3})", "unknown key \"to\"");
  says(R"({"except": {"from": 0, "every": 1}})", "contains no layer");
}
