"""Plain functions of arrays to formulas: NumPy's through its protocols, torch's through a graph of torch.fx.

Both end in one table of operations (`elementwise`, `operations`, `networks`) on arrays that know the text of each of
their elements (`symbolic`). What is not covered is an `InputError` that names the operation.
"""

from __future__ import annotations

from .functions import formula_of, function, function_of_call

__all__ = ["formula_of", "function", "function_of_call"]
