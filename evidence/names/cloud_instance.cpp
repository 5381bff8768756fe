#include "evidence/names/cloud_instance.hpp"

#include <algorithm>
#include <regex>
#include <string>

#include "text/names.hpp"

namespace llmcalc {

namespace {

/// Pattern for an instance name, and the preset of the instance's devices. The first match wins.
struct InstanceName {
  const char* pattern;
  std::string_view preset;
};
constexpr InstanceName instance_names[] = {
    // Amazon EC2
    {R"(\bp3dn\b)", "v100-sxm2-32gb"},
    {R"(\bp3\.[0-9]*xlarge)", "v100-sxm2-16gb"},
    {R"(\bp4de\b)", "a100-sxm-80gb"},
    {R"(\bp4d\b)", "a100-sxm-40gb"},
    {R"(\bp5en?\b)", "h200-sxm-141gb"},
    {R"(\bp5\b)", "h100-sxm-80gb"},
    {R"(\bp6e-gb200)", "gb200"},
    {R"(\bp6e-gb300)", "gb300"},
    {R"(\bp6-b300)", "b300-sxm-288gb"},
    {R"(\bp6\b)", "b200-sxm-180gb"},
    {R"(\bg4dn\b)", "t4"},
    {R"(\bg5\b)", "a10g"},
    {R"(\bg6e\b)", "l40s"},
    {R"(\bg6\b)", "l4"},
    {R"(\btrn1n?\b)", "trainium"},
    {R"(\btrn2u?\b)", "trainium2"},
    {R"(\btrn3\b)", "trainium3"},
    {R"(\binf2\b)", "inferentia2"},
    // Google Cloud
    {R"(\ba2-ultra)", "a100-sxm-80gb"},
    {R"(\ba2-(high|mega))", "a100-sxm-40gb"},
    {R"(\ba3[ -]ultra)", "h200-sxm-141gb"},
    {R"(\ba3\b)", "h100-sxm-80gb"},
    {R"(\ba4x[ -]?max\b)", "gb300"},
    {R"(\ba4x\b)", "gb200"},
    {R"(\ba4\b)", "b200-sxm-180gb"},
    {R"(\bg2-standard)", "l4"},
    {R"(\bct5lp\b|\bv5litepod\b)", "tpu-v5e"},
    {R"(\bct5p\b)", "tpu-v5p"},
    {R"(\bct6e\b)", "tpu-v6e"},
    // Microsoft Azure
    {R"(\bnd96amsr|\bndm[ _-]?a100)", "a100-sxm-80gb"},
    {R"(\bnd96asr|\bnd[ _-]?a100)", "a100-sxm-40gb"},
    {R"(\bnd[0-9a-z]*[ _-]*h100)", "h100-sxm-80gb"},
    {R"(\bnd[0-9a-z]*[ _-]*h200)", "h200-sxm-141gb"},
    {R"(\bnd[0-9a-z]*[ _-]*gb200)", "gb200"},
    {R"(\bnd[0-9a-z]*[ _-]*gb300)", "gb300"},
    {R"(\bnd[0-9a-z]*[ _-]*mi300x)", "mi300x"},
    {R"(\bnd40rs)", "v100-sxm2-32gb"},
    {R"(\bnc[0-9a-z]*[ _-]*a100)", "a100-pcie-80gb"},
    {R"(\bnc[0-9a-z]*[ _-]*h100)", "h100-nvl-94gb"},
    {R"(\bnc[0-9a-z]*[ _-]*t4)", "t4"},
    {R"(\bnv[0-9a-z]*[ _-]*a10)", "a10"},
    // Oracle Cloud
    {R"(\bbm\.gpu\.a100-v2)", "a100-sxm-80gb"},
    {R"(\bbm\.gpu4)", "a100-sxm-40gb"},
    {R"(\bbm\.gpu\.h100)", "h100-sxm-80gb"},
    {R"(\bbm\.gpu\.h200)", "h200-sxm-141gb"},
    {R"(\bbm\.gpu\.b200)", "b200-sxm-180gb"},
    {R"(\bbm\.gpu\.mi300x)", "mi300x"},
    {R"(\bbm\.gpu\.l40s)", "l40s"},
    {R"(\b[bv]m\.gpu\.a10\b)", "a10"},
};

}  // namespace

std::string_view device_of_instance(std::string_view said) {
  std::string text = lower(said.substr(0, 200));
  std::replace(text.begin(), text.end(), '_', '-');  // \b treats '_' as a letter
  const auto* found = std::find_if(std::begin(instance_names), std::end(instance_names), [&](const InstanceName& name) {
    return std::regex_search(text, std::regex(name.pattern));
  });
  return found == std::end(instance_names) ? std::string_view() : found->preset;
}

}  // namespace llmcalc
