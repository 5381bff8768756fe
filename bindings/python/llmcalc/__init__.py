"""Parameters, memory, FLOPs, time and cost of language models.

    >>> import llmcalc
    >>> llmcalc.params("gpt-3-175b").parameters.total
    174604259328

Each command of the program is a function, and each option one of its keyword arguments. help(llmcalc.train) lists them.
"""

from ._answer import Answer, InputError, Section
from ._commands import *  # noqa: F401,F403
from ._commands import __all__ as _functions
from ._library import ask_json, version
from ._requests import ask, ask_many, sweep

__version__ = version()
__all__ = [*_functions, "Answer", "InputError", "Section", "ask", "ask_json", "ask_many", "sweep"]
