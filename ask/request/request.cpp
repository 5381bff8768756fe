#include "ask/request/request.hpp"

#include <algorithm>
#include <array>

namespace llmcalc {

bool Request::gave(std::string_view option) const {
  return std::find(given.begin(), given.end(), option) != given.end();
}

bool Request::searches(std::string_view option) const {
  constexpr std::array degrees{"--tp", "--cp", "--ep", "--pp", "--zero"};
  const bool tries = std::find(degrees.begin(), degrees.end(), option) != degrees.end();
  return searches_layouts && tries && !gave(option) && !(option == "--zero" && gave("--fsdp"));
}

Request of_one_engine(Request r) {
  r.layout = r.has(part::training) ? one_engine(r.layout) : staged_engine(r.layout);
  return r;
}

Bytes process_bytes(const Request& r) { return r.hardware ? r.hardware->cluster.device.achieved.overhead : Bytes(); }

}  // namespace llmcalc
