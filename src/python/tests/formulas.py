"""A plain evaluator of formulas on numbers: tests compare what was traced with what NumPy computes."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

TOKEN = re.compile(r"\s*(\d+\.\d*|\d+|\.\.|[A-Za-z_]\w*|`[^`]*`|<=|>=|!=|[-+*/%^()\[\],:;=<>])")
CALLS: dict[str, Callable[..., float]] = {
    "exp": math.exp, "log": math.log, "sqrt": math.sqrt, "tanh": math.tanh, "sin": math.sin, "cos": math.cos,
    "abs": abs, "floor": math.floor, "max": max, "min": min, "rsqrt": lambda x: 1 / math.sqrt(x),
    "erf": math.erf, "relu": lambda x: max(x, 0.0), "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
}  # fmt: skip
REDUCE: dict[str, Callable[[list[float]], float]] = {
    "sum": sum, "prod": math.prod, "max": lambda v: max(v, default=-math.inf), "min": lambda v: min(v, default=math.inf),
    "mean": lambda v: sum(v) / len(v),
}  # fmt: skip
Env = dict[str, float]
Expr = Callable[[Env], Any]


class Parser:
    """Reads definitions; arrays are looked up in `arrays` when an expression is evaluated."""

    def __init__(self, text: str, arrays: dict[str, Any]) -> None:
        text = text.replace("..", " .. ")
        self.tokens = TOKEN.findall(text)
        assert re.sub(r"\s", "", "".join(self.tokens)) == re.sub(r"\s", "", text)
        self.at = 0
        self.arrays = arrays

    def peek(self, ahead: int = 0) -> str:
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else ""

    def take(self, *expected: str) -> str:
        token = self.peek()
        assert not expected or token in expected, (token, expected, self.tokens[self.at :])
        self.at += 1
        return token

    def definition(self) -> dict[str, tuple[list[str], Expr]]:
        out = {}
        while True:
            name, index = self.take().strip("`"), []
            self.take("[")
            while self.peek() != "]":
                index.append(self.take())
                if self.peek() == ",":
                    self.take()
            self.take("]")
            self.take("=")
            out[name] = (index, self.expr())
            if self.peek() != "where":
                return out
            self.take()

    def expr(self) -> Expr:
        if self.peek() == "if":
            self.take()
            c = self.condition()
            self.take("then")
            a = self.expr()
            self.take("else")
            b = self.expr()
            return lambda env: a(env) if c(env) else b(env)
        left = self.term()
        while self.peek() in ("+", "-"):
            op, right = self.take(), self.term()
            left = (
                (lambda a, b: lambda e: a(e) + b(e))(left, right)
                if op == "+"
                else (lambda a, b: lambda e: a(e) - b(e))(left, right)
            )
        return left

    def term(self) -> Expr:
        left = self.unary()
        while self.peek() in ("*", "/", "%"):
            op, right = self.take(), self.unary()
            left = self.product(op, left, right)
        return left

    @staticmethod
    def product(op: str, a: Expr, b: Expr) -> Expr:
        def run(env: Env) -> Any:
            x, y = a(env), b(env)
            if op == "*":
                return x * y
            if op == "%":
                return x % y
            # A quotient of integers is a real number, and in an index always a whole one.
            return x // y if isinstance(x, int) and isinstance(y, int) and x % y == 0 else x / y

        return run

    def unary(self) -> Expr:
        if self.peek() == "-":
            self.take()
            a = self.unary()
            return lambda env: -a(env)
        base = self.atom()
        if self.peek() == "^":
            self.take()
            sign = -1 if self.peek() == "-" and self.take() else 1
            power = sign * int(self.take())
            return lambda env: base(env) ** power
        return base

    def atom(self) -> Expr:
        token = self.take()
        if token == "(":
            inner = self.expr()
            self.take(")")
            return inner
        if token[0].isdigit():
            number: float = float(token) if "." in token else int(token)
            return lambda env: number
        if token == "inf":
            return lambda env: math.inf
        if token == "pi":
            return lambda env: math.pi
        if self.peek() == "[":
            return self.element(token.strip("`"))
        if self.peek() == "(":
            return self.reduction(token) if self.is_reduction() else self.call(token)
        return lambda env: env[token]

    def is_reduction(self) -> bool:
        return self.peek(2) == "in"

    def element(self, name: str) -> Expr:
        self.take("[")
        index = []
        while self.peek() != "]":
            index.append(self.expr())
            if self.peek() == ",":
                self.take()
        self.take("]")

        def run(env: Env) -> Any:
            place = tuple(i(env) for i in index)
            array = self.arrays[name]
            if callable(array):
                return array(place)
            assert all(isinstance(p, int) and 0 <= p < n for p, n in zip(place, array.shape)), (name, place)
            return array[place].item()

        return run

    def call(self, name: str) -> Expr:
        self.take("(")
        args = [self.expr()]
        while self.peek() == ",":
            self.take()
            args.append(self.expr())
        self.take(")")
        return lambda env: CALLS[name](*(a(env) for a in args))

    def reduction(self, name: str) -> Expr:
        self.take("(")
        bounds: list[tuple[str, Expr, Expr]] = []
        while True:
            variable = self.take()
            self.take("in")
            low = self.term()
            self.take("..")
            bounds.append((variable, low, self.term()))
            if self.peek() != ",":
                break
            self.take()
        guard: Expr = lambda env: True  # noqa: E731
        if self.peek() == "if":
            self.take()
            guard = self.condition()
        self.take(":")
        inner = self.expr()
        self.take(")")

        def run(env: Env) -> Any:
            spans = [range(low(env), high(env)) for _, low, high in bounds]
            places = (env | dict(zip((b[0] for b in bounds), p)) for p in itertools.product(*spans))
            return REDUCE[name]([inner(e) for e in places if guard(e)])

        return run

    def condition(self) -> Expr:
        left = self.conjunction()
        while self.peek() == "or":
            self.take()
            left = (lambda a, b: lambda env: a(env) or b(env))(left, self.conjunction())
        return left

    def conjunction(self) -> Expr:
        left = self.comparison()
        while self.peek() == "and":
            self.take()
            left = (lambda a, b: lambda env: a(env) and b(env))(left, self.comparison())
        return left

    def comparison(self) -> Expr:
        if self.peek() == "not":
            self.take()
            inner = self.comparison()
            return lambda env: not inner(env)
        start = self.at
        if self.peek() == "(":
            try:
                self.take()
                grouped = self.condition()
                self.take(")")
                if self.peek() not in ("=", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "^", "%"):
                    return grouped
            except AssertionError:
                pass
            self.at = start
        a = self.expr()
        op = self.take("=", "!=", "<", "<=", ">", ">=")
        b = self.expr()
        if self.peek() in ("<", "<="):
            self.at = start
            return self.chain()
        tests: dict[str, Callable[[Any, Any], bool]] = {
            "=": lambda x, y: x == y, "!=": lambda x, y: x != y, "<": lambda x, y: x < y,
            "<=": lambda x, y: x <= y, ">": lambda x, y: x > y, ">=": lambda x, y: x >= y,
        }  # fmt: skip
        return lambda env: tests[op](a(env), b(env))

    def chain(self) -> Expr:
        low, first = self.expr(), self.take("<", "<=")
        middle, second = self.expr(), self.take("<", "<=")
        high = self.expr()

        def holds(sign: str, x: Any, y: Any) -> bool:
            return bool(x <= y if sign == "<=" else x < y)

        return lambda env: holds(first, low(env), middle(env)) and holds(second, middle(env), high(env))


def evaluate(text: str, name: str, shape: tuple[int, ...], inputs: dict[str, Any]) -> Any:
    """The value of an output of a formula."""
    arrays: dict[str, Any] = dict(inputs)
    definitions = {}
    for part in text.split(";"):
        definitions.update(Parser(part, arrays).definition())
    for helper, (index, expr) in definitions.items():
        cache: dict[Any, Any] = {}

        def value(place: Any, index: list[str] = index, expr: Expr = expr, cache: dict[Any, Any] = cache) -> Any:
            if place not in cache:
                cache[place] = expr(dict(zip(index, place)))
            return cache[place]

        arrays[helper] = value
    out = np.zeros(shape)
    for place in np.ndindex(*shape):
        out[place] = arrays[name](place)
    return out
