#pragma once
/// The second road: closed forms of the seeds and of the papers, each with its source and with what it drops. The
/// engine never includes them; tests and `llmcalc check` set the two equal.

#include "calc/textbook_activations.hpp"
#include "calc/textbook_exact.hpp"
#include "calc/textbook_flops.hpp"
#include "calc/textbook_inference.hpp"
#include "calc/textbook_parallel.hpp"
#include "calc/textbook_parameters.hpp"
#include "calc/textbook_roofline.hpp"
#include "calc/textbook_seeds.hpp"
#include "calc/textbook_states.hpp"
