#include "serve/request_list.hpp"

namespace llmcalc {

ServerRequest RequestList::operator[](std::size_t i) const {
  return {at(i), prompt(i), generate(i), after(i), session(i), prefix(i), prefix_tokens(i), priority(i)};
}

void RequestList::reserve(std::size_t n) {
  at_.reserve(n);
  for (CountColumn* c : {&prompt_, &generate_, &prefix_tokens_}) c->reserve(n);
  for (CompactColumn<std::uint32_t>* c : {&after_, &session_, &prefix_}) c->reserve(n);
  priority_.reserve(n);
}

void RequestList::push_back(const ServerRequest& r) {
  at_.push_back(r.at.value);
  prompt_.push_back(r.prompt);
  generate_.push_back(r.generate);
  after_.push_back(r.after);
  session_.push_back(r.session);
  prefix_.push_back(r.prefix);
  prefix_tokens_.push_back(r.prefix_tokens);
  priority_.push_back(r.priority);
}

void RequestList::set(std::size_t i, const ServerRequest& r) {
  set_at(i, r.at);
  prompt_.set(i, r.prompt);
  generate_.set(i, r.generate);
  after_.set(i, r.after);
  session_.set(i, r.session);
  prefix_.set(i, r.prefix);
  prefix_tokens_.set(i, r.prefix_tokens);
  priority_.set(i, r.priority);
}

void RequestList::keep_first(std::size_t n) {
  if (n >= size()) return;
  at_.keep_first(n);
  for (CountColumn* c : {&prompt_, &generate_, &prefix_tokens_}) c->keep_first(n);
  for (CompactColumn<std::uint32_t>* c : {&after_, &session_, &prefix_}) c->keep_first(n);
  priority_.keep_first(n);
}

}  // namespace llmcalc
