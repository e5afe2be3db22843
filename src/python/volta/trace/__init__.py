"""Plain functions of arrays to formulas: NumPy's through its protocols, torch's through a graph of torch.fx.

Both end in one table of operations (`elementwise`, `bits`, `operations`, `lookups`, `networks`) on arrays that know the tree
of each of their elements (`symbolic`), and `tree` alone writes trees as text. What is not covered is an `InputError` that
names the operation, and so is what is another function each time (`drawn`).
"""

from __future__ import annotations

from .functions import formula_of, function, function_of_call

__all__ = ["formula_of", "function", "function_of_call"]
