"""An evaluator of formulas on numbers: tests compare what was traced with what NumPy and torch compute.

It has the grammar of the program and nothing of the tracer: its own parser, which refuses what the program refuses (depth,
length, unknown words), and the program's two readings of a text. What is made of indices, integers and elements of arrays of
integers is an integer; in subscripts, ranges, comparisons of such and around `%` it is computed among integers, where `/`
rounds down, and elsewhere as a real number, exactly as long as there are integers and quotients of them alone.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

TOKEN = re.compile(r"\s*(\d+(?:\.(?!\.)\d*)?(?:[eE][+-]?\d+)?|\.\.|[A-Za-z_]\w*|`[^`\n]+`|[<>!=]=|[-+*/%^()\[\],:;=<>])")
KEYWORDS = frozenset(("where", "if", "then", "else", "in", "inf", "pi", "not", "and", "or"))
FOLDS = frozenset(("sum", "max", "min", "prod", "mean"))
SIGNS = frozenset(("=", "==", "!=", "<", "<=", ">", ">="))
#: As the program has them.
MOST_DEPTH, MOST_BYTES, MOST_EQUATIONS, MOST_VARIABLES = 64, 1 << 20, 256, 16

Tree = tuple[Any, ...]
Env = dict[str, int]
Run = Callable[[Env], Any]


def _exp(x: float) -> float:
    return math.inf if x > 709.7 else math.exp(x)


def _log(x: float) -> float:
    return math.nan if not x >= 0 else -math.inf if x == 0 else math.log(x)


def _sqrt(x: float) -> float:
    return math.sqrt(x) if x >= 0 else math.nan


def _over(x: Any, y: Any) -> Any:
    if y != 0 and not isinstance(x, float) and not isinstance(y, float):
        return Fraction(x) / y
    return x / y if y != 0 else math.nan if x == 0 or x != x else math.copysign(math.inf, x) * math.copysign(1.0, y)


def _rounded(of: Callable[[Any], int]) -> Callable[[float], float]:
    return lambda x: of(x) if math.isfinite(x) else x


def _circular(of: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: of(x) if math.isfinite(x) else math.nan


def _most(*values: float) -> float:
    return math.nan if any(v != v for v in values) else max(values)


def _least(*values: float) -> float:
    return math.nan if any(v != v for v in values) else min(values)


CALLS: dict[str, Callable[..., float]] = {
    "exp": _exp, "log": _log, "sqrt": _sqrt, "tanh": math.tanh, "sin": _circular(math.sin), "cos": _circular(math.cos),
    "abs": abs, "floor": _rounded(math.floor), "ceil": _rounded(math.ceil), "trunc": _rounded(math.trunc),
    "rint": _rounded(round), "max": _most, "min": _least, "rsqrt": lambda x: _over(1.0, _sqrt(x)), "erf": math.erf,
    "relu": lambda x: _most(x, 0.0), "sigmoid": lambda x: 1 / (1 + _exp(-x)),
}  # fmt: skip
COMPARES: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda x, y: x == y, "==": lambda x, y: x == y, "!=": lambda x, y: x != y, "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y, ">": lambda x, y: x > y, ">=": lambda x, y: x >= y,
}  # fmt: skip


class Parser:
    """Texts to trees, by the grammar of the contract."""

    def __init__(self, text: str) -> None:
        assert len(text.encode()) <= MOST_BYTES, "a formula is too long"
        self.tokens = TOKEN.findall(text)
        assert "".join(self.tokens) == re.sub(r"\s", "", text), "a formula has a strange sign"
        self.at = self.depth = 0

    def peek(self, ahead: int = 0) -> str:
        return str(self.tokens[self.at + ahead]) if self.at + ahead < len(self.tokens) else ""

    def take(self, *expected: str) -> str:
        token = self.peek()
        assert token, "a formula ends early"
        assert not expected or token in expected, (token, expected, self.tokens[max(self.at - 20, 0) : self.at + 20])
        self.at += 1
        return token

    def eat(self, token: str) -> bool:
        found = self.peek() == token
        self.at += found
        return found

    def definitions(self) -> list[dict[str, tuple[list[str], Tree]]]:
        """A list of definitions, each with its helpers; the first name is what it defines."""
        out = []
        while self.peek():
            own = dict([self.equation()])
            while self.eat("where"):
                name, what = self.equation()
                assert name not in own, f"{name} is defined twice"
                own[name] = what
            out.append(own)
            assert self.eat(";") or not self.peek(), self.peek()
        assert sum(map(len, out)) <= MOST_EQUATIONS, "a formula has too many equations"
        return out

    def equation(self) -> tuple[str, tuple[list[str], Tree]]:
        name, index = self.name(), []
        self.take("[")
        while self.peek() != "]":
            index.append(self.name())
            if not self.eat(","):
                break
        self.take("]")
        self.take("=")
        assert len(set(index)) == len(index) <= MOST_VARIABLES
        return name, (index, self.number(self.any()))

    def name(self) -> str:
        token = self.take()
        assert token[0] == "`" or ((token[0].isalpha() or token[0] == "_") and token not in KEYWORDS), token
        return token.strip("`")

    @staticmethod
    def condition_of(tree: Tree) -> bool:
        return tree[0] in ("or", "and", "not", "compare", "isnan")

    def number(self, tree: Tree) -> Tree:
        assert not self.condition_of(tree), "a condition stands where a number belongs"
        return tree

    def condition(self) -> Tree:
        tree = self.any()
        assert self.condition_of(tree), "a number stands where a condition belongs"
        return tree

    def any(self) -> Tree:
        return self.joined("or", lambda: self.joined("and", self.negation))

    def joined(self, word: str, operand: Callable[[], Tree]) -> Tree:
        parts = [operand()]
        while self.eat(word):
            parts.append(operand())
        assert len(parts) == 1 or all(map(self.condition_of, parts))
        return parts[0] if len(parts) == 1 else (word, *parts)

    def negation(self) -> Tree:
        if not self.eat("not"):
            return self.comparison()
        self.enter()
        inner = self.negation()
        self.depth -= 1
        assert self.condition_of(inner)
        return ("not", inner)

    def comparison(self) -> Tree:
        parts, signs = [self.sum()], []
        while self.peek() in SIGNS:
            signs.append(self.take())
            parts.append(self.sum())
        return ("compare", signs, *map(self.number, parts)) if signs else parts[0]

    def sum(self) -> Tree:
        return self.chain("sum", ("+", "-"), self.product)

    def product(self) -> Tree:
        return self.chain("product", ("*", "/", "%"), self.unary)

    def chain(self, kind: str, signs: tuple[str, ...], operand: Callable[[], Tree]) -> Tree:
        first = operand()
        parts: list[tuple[str, Tree]] = [(signs[0], first)]
        while self.peek() in signs:
            sign = self.take()
            parts.append((sign, self.number(operand())))
        return first if len(parts) == 1 else (kind, parts, self.number(first))

    def enter(self) -> None:
        self.depth += 1
        assert self.depth <= MOST_DEPTH, "a formula nests too deep"

    def unary(self) -> Tree:
        self.enter()
        out: Tree = ("minus", self.number(self.unary())) if self.eat("-") else self.power()
        self.depth -= 1
        return out

    def power(self) -> Tree:
        base = self.atom()
        while self.eat("^"):
            sign = -1 if self.eat("-") else 1
            base = ("power", self.number(base), sign * int(self.take()))
            assert abs(base[2]) <= 256
        return base

    def value(self) -> Tree:
        return self.number(self.sum())

    def list(self, end: str) -> list[Tree]:
        out: list[Tree] = []
        while self.peek() != end:
            out.append(self.value())
            if not self.eat(","):
                break
        self.take(end)
        return out

    def atom(self) -> Tree:
        token = self.peek()
        if self.eat("("):
            inner = self.any()
            self.take(")")
            return inner
        if token and token[0].isdigit():
            self.take()
            return ("integer", int(token)) if token.isdigit() else ("real", float(token))
        if token in ("inf", "pi"):
            return ("real", math.inf if self.take() == "inf" else math.pi)
        if self.eat("if"):
            condition = self.condition()
            self.take("then")
            yes = self.value()
            self.take("else")
            return ("if", condition, yes, self.value())
        if self.peek(1) == "(" and token[0] != "`":
            return self.application(self.take())
        name = self.name()
        return ("read", name, self.list("]")) if self.eat("[") else ("name", name)

    def application(self, word: str) -> Tree:
        self.take("(")
        if word in FOLDS and (word not in CALLS or self.is_reduction()):
            return self.reduction(word)
        args = self.list(")")
        if word == "isnan":
            return ("isnan", *args)
        assert word in CALLS, f"no function {word}"
        assert len(args) == 1 or (args and word in ("max", "min"))
        return ("call", word, args)

    def is_reduction(self) -> bool:
        open_, at = 1, self.at
        while at < len(self.tokens) and open_:
            open_ += (self.tokens[at] in "([") - (self.tokens[at] in ")]")
            if open_ == 1 and self.tokens[at] == ":":
                return True
            at += 1
        return False

    def reduction(self, word: str) -> Tree:
        bounds = []
        while True:
            variable = self.name()
            self.take("in")
            low = self.value()
            self.take("..")
            bounds.append((variable, low, self.value()))
            if not self.eat(","):
                break
        guard = self.condition() if self.eat("if") else None
        self.take(":")
        body = self.value()
        self.take(")")
        return ("fold", word, bounds, guard, body)


class Evaluator:
    """What trees are on numbers: `real` and `integer` are the two readings, as functions of the indices."""

    def __init__(self, arrays: dict[str, Any]) -> None:
        #: Arrays of numbers, and helpers as functions of a place.
        self.arrays = arrays

    def is_integer(self, e: Tree) -> bool:
        match e:
            case ("integer", _) | ("name", _):
                return True
            case ("read", name, _):
                return not callable(self.arrays[name]) and self.arrays[name].dtype.kind in "iu"
            case ("minus", a):
                return self.is_integer(a)
            case ("power", a, n):
                return n >= 0 and self.is_integer(a)
            case ("sum" | "product", parts, _):
                return all(self.is_integer(p) for _, p in parts)
            case ("call", "abs" | "max" | "min", args):
                return all(map(self.is_integer, args))
            case ("if", _, yes, no):
                return self.is_integer(yes) and self.is_integer(no)
            case ("fold", word, _, _, body):
                return word != "mean" and self.is_integer(body)
        return False

    def value(self, e: Tree, whole: bool) -> Run:
        assert not whole or self.is_integer(e), f"a {e[0]} is no integer"
        match e:
            case ("integer" | "real", v):
                return lambda env: v
            case ("name", name):
                return lambda env: env[name]
            case ("read", name, index):
                return self.read(name, [self.value(i, True) for i in index])
            case ("minus", a):
                inner = self.value(a, whole)
                return lambda env: -inner(env)
            case ("power", a, n):
                base = self.value(a, whole)
                return lambda env: base(env) ** n if n >= 0 else _over(1.0, base(env) ** -n)
            case ("sum", parts, _):
                terms = [(s, self.value(p, whole)) for s, p in parts]
                return lambda env: sum(t(env) if s == "+" else -t(env) for s, t in terms)
            case ("product", parts, _):
                return self.product(parts, whole or any(s == "%" for s, _ in parts))
            case ("call", word, args):
                given = [self.value(a, whole) for a in args]
                return lambda env: CALLS[word](*(a(env) for a in given))
            case ("if", condition, yes, no):
                c, a, b = self.truth(condition), self.value(yes, whole), self.value(no, whole)
                return lambda env: a(env) if c(env) else b(env)
            case ("fold", word, bounds, guard, body):
                return self.fold(word, bounds, guard, body, whole)
        raise AssertionError(e)

    def read(self, name: str, index: list[Run]) -> Run:
        array = self.arrays[name]

        def run(env: Env) -> Any:
            place = tuple(i(env) for i in index)
            if callable(array):
                return array(place)
            assert len(place) == array.ndim, (name, place)
            assert all(0 <= p < n for p, n in zip(place, array.shape)), (name, place)
            return array[place].item()

        return run

    def product(self, parts: list[tuple[str, Tree]], whole: bool) -> Run:
        factors = [(s, self.value(p, whole)) for s, p in parts]

        def run(env: Env) -> Any:
            out: Any = 1
            for sign, f in factors:
                v = f(env)
                if sign == "*":
                    out = out * v
                elif sign == "%":
                    out = out % v
                else:
                    out = out // v if whole else _over(out, v)
            return out

        return run

    def fold(self, word: str, bounds: list[tuple[str, Tree, Tree]], guard: Tree | None, body: Tree, whole: bool) -> Run:
        spans = [(v, self.value(low, True), self.value(high, True)) for v, low, high in bounds]
        within = self.truth(guard) if guard else lambda env: True
        inner = self.value(body, whole)

        def run(env: Env) -> Any:
            ranges = [range(low(env), high(env)) for _, low, high in spans]
            places = (env | dict(zip((v for v, _, _ in spans), p)) for p in itertools.product(*ranges))
            values = [inner(e) for e in places if within(e)]
            if word in ("sum", "prod"):
                return sum(values) if word == "sum" else math.prod(values)
            if word == "mean":
                return sum(values) / len(values)
            return CALLS[word](*values) if values else -math.inf if word == "max" else math.inf

        return run

    def truth(self, e: Tree) -> Callable[[Env], bool]:
        match e:
            case ("not", a):
                inner = self.truth(a)
                return lambda env: not inner(env)
            case ("and" | "or" as word, *parts):
                conditions = [self.truth(p) for p in parts]
                join = all if word == "and" else any
                return lambda env: join(c(env) for c in conditions)
            case ("isnan", a):
                number = self.value(a, False)
                return lambda env: bool(number(env) != number(env))
            case ("compare", signs, *parts):
                whole = all(map(self.is_integer, parts))
                sides = [self.value(p, whole) for p in parts]

                def run(env: Env) -> bool:
                    values = [s(env) for s in sides]
                    return all(COMPARES[s](a, b) for s, a, b in zip(signs, values, values[1:]))

                return run
        raise AssertionError(e)


def evaluate(text: str, name: str, shape: tuple[int, ...], inputs: dict[str, Any]) -> Any:
    """The value of an output of a formula. Inputs of integers are told by their types."""
    (definitions,) = [d for d in Parser(text).definitions() if next(iter(d)) == name]
    arrays: dict[str, Any] = {n: np.asarray(v) for n, v in inputs.items()}
    evaluator = Evaluator(arrays)
    for helper, (index, tree) in definitions.items():
        cache: dict[Any, Any] = {}
        runs: list[Run] = []

        def value(place: Any, index: Any = index, tree: Any = tree, cache: Any = cache, runs: Any = runs) -> Any:
            if place not in cache:
                runs or runs.append(evaluator.value(tree, False))
                cache[place] = runs[0](dict(zip(index, place)))
            return cache[place]

        assert helper == name or helper not in arrays, f"{helper} is an array"
        if helper != name:
            arrays[helper] = value
    index, tree = definitions[name]
    run = evaluator.value(tree, False)
    out = np.zeros(shape)
    for place in np.ndindex(*shape):
        out[place] = run(dict(zip(index, place)))
    return out
