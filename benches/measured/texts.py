#!/usr/bin/env python3
"""Hostile text in every field of every command, in every format.

    python3 benches/measured/texts.py VOLTA [--count 4000] [--seed 1]

A text is drawn of pieces that a terminal, a reader, XML or a CI service takes for something else, and put into one field:
a name of a file, a value of a flag, a key or a string of a manifest or of steps, a ledger, a line, a string or a comment
of a kernel, a formula, a request of `volta serve`. Whatever volta makes of it, on its two streams and in its files:

* no character but line ends that does not show as itself (Python's `str.isprintable`, which knows controls, directions,
  separators and noncharacters by their category, is the judge: it shares nothing with volta's table), colours apart where
  they were asked for;
* no line that a CI service obeys;
* JSON and SARIF that parse, and whose strings show themselves when SARIF's messages are read, XML 1.0 that a strict parser
  takes, a manifest of `init` that parses and names the files that there are;
* exit statuses of the contract, no panic.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import subprocess
import tempfile
import tomllib
import xml.etree.ElementTree

PIECES = [
    "\n::error file=a.py,line=1::y", "::set-output name=a::b", " ::warning::w", "##[error]e", "###[group]g", "##vso[task.complete]",
    "\n##[error]e", "\r", "\r\n", "\n", "\n\n", "\t", "\x1b[31m", "\x1b[8m", "\x1b[2J", "\x1b]0;title\x07", "\x1bc", "\x9b31m", "\x9d0;t\x9c", "\x08", "\x7f",
    "\x00", "\x01", "\x85", "\xa0", "\u061c", "\u200b", "\u200c", "\u200d", "\u200e", "\u200f", "\u2028", "\u2029", "\u202a", "\u202e", "\u2066", "\u2069",
    "\u2060", "\ufeff", "\ufffe", "\uffff", "\ufdd0", "\U0001fffe", "\U000e0001", "\U000e0041", "\u00ad", "\u180e", "\ufff9", "\U0010ffff", "]]>", "<b>&amp;",
    "\"", "'", "`", "\\", "\\u{202e}", "%0A", "%s", "{x}", "|", "#", ":", "::", "##", "name", "λ", "漢", "שלום", "é", "e\u0301", "🙂", "/*", "*/", "//", "=", ",", ";",
]  # fmt: skip

KERNEL = """.version 9.0
.target sm_80
.address_size 64
{0}
.visible .entry k(.param .u64 p, .param .u64 q)
{{
.reg .f32 %f<9>; .reg .u64 %d<9>;
ld.param.u64 %d0, [p]; ld.param.u64 %d1, [q];
{1}
ret;
}}
"""
BODY = "ld.global.f32 %f0, [%d0]; add.f32 %f0, %f0, %f0; st.global.f32 [%d1], %f0;"
GOOD = KERNEL.format("", BODY)
RACY = "st.shared.f32 [s], %f0; bar.sync 0; ld.shared.f32 %f1, [s]; st.global.f32 [%d1], %f1;"
LAUNCH = ["--threads", "4", "--arg", "0=in:f32[4]", "--arg", "1=out:f32[4]"]
FORMATS = ["human", "json", "sarif", "junit", "html", "github"]
FLAGS = [
    "--entry", "--arg", "--name", "--map", "--assume", "--only", "--alias", "--for", "--spec", "--deny", "--threads", "--block", "--grid", "--cta",
    "--cluster", "--dynamic-shared", "--wmma-layout", "--timeout", "--budget", "--memory-limit", "--jobs", "--format", "--also", "--buffer", "--ref-entry",
    "--opt-arg", "--ref-arg", "--rows", "--seed", "--save", "--certificate", "--output", "--formula", "--rounding", "--stage", "--filter", "--shard", "--allow",
    "--any", "--ledger", "--cache-dir", "--arch", "--nonsense",
]  # fmt: skip
FORMS = ["{}", "0={}", "{}=0", "0={}:f32[4]", "1=out:f32[4]=@{}", "n={}", "{}=1,2", "human={}", "json={}", "@{}", "{} in 0..4", "0 in 0..{}", "y[i] = {}",
         "y[i] = `{}`[i]", "`{}`[i] = x[i]", "q[i] = 2*p[i] # {}", "{}={}", "q[{}]", "pure {}"]  # fmt: skip
COMMANDS = ["check", "race", "run", "lift", "slack", "rows", "classes", "gate", "steps", "init", "explain", "dump", "man", "completions", "schema", "serve"]
ENTRY_KEYS = ["name", "expect", "kernel", "entry", "threads", "block", "args", "assume", "deny", "denied", "defects", "only", "names", "for", "map", "timeout", "nonsense",
              "reference", "optimized", "buffers", "alias", "formula", "spec", "reason", "because", "allow"]  # fmt: skip


def quoted(text):
    return json.dumps(text).replace("\x7f", "\\u007f") if all(c <= "\uffff" for c in text) else '"' + "".join(f"\\U{ord(c):08X}" for c in text) + '"'


class Case:
    """One call in a folder of its own."""

    def __init__(self, seed, folder):
        self.choose, self.folder = random.Random(seed), folder
        self.text = "".join(self.choose.choices(PIECES, k=self.choose.randint(1, 6)))
        self.arg = self.text.replace("\0", "")
        self.stdin, self.stem = None, "k"
        kind = self.choose.choice([self.file, self.flag, self.flag, self.manifest, self.manifest, self.kernel, self.kernel, self.steps, self.ledger, self.word, self.request, self.formula])
        self.kind = kind.__name__
        self.write("k.ptx", GOOD)
        self.args = kind()

    def write(self, name, text):
        (self.folder / name).write_text(text, newline="")
        return name

    def format(self):
        return ["--format", self.choose.choice(FORMATS)]

    def file(self):
        name = (self.arg.replace("/", "")[:60] or "x") + self.choose.choice(["", ".ptx"])
        command = self.choose.choice(["check", "race", "run", "lift", "slack", "classes", "dump", "init", "gate", "missing"])
        if command != "missing":
            self.write(name, self.choose.choice([GOOD, KERNEL.format(".shared .f32 s;", RACY), "x", KERNEL.format("", "frob;")]))
        if command == "dump":
            return ["dump", "--stage", self.choose.choice(["ast", "kernel"]), "--", name]
        if command == "init":
            self.stem = name
            return ["init", "--", name, "k.ptx"]
        if command == "gate":
            self.write("volta.toml", f'[[race]]\nname = "a"\nkernel = {quoted(name)}\nthreads = 4\n')
            return ["gate", "volta.toml", *self.format()]
        if command in ("check", "classes"):
            return [command, *LAUNCH, *self.format(), "--", "k.ptx", name]
        return [command if command != "missing" else "race", *LAUNCH, *self.format(), "--", name]

    def flag(self):
        command = self.choose.choice(COMMANDS[:9])
        files = {"check": ["k.ptx", "k.ptx"], "classes": ["k.ptx", "k.ptx"], "gate": ["volta.toml"], "steps": ["volta.toml"]}.get(command, ["k.ptx"])
        value = self.choose.choice(FORMS).replace("{}", self.arg)
        flag = self.choose.choice(FLAGS)
        given = self.choose.choice([[flag, value], [f"{flag}={value}"], [value], [f"--{value}"]])
        self.write("volta.toml", '[[race]]\nname = "a"\nkernel = "k.ptx"\nthreads = 4\n')
        more = [] if command in ("gate", "steps") else self.choose.choice([LAUNCH, ["--threads", "4"]])
        return [command, *files, *more, *given, *self.format()]

    def manifest(self):
        key, value = self.choose.choice(ENTRY_KEYS), quoted(self.text)
        value = self.choose.choice([value, f"[{value}]", f"{{ {value} = 1 }}", f"{{ \"0\" = {value} }}", f"{{ file = {value} }}", f'{{ file = "k.ptx", entry = {value} }}'])
        table = self.choose.choice(["race", "check", "classes", "rows"])
        kernels = {"race": 'kernel = "k.ptx"\n', "check": 'reference = "k.ptx"\noptimized = "k.ptx"\n', "classes": 'kernels = ["k.ptx", "k.ptx"]\n', "rows": 'kernel = "k.ptx"\nrows = "q[i] of p[i]"\n'}[table]
        own = [line for line in kernels.splitlines() if not line.startswith(key + " ")]
        lines = [f"[[{table}]]", *own, "threads = 4"] if key != "threads" else [f"[[{table}]]", *own]
        lines.append(f"{key} = {value}")
        lines += ['[[race]]', 'name = "second"', 'kernel = "k.ptx"', "threads = 4"]
        if self.choose.random() < 0.2:
            lines.insert(self.choose.choice([0, len(lines)]), self.choose.choice([f"{quoted(self.text)} = 1", f"include = [{quoted(self.text)}]", f"[{quoted(self.text)}]", self.text, f"# {self.text}", f'x = """{self.text}"""']))
        self.write("volta.toml", "\n".join(lines) + "\n")
        self.write("spec.toml", "\n".join(line for line in lines if not line.startswith("[[")) + "\n")
        if self.choose.random() < 0.2:
            return ["race", "k.ptx", "--spec", "spec.toml", *self.format()]
        return ["gate", "volta.toml", "--no-cache", *self.format()]

    def kernel(self):
        string = self.text.replace('"', "")
        head, body = self.choose.choice([
            (f"// {self.text}\n", BODY), (f"/* {self.text} */", BODY + f" // {string}\nfrob;"), (f'.file 1 "{string}"', ".loc 1 3 1\n" + BODY),
            (f'.file 1 "{string}"\n.shared .f32 s;', ".loc 1 3 1\n" + RACY), (f'.pragma "{string}";', BODY), ("", f'.pragma "{string}";\n' + BODY),
            ("", self.text + BODY), (self.text, BODY), ("", BODY + f" {self.text};"), (f".global .f32 {self.text};", BODY), ("", f"ld.global.f32 %f0, [%d0]; /*{self.text}*/ frob.{string} %f0;"),
            (".shared .f32 s;", f"/*{self.text}*/" + RACY), (".shared .f32 s;", RACY + f" /*{self.text}*/ bra L; // {self.text}"), (f'.section .debug_str {{ .b8 1 }} .file 2 "{string}"', BODY),
            ("", f"ld.global.f32 %f0, [%d0+4000]; /*{self.text}*/ st.global.f32 [%d1], %f0;"), (".shared .f32 s;", RACY.replace("bar.sync", f"/*{self.text}*/ bar.sync")),
        ])  # fmt: skip
        self.write("h.ptx", KERNEL.format(head, body))
        command = self.choose.choice(["race", "check", "slack", "dump", "lift", "run", "init"])
        if command == "dump":
            return ["dump", "--stage", self.choose.choice(["ast", "kernel"]), "h.ptx"]
        if command == "init":
            return ["init", "h.ptx"]
        return [command, "h.ptx", *(["k.ptx"] if command == "check" else []), *LAUNCH, *self.format()]

    def formula(self):
        text = self.choose.choice([f for f in FORMS if "[" in f]).replace("{}", self.text)
        self.write("f.txt", text)
        given = self.choose.choice(["@f.txt", text.replace("\0", "")])
        return ["check", "--formula", given, "k.ptx", *LAUNCH, *self.format()]

    def steps(self):
        value = quoted(self.text)
        wrong = self.write("w.ptx", GOOD.replace("add.f32", "mul.f32"))
        step = self.choose.choice([f'name = {value}\nfile = "{wrong}"', f'name = {value}\nfile = "k.ptx"', f'name = "a"\nfile = {value}', f'name = "a"\nfile = "k.ptx"\nentry = {value}', f'name = "a"\n{value} = 1'])
        self.write("steps.toml", f'threads = 4\nargs = {{ "0" = "in:f32[4]", "1" = "out:f32[4]" }}\n[naive]\nfile = "k.ptx"\n[[step]]\n{step}\n[[step]]\nname = "last"\nfile = "{wrong}"\n')
        return ["steps", "steps.toml", *self.format()]

    def ledger(self):
        self.write("volta.toml", f'[[race]]\nname = {quoted(self.text)}\nkernel = "k.ptx"\nthreads = 4\n')
        line = self.choose.choice([self.text, f"reset a {self.text}", f"a clean work 7 {self.text}", f"# {self.text}", f'reset "a" because {self.text}'])
        self.write("l.ledger", line + "\n")
        bless = self.choose.choice([[], ["--bless"]])
        name = self.choose.choice(["l.ledger", "l.ledger", self.arg.replace("/", "") or "x"])
        return ["gate", "volta.toml", "--no-cache", f"--ledger={name}", *bless, *self.format()]

    def word(self):
        return self.choose.choice([["explain", self.arg], ["man", self.arg], ["completions", self.arg], [self.arg], ["help", self.arg], ["dump", "--stage", self.arg, "k.ptx"], ["schema", self.arg], ["gate", self.arg], ["steps", self.arg], ["init", self.arg]])

    def request(self):
        kernel = self.choose.choice([{"text": GOOD, "name": self.text}, {"text": self.text, "name": "a"}, {"path": self.text}, {self.text: 1}, {"text": KERNEL.format(f"// {self.text}", "frob; // " + self.text), "name": self.text}])
        launch = self.choose.choice([{"threads": 4}, {"threads": 4, "args": {"0": self.text}}, {"threads": 4, "args": {self.text: "in:f32[4]"}}, {self.text: 1}, {"threads": 4, "assume": [self.text]}])
        requests = [
            {"id": self.text, "op": "race", "kernel": kernel, "launch": launch, "formats": FORMATS[:-1]},
            {"id": 2, "op": "check", "reference": kernel, "optimized": {"text": GOOD, "name": "b"}, "launch": launch, "formats": ["human", "junit", self.choose.choice(["html", self.text])]},
            {"id": 3, "op": self.text}, {"id": 4, "op": "explain", "kind": self.text}, {"id": 5, "op": "release", "handle": self.text}, {"id": 6, "op": "cancel", "target": self.text}, {self.text: self.text},
        ]  # fmt: skip
        self.stdin = "\n".join(json.dumps(r, ensure_ascii=self.choose.random() < 0.5) for r in requests) + "\n" + self.text + "\n"
        return ["serve", "--jobs", "1"]


# A command that volta gives: it begins its line, and its properties hold neither of the characters that end one.
ANNOTATION = re.compile(r"^::(?:error|warning|notice) (?:(?:file|line|col|endColumn|title)=[^,:\n]*,?)+::", re.M)
STYLE = re.compile(r"\x1b\[(?:[0-4]|3[1-7]|39|9[1-7])?m")


def faults(name, text, coloured, printed=True):
    """What is wrong with an output as text. A ledger is data: its columns are parted by tabs, and begin with names."""
    plain = STYLE.sub("", text) if coloured else text
    for c in plain if printed else plain.replace("\t", " "):
        if c != "\n" and c != " " and not c.isprintable() and not c.isspace() or c in "\r\t\x0b\x0c\x1c\x1d\x1e\x1f\x85\u2028\u2029":
            yield f"{name}: {c!r} is raw"
            break
    for line in plain.split("\n") if printed else []:
        is_place = line.startswith(" ") and line.lstrip().startswith("::: ")
        if line.lstrip().startswith("::") and not is_place or "##[" in line or "##vso[" in line:
            yield f"{name}: a command: {line[:100]!r}"
            break


def parsed(name, form, text):
    """What is wrong with an output in its format."""
    try:
        if form in ("json", "sarif"):
            found = json.loads(text)
            if form == "sarif":
                for result in found["runs"][0]["results"]:
                    yield from faults(f"{name}, a message", result["message"]["text"], False)
        elif form == "junit":
            xml.etree.ElementTree.fromstring(text)
    except Exception as e:
        yield f"{name}: no {form}: {e}"


def judge(job):
    volta, seed = job
    found = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        case = Case(seed, folder)
        before = {p.name for p in folder.iterdir()}
        coloured = case.choose.random() < 0.3
        env = os.environ | {"XDG_CACHE_HOME": str(folder / "cache"), "XDG_CONFIG_HOME": str(folder / "config"), "NO_COLOR": "1"}
        if coloured:
            del env["NO_COLOR"]
            env["CLICOLOR_FORCE"] = "1"
        try:
            ended = subprocess.run([volta, *case.args], cwd=folder, capture_output=True, env=env, input=(case.stdin or "").encode(errors="replace"), timeout=120)
        except (subprocess.TimeoutExpired, ValueError, OSError) as e:
            return case.kind, [f"{seed}: {e}"]
        form = case.args[-1] if len(case.args) > 1 and case.args[-2] == "--format" else "human"
        if "--format" in case.args and "--" in case.args:
            form = case.args[case.args.index("--format") + 1]
        streams = {"stdout": ended.stdout, "stderr": ended.stderr}
        texts = {}
        for name, raw in streams.items():
            try:
                texts[name] = raw.decode()
            except UnicodeDecodeError:
                found.append(f"{name} is no text")
        own = case.args[0] in ("completions", "man", "schema")
        for name, text in texts.items():
            if form == "github" and name == "stdout":
                text = ANNOTATION.sub("x ", text)
            if not (own and name == "stdout"):
                found += faults(name, text.replace("\t", " ") if case.args[0] == "dump" else text, coloured)
        if ended.returncode not in (0, 1, 2, 3):
            found.append(f"exit status {ended.returncode}: {texts.get('stderr', '')[-300:]}")
        if any("panicked" in t or "internal error" in t for t in texts.values()):
            found.append("a panic")
        out = texts.get("stdout", "")
        if out and case.args[0] not in ("dump", "init", "serve") and form != "human":
            found += parsed("stdout", form, out)
        if case.kind == "request":
            for line in out.splitlines():
                found += parsed("a line", "json", line)
                answer = json.loads(line) if line.startswith("{") else {}
                for f, text in answer.get("texts", {}).items():
                    found += faults(f, text, False)
                    found += parsed(f, f, text)
        if case.args[0] == "init" and ended.returncode == 0:
            try:
                files = [r["kernel"]["file"] for r in tomllib.loads(out)["race"]]
                if case.stem != "k" and case.stem not in files:
                    found.append(f"init names {files}")
            except Exception as e:
                found.append(f"no manifest: {e}")
        for new in folder.iterdir():
            if new.is_file() and new.name not in before and new.stat().st_size:
                text = new.read_text(errors="replace")
                text = ANNOTATION.sub("x ", text) if form == "github" else text
                found += faults(f"the file {new.name!r}", text, False, "--bless" not in case.args)
    return case.kind, [f"{seed}: {f} ({case.args!r})"[:700] for f in found]


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("volta", type=lambda p: str(pathlib.Path(p).resolve()))
    args.add_argument("--count", type=int, default=4000)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--jobs", type=int, default=2)
    args = args.parse_args()
    kinds, wrong = collections.Counter(), []
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for kind, found in pool.map(judge, ((args.volta, args.seed * 1_000_000 + i) for i in range(args.count))):
            kinds[kind] += 1
            wrong += found
    print(", ".join(f"{n} {k}" for k, n in sorted(kinds.items())))
    print(*wrong[:40], sep="\n", end="\n" if wrong else "")
    print(f"{args.count} texts of seed {args.seed}: {len(wrong)} faults")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
