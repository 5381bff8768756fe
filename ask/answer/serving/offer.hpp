#pragma once
/// Hardware and layouts that could serve a load.

#include "ask/answer/serving/plan.hpp"
#include "ask/answer/serving/serving.hpp"
#include "ask/request/request.hpp"

namespace llmcalc {

/// The layouts that are searched: 1 to 16 tensor-parallel ranks, alone and, where no link is faster than PCI Express,
/// as the stages of a pipeline of 2 or 4; with experts as many data-parallel ranks of attention, and as many
/// tensor-parallel ones whose ranks have whole experts. The request's own alone where a layout was given.
std::vector<Request> serving_layouts(const Request& r);

/// Requests of the traffic that meet no other: one where all are alike, else 100, and 10,000 where fewer of these than
/// --percentile keep the limits, but by no more than chance does. `log`: the traffic, where it is a log.
Served served_alone(const Request& r, const ServingEngine& e, const ServingTraffic* log = nullptr);
/// Why not enough of them keep the limits; empty: they do, or are fewer by no more than three standard errors.
std::string too_slow(const Request& r, const Served& alone);

/// The offer of a hardware and layout: whether it has room, how fast a request alone is, and how many engines the load
/// takes at least, those that answer 1.5 times as much as the limits of a pass say, which errs by less.
ServingOffer serving_offer(const Request& r);
/// The points that no other beats in both, slowest user first, over the offers of one hardware that fit.
std::vector<ServingPoint> serving_front(const std::vector<const ServingOffer*>& offers);

}  // namespace llmcalc
