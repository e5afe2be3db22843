"""Whether a candidate keeps to what host code needs, or could have reached the recorder that runs in its process.

The problem: a recording is made inside the candidate's process, so that a candidate which gets hold of the recorder can tell it
anything. Words are no defence (names can be put together), so this asks the other way round. Of Python only known modules may be
imported, what belongs to them is read and not assigned, nothing is looked up by a name that is made at run time, and no special
method is defined or touched but the plain ones. Of host code each symbol that the compiled objects need must be one of torch, of
the runtime, of the language's library without files and threads, or of the mathematical and memory functions of C: `write`,
`dlsym`, `syscall`, the interpreter's own interface are none of them, however they are spelled.

A candidate that does not keep to this is no liar: its proof counts as nothing, and what is wrong with it stays wrong. Not claimed:
that code which computes addresses of functions from addresses that it may have, or instructions written as bytes, are seen.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence

_MODULES = frozenset(
    (
        *(
            "torch",
            "math",
            "typing",
            "os",
            "functools",
            "itertools",
            "warnings",
            "collections",
            "dataclasses",
            "time",
            "abc",
            "enum",
        ),
        *("random", "numpy", "textwrap", "__future__", "string", "hashlib", "numbers", "operator", "triton", "tempfile", "pathlib"),
    )
)
#: Parts of modules that lead elsewhere, under whatever module they stand.
_ELSEWHERE = frozenset(
    (
        *(
            "sys",
            "builtins",
            "importlib",
            "ctypes",
            "gc",
            "inspect",
            "types",
            "subprocess",
            "threading",
            "multiprocessing",
            "pickle",
        ),
        *(
            "overrides",
            "signal",
            "mmap",
            "fdopen",
            "write",
            "open",
            "read",
            "dup",
            "dup2",
            "pipe",
            "fork",
            "kill",
            "system",
            "popen",
        ),
        *(
            "execv",
            "execve",
            "_exit",
            "abort",
            "traceback",
            "codecs",
            "marshal",
            "runpy",
            "atexit",
            "weakref",
            "_sys",
            "_os",
            "socket",
        ),
        *(
            "from_file",
            "from_blob",
            "frombuffer",
            "fromfile",
            "memmap",
            "ctypeslib",
            "lib",
            "library",
            "DLL",
            "asm",
            "attrgetter",
            "methodcaller",
        ),
    )
)
_OF_MODULES_ALLOWED = frozenset(
    ("_calculate_fan_in_and_fan_out", "_calculate_correct_fan", "_pair", "_single", "_triple", "_ntuple", "_assert", "_VF")
)
_BUILTINS = frozenset(
    (
        *("exec", "eval", "compile", "__import__", "globals", "locals", "vars", "open", "delattr", "breakpoint"),
        *("memoryview", "help", "exit", "quit", "__builtins__", "__loader__", "__spec__", "dir"),
    )
)
_SPECIAL = frozenset(("__init__", "__name__", "__class__", "__file__", "__doc__", "__call__", "__repr__", "__version__", "__all__"))
_OWN = frozenset(("self", "cls", "ctx", "mod", "module"))
#: What a model assigns in its layers.
_STATE = frozenset(("data", "weight", "bias", "requires_grad", "grad", "eps", "running_mean", "running_var", "training"))

#: What an object may need: torch and its core, the runtime, the library of C++ (its files and threads apart), and parts of C's.
_SYMBOL = re.compile(
    r"_ZT[VISTHW]\w*|_ZN?K?2at\w*|_ZNK?(?:2at|3c10|5torch|10volta_host|8pybind11|3cub|6thrust)\w*|_ZNK?S[tsaio]\w*|_ZS[tsaio]\w*|_ZGV\w*"
    r"|_Z[nd]\w+|__cxa_\w+|__gxx_personality_v0|_Unwind_Resume|__dso_handle|_GLOBAL_OFFSET_TABLE_|__cudart\w*|_?_?cuda[A-Z]\w*"
    r"|cublas\w+|volta_\w+|__stack_chk_fail|__libc_single_threaded|_Py_\w+Struct|_Py_Dealloc|Py\w+_Type|PyExc_\w+|Py_(?:Inc|Dec)Ref"
    r"|atexit|abort|malloc|calloc|realloc|free|mem(?:cpy|set|move|cmp)|str(?:len|n?cmp|n?cpy|chr)|v?f?s?n?printf|puts|putchar|fputs|fflush"
    r"|stderr|stdout|fwrite|rand|srand|time|clock|clock_gettime|__assert_fail|__\w+_chk|f?abs|labs|lround"
    r"|(?:exp2?|expm1|log2?|log10|log1p|sqrt|rsqrt|cbrt|pow|sin|cos|tan|a?(?:sin|cos|tan)h?|atan2|floor|ceil|round|trunc|fmod|fma|fmin|fmax"
    r"|ldexp|frexp|lrint|nearbyint|rint|erfc?|tgamma|lgamma|hypot|modf|fabs|copysign|remainder|nextafter|isnan|isinf)[fl]?"
)
_DENIED = re.compile(r"6thread|filebuf|fstream|10filesystem|13random_device|__future|dlsym|_ZSt\d+async")
#: What the stand-in's own headers ask of the interpreter, in functions that each object holds.
_INTERPRETER = frozenset(
    (
        *(
            "PyObject_SetAttrString",
            "PyDict_New",
            "PyDict_SetItem",
            "PyTuple_New",
            "PyTuple_SetItem",
            "PyTuple_GetItem",
            "PyTuple_Size",
        ),
        *("PyModule_Create2", "PyErr_SetString", "PyErr_Occurred", "PyErr_Clear", "PyLong_FromLongLong", "PyLong_AsLongLong"),
        *("PyFloat_FromDouble", "PyFloat_AsDouble", "PyBool_FromLong", "PyList_New", "PyList_SetItem", "PyUnicode_FromString"),
    )
)


def reaches(candidate: str, symbols: Iterable[str]) -> str | None:
    """The first thing of a candidate that host code does not need, as a phrase; None for one that keeps to what it needs."""
    return in_python(candidate) or in_symbols(symbols)


def in_symbols(symbols: Iterable[str]) -> str | None:
    """The first symbol of compiled host code that is none of those it may need."""
    for s in symbols:
        if (_SYMBOL.fullmatch(s) or s in _INTERPRETER) and not _DENIED.search(s):
            continue
        return f"the symbol {s}"
    return None


def in_python(text: str) -> str | None:
    """The first line of Python that goes beyond what is known."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return "Python that cannot be read"
    imported: set[str] = set()
    for node in ast.walk(tree):
        found = _import(node, imported)
        if found:
            return f"line {getattr(node, 'lineno', 0)}: {found}"
    called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    for node in ast.walk(tree):
        found = _special(node) or _name(node, called) or _attribute(node, imported)
        if found:
            return f"line {getattr(node, 'lineno', 0)}: {found}"
    return None


