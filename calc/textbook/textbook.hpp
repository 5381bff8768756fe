#pragma once
/// The second road: closed forms of the seeds and of the papers, each with its source and with what it drops. The
/// engine never includes them; tests and `llmcalc check` set the two equal.

#include "calc/textbook/activations.hpp"
#include "calc/textbook/exact.hpp"
#include "calc/textbook/flops.hpp"
#include "calc/textbook/inference.hpp"
#include "calc/textbook/parallel.hpp"
#include "calc/textbook/parameters.hpp"
#include "calc/textbook/roofline.hpp"
#include "calc/textbook/seeds.hpp"
#include "calc/textbook/states.hpp"
