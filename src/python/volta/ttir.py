"""Which arrays a Triton kernel reads and writes, from Triton's own intermediate text.

Each access names its pointer first; the text is in SSA form, so that the arguments a pointer is made of are found by going
back from definition to definition, through the values that loops and branches carry.
"""

from __future__ import annotations

import re

NAME = re.compile(r"%[\w$.\-]+(?:#\d+)?")
_ARGUMENTS = re.compile(r"tt\.func public @[^(]*\((.*?)\)\s*(?:attributes|->|\{)", re.S)
LINE = re.compile(r"^\s*(?:(?P<results>%[\w$.\-]+)(?::(?P<count>\d+))? = )?\"?(?P<op>[\w.]+)\"?(?P<rest>.*)$")

#: Operations that access memory, by what they do there.
_ACCESSES = {
    "tt.load": "in",
    "tt.descriptor_load": "in",
    "tt.descriptor_gather": "in",
    "tt.experimental_descriptor_load": "in",
    "tt.store": "out",
    "tt.descriptor_store": "out",
    "tt.descriptor_scatter": "out",
    "tt.experimental_descriptor_store": "out",
    "tt.atomic_rmw": "inout",
    "tt.atomic_cas": "inout",
    "tt.descriptor_reduce": "inout",
}

#: Operations whose first operand alone is the pointer.
_FIRST = frozenset(("tt.addptr", "tt.make_tensor_ptr", "tt.make_tensor_descriptor", "tt.advance"))


def uses_of(text: str) -> dict[int, str]:
    """Of each argument, by position, that is accessed: `in`, `out` or `inout`."""
    found = _ARGUMENTS.search(text)
    if found is None:
        return {}
    arguments = NAME.findall(re.sub(r"loc\([^)]*\)", "", found[1]))
    sources = _sources(text)
    uses: dict[str, set[str]] = {}
    for line in text.splitlines():
        parts = LINE.match(line)
        if parts is None or parts["op"] not in _ACCESSES:
            continue
        pointer = NAME.search(parts["rest"])
        if pointer is None:
            continue
        for root in _roots(pointer[0], sources):
            uses.setdefault(root, set()).add(_ACCESSES[parts["op"]])
    word = {frozenset(("in",)): "in", frozenset(("out",)): "out"}
    return {i: word.get(frozenset(uses[name]), "inout") for i, name in enumerate(arguments) if name in uses}


def _roots(name: str, sources: dict[str, list[str]]) -> set[str]:
    seen, open_names = {name}, [name]
    while open_names:
        for source in sources.get(open_names.pop(), []):
            if source not in seen:
                seen.add(source)
                open_names.append(source)
    return seen


def _sources(text: str) -> dict[str, list[str]]:
    """What each value is made of, where it may be a pointer."""
    out: dict[str, list[str]] = {}
    # Of each region that is open: the results of its operation, and the names that it carries.
    regions: list[tuple[list[str], list[str]]] = []
    for line in text.splitlines():
        parts = LINE.match(line)
        if parts is None:
            closing = line.strip()
            if closing.startswith("}") and regions and "else" not in closing:
                regions.pop()
            continue
        op, rest = parts["op"], parts["rest"]
        count = int(parts["count"] or 1)
        name = parts["results"]
        results = [] if name is None else [name] if parts["count"] is None else [f"{name}#{i}" for i in range(count)]
        carried: list[str] = []
        if op == "scf.for":
            pairs = re.search(r"iter_args\((.*?)\)\s*->", rest)
            for pair in pairs[1].split(",") if pairs else []:
                target, _, source = (p.strip() for p in pair.partition("="))
                out.setdefault(target, []).append(source)
                carried.append(target)
        elif op in ("scf.yield", "scf.condition"):
            given = NAME.findall(rest.partition(":")[0])[1 if op == "scf.condition" else 0 :]
            for targets in regions[-1] if regions else ():
                for target, source in zip(targets, given):
                    out.setdefault(target, []).append(source)
        elif op in _FIRST:
            out.setdefault(results[0], []).extend(NAME.findall(rest)[:1])
        elif results and op not in _ACCESSES:
            for result in results:
                out.setdefault(result, []).extend(NAME.findall(rest))
        for result, target in zip(results, carried):
            out.setdefault(result, []).append(target)
        if line.rstrip().partition(" loc(")[0].endswith("{") and op != "tt.func":
            regions.append((results, carried))
    return out