def _import(node: ast.AST, imported: set[str]) -> str | None:
    if isinstance(node, ast.Import):
        for a in node.names:
            imported.add((a.asname or a.name).split(".")[0])
            found = _path(a.name.split("."))
            if found:
                return found
    elif isinstance(node, ast.ImportFrom):
        imported |= {a.asname or a.name for a in node.names}
        if any(a.name == "*" for a in node.names):
            return f"import * from {node.module}"
        return _path((node.module or "").split(".")) or _parts([a.name for a in node.names], _OF_MODULES_ALLOWED)
    return None


def _path(parts: Sequence[str]) -> str | None:
    return f"import of {parts[0]}" if parts[0] not in _MODULES else _parts(parts[1:], frozenset())


def _parts(parts: Sequence[str], allowed: frozenset[str]) -> str | None:
    for p in parts:
        if p in _ELSEWHERE or (p.startswith("_") and p not in allowed):
            return f"import of {p}"
    return None


def _special(node: ast.AST) -> str | None:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("__") and node.name not in _SPECIAL:
        return f"a method {node.name}"
    if isinstance(node, ast.ClassDef):
        if node.keywords:
            return "a class with a metaclass"
        for base in node.bases:
            if not isinstance(base, (ast.Name, ast.Attribute)) or _last(base) in ("Tensor", "Parameter"):
                return "a class of tensors"
    return None


def _last(node: ast.Name | ast.Attribute) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id


def _name(node: ast.AST, called: set[int]) -> str | None:
    if not isinstance(node, (ast.Name, ast.Call)):
        return None
    if isinstance(node, ast.Name):
        if node.id in _BUILTINS or (node.id in ("getattr", "setattr", "type") and id(node) not in called):
            return f"the name {node.id}"
        return None
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name == "type" and len(node.args) != 1:
        return "a class made at run time"
    if name in ("getattr", "setattr"):
        key = node.args[1] if len(node.args) > 1 else None
        plain = isinstance(key, ast.Constant) and isinstance(key.value, str) and not key.value.startswith("_")
        if not plain or (isinstance(key, ast.Constant) and key.value in _ELSEWHERE):
            return f"{name} by a name that is made at run time"
        if name == "setattr" and not (isinstance(node.args[0], ast.Name) and node.args[0].id in _OWN):
            return "setattr of something else than the model"
    return None


def _root(node: ast.AST) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _chain(node: ast.AST) -> list[str]:
    out = []
    while isinstance(node, ast.Attribute):
        out.append(node.attr)
        node = node.value
    return out[::-1]


def _attribute(node: ast.AST, imported: set[str]) -> str | None:
    if not isinstance(node, ast.Attribute):
        return None
    if node.attr.startswith("__") and node.attr not in _SPECIAL:
        return f"the attribute {node.attr}"
    root = _root(node)
    hidden = node.attr.startswith("_") and node.attr not in _OF_MODULES_ALLOWED and not (root in _OWN and len(_chain(node)) == 1)
    if node.attr not in _SPECIAL and (hidden or (root in imported and node.attr in _ELSEWHERE)):
        return f"the attribute {node.attr}"
    own = root in _OWN and (len(_chain(node)) == 1 or node.attr in _STATE)
    if isinstance(node.ctx, (ast.Store, ast.Del)) and not own and _chain(node)[:1] != ["backends"]:
        return f"an assignment to {node.attr} of {root or 'something'}"
    return None
