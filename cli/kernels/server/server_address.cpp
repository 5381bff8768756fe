#include "cli/kernels/server/server_address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

constexpr std::string_view host_characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
constexpr std::string_view address_characters = "0123456789abcdefABCDEF:.";
constexpr std::string_view path_characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_~%/";

[[noreturn]] void refuse_url(const std::string& url, const std::string& why) {
  throw InputError(
      fmt::format("--server: {} in {}; pass an address such as http://localhost:8000", why, in_quotes(url)));
}

bool consists_of(std::string_view text, std::string_view characters) {
  return text.find_first_not_of(characters) == std::string_view::npos;
}

/// The URL without its scheme.
std::string_view after_scheme(const std::string& url) {
  const std::size_t end = url.find("://");
  if (end == std::string::npos) return url;
  const std::string scheme = lower(url.substr(0, end));
  if (scheme != "http") refuse_url(url, fmt::format("expected http, got {}", in_quotes(scheme)));
  return std::string_view(url).substr(end + 3);
}

std::string host_of(const std::string& url, std::string_view& rest) {
  const bool bracketed = rest.starts_with('[');
  const std::size_t end = std::min(bracketed ? rest.find(']') : rest.find_first_of(":/"), rest.size());
  const std::string host(rest.substr(bracketed ? 1 : 0, end - (bracketed ? 1 : 0)));
  const bool closed = !bracketed || end < rest.size();
  if (host.empty() || !closed || !consists_of(host, bracketed ? address_characters : host_characters))
    refuse_url(url, "no valid host");
  rest.remove_prefix(bracketed ? end + 1 : end);
  return host;
}

int port_of(const std::string& url, std::string_view& rest) {
  if (!rest.starts_with(':')) return ServerAddress().port;
  const std::string_view digits = rest.substr(1, rest.find('/') - 1);
  int port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port < 1 || port > 65535)
    refuse_url(url, "no port from 1 to 65535");
  rest.remove_prefix(1 + digits.size());
  return port;
}

/// Without the final slash, and without the path of the metrics or of the API.
std::string path_of(const std::string& url, std::string_view rest) {
  if (!consists_of(rest, path_characters) || (!rest.empty() && rest.front() != '/')) refuse_url(url, "no valid path");
  for (const std::string_view end : {"/", "/metrics", "/v1"})
    if (rest.ends_with(end)) rest.remove_suffix(end.size());
  return std::string(rest);
}

bool is_this_machine(const std::string& host) {
  in_addr four{};
  in6_addr six{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == IN_LOOPBACKNET;
  if (::inet_pton(AF_INET6, host.c_str(), &six) == 1) return IN6_IS_ADDR_LOOPBACK(&six);
  return lower(host) == "localhost";
}

}  // namespace

std::string ServerAddress::url() const {
  const bool bracketed = host.find(':') != std::string::npos;
  return fmt::format("http://{}:{}{}", bracketed ? fmt::format("[{}]", host) : host, port, path);
}

ServerAddress server_address(const std::string& url, bool remote) {
  std::string_view rest = after_scheme(url);
  ServerAddress a{.host = host_of(url, rest)};
  a.port = port_of(url, rest);
  a.path = path_of(url, rest);
  if (!remote && !is_this_machine(a.host))
    throw InputError(
        fmt::format("--server: {} is not this machine; add --allow-remote to send it requests over the "
                    "network, unencrypted",
                    a.host));
  return a;
}

}  // namespace llmcalc
