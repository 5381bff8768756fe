#pragma once
/// A list of requests, stored by member, because most lists share most members: a request without session, prefix and
/// priority occupies 16 bytes, 8 if all lengths are equal.

#include <initializer_list>
#include <utility>
#include <vector>

#include "serve/list_iterator.hpp"
#include "serve/prefix_tree.hpp"
#include "serve/request.hpp"
#include "serve/split_column.hpp"

namespace llmcalc {

class RequestList {
 public:
  RequestList() = default;
  RequestList(std::initializer_list<ServerRequest> all) : RequestList(std::vector<ServerRequest>(all)) {}
  RequestList(const std::vector<ServerRequest>& all) {
    for (const ServerRequest& r : all) push_back(r);
  }

  std::size_t size() const { return at_.size(); }
  bool empty() const { return size() == 0; }
  ServerRequest operator[](std::size_t i) const;
  ServerRequest front() const { return (*this)[0]; }
  ServerRequest back() const { return (*this)[size() - 1]; }
  ListIterator<RequestList, ServerRequest> begin() const { return {*this, 0}; }
  ListIterator<RequestList, ServerRequest> end() const { return {*this, size()}; }

  // members of a request
  Seconds at(std::size_t i) const { return Seconds(at_[i]); }
  Count prompt(std::size_t i) const { return prompt_[i]; }
  Count generate(std::size_t i) const { return generate_[i]; }
  RequestId after(std::size_t i) const { return after_[i]; }
  ChainId session(std::size_t i) const { return session_[i]; }
  ChainId prefix(std::size_t i) const { return prefix_[i]; }
  Count prefix_tokens(std::size_t i) const { return prefix_tokens_[i]; }
  int priority(std::size_t i) const { return priority_[i]; }

  /// Prepares for `n` requests in total.
  void reserve(std::size_t n);
  void push_back(const ServerRequest& r);
  void set(std::size_t i, const ServerRequest& r);
  void set_at(std::size_t i, Seconds at) { at_.set(i, at.value); }
  /// How prefixes extend one another; empty if none does. Requests with the same prefix of a tree must have equal
  /// prefix_tokens, which are the begin() of its children.
  const PrefixTree& prefixes() const { return prefixes_; }
  void set_prefixes(PrefixTree prefixes) { prefixes_ = std::move(prefixes); }
  /// Drops all but the first `n` requests, if there are more.
  void keep_first(std::size_t n);

 private:
  CompactColumn<double> at_;
  CountColumn prompt_, generate_, prefix_tokens_;
  CompactColumn<std::uint32_t> after_, session_, prefix_;
  CompactColumn<int> priority_;
  PrefixTree prefixes_;
};

}  // namespace llmcalc
