#pragma once
/// Closed forms from the source documents and papers. Each states its source and the terms that it omits. The engine
/// never includes this file; tests and `llmcalc check` compare the engine with these forms.

#include "calc/textbook/activations.hpp"
#include "calc/textbook/exact.hpp"
#include "calc/textbook/flops.hpp"
#include "calc/textbook/inference.hpp"
#include "calc/textbook/mtp.hpp"
#include "calc/textbook/muon.hpp"
#include "calc/textbook/operands.hpp"
#include "calc/textbook/parallel.hpp"
#include "calc/textbook/parameters.hpp"
#include "calc/textbook/roofline.hpp"
#include "calc/textbook/seeds.hpp"
#include "calc/textbook/states.hpp"
