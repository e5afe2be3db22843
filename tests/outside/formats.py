#!/usr/bin/env python3
"""Validates reports by what others wrote about their formats.

    python3 -m venv target/outside && target/outside/bin/pip install -r tests/outside/requirements.txt
    target/outside/bin/python tests/outside/formats.py target/debug/volta

| format | by |
|---|---|
| JSON  | the schema that `volta schema` prints, with the package jsonschema |
| SARIF | the JSON Schema of OASIS for SARIF 2.1.0, formats of strings included, which is a file of the crate serde-sarif |
| JUnit | junit-10.xsd of the Jenkins xUnit plugin, which is a file of the source package of pytest |
| HTML  | html5lib, which stops at the first error of syntax |
| GitHub | the parser of commands below, which is that of GitHub's runner (`ActionCommand.TryParseV2`) and its limits |
| summary | markdown-it-py with tables and links that nothing marks: a table of text, without links and HTML |

The reports are those of every golden test, of manifests whose entries pass, fail and cannot be run, and of files whose names
need escapes. A validator that accepts everything would show nothing, so damaged reports must be refused.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile

import html5lib
import jsonschema
import markdown_it
import xmlschema

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PYTEST = "8.4.2"


def sarif_schema():
    manifest = ["--manifest-path", str(ROOT / "tests" / "outside" / "Cargo.toml")]
    found = subprocess.run(["cargo", "metadata", "--format-version", "1", *manifest], check=True, capture_output=True)
    for package in json.loads(found.stdout)["packages"]:
        if package["name"] == "serde-sarif":
            path = pathlib.Path(package["manifest_path"]).parent / "src" / "schema.json"
            return json.loads(path.read_text())
    sys.exit("the crate serde-sarif was not fetched")


def junit_schema(scratch):
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "pytest"]
    subprocess.run([*pip, "--dest", str(scratch), f"pytest=={PYTEST}"], check=True)
    with tarfile.open(scratch / f"pytest-{PYTEST}.tar.gz") as archive:
        return archive.extractfile(f"pytest-{PYTEST}/testing/example_scripts/junit-10.xsd").read().decode()


def golden():
    """The calls of all golden tests: a folder and arguments."""
    for file in sorted((ROOT / "tests" / "golden").rglob("*.ptx")):
        if "parse" in file.relative_to(ROOT / "tests" / "golden").parts:
            continue
        for line in file.read_text().splitlines():
            call = re.match(r"// volta: (.*)", line)
            if call and re.match(r"(check|race|gate) ", call[1]):
                yield file.parent, shlex.split(call[1])


def manifests(scratch):
    """Manifests of all kinds, with names that need escapes in XML and in addresses."""
    kernels = ROOT / "kernels"
    for family in ("special", "unoptimized"):
        yield kernels / family, ["gate", "volta.toml", "--no-cache"]
    odd = scratch / "a & <b> 100% \N{GREEK SMALL LETTER LAMDA}"
    odd.mkdir()
    for file in ("softmax/naive_4.ptx", "softmax/online_4.ptx", "softmax/online_4_no_rescale.ptx", "reduction/step5.ptx"):
        shutil.copy(kernels / file, odd)
    shutil.copy(kernels / "reduction/step5.ptx", odd / "step [5].ptx")
    pair = 'reference = "naive_4.ptx"\noptimized = '
    (odd / "volta.toml").write_text(
        "[defaults]\nthreads = 4\n"
        f'[[check]]\nname = "right"\n{pair}"online_4.ptx"\n'
        f'[[check]]\nname = "wrong & <expected>"\n{pair}"online_4_no_rescale.ptx"\n'
        f'[[check]]\nname = "wrong, as it should be"\n{pair}"online_4_no_rescale.ptx"\nexpect = "not-equivalent"\n'
        '[[race]]\nname = "races"\nkernel = "step [5].ptx"\nthreads = 64\n'
        '[[race]]\nname = "as expected"\nkernel = "step5.ptx"\nthreads = 64\nexpect = "defective"\n'
        f'[[check]]\nname = "limit"\n{pair}"online_4.ptx"\ntimeout = 0\n'
        f'[[check]]\nname = "no entry"\nreference = "naive_4.ptx"\noptimized = {{ file = "online_4.ptx", entry = "none" }}\n'
    )
    yield odd, ["gate", "volta.toml", "--no-cache"]
    yield odd, ["race", "step [5].ptx", "--threads", "64"]


def schemas(volta, scratch):
    """The schemas of JSON, SARIF and JUnit, each as it is published."""
    own = json.loads(subprocess.run([volta, "schema"], check=True, capture_output=True).stdout)
    return own, sarif_schema(), junit_schema(scratch)


PROPERTIES = {"file", "line", "col", "endColumn", "title"}


def annotations(text):
    """Raises where a line of an output is a command that GitHub would take otherwise, or not show."""
    seen = {"error": 0, "warning": 0, "notice": 0}
    for line in text.splitlines():
        assert "##[" not in line, f"a command in {line}"
        if not line.lstrip().startswith("::"):
            continue
        head, found, message = line.removeprefix("::").partition("::")
        word, _, given = head.partition(" ")
        properties = dict(p.split("=", 1) for p in given.split(","))
        seen[word] += 1
        assert found and message and set(properties) <= PROPERTIES and "title" in properties, line
        assert all(re.fullmatch("(?:[^%:,]|%(?:25|3A|2C|0A|0D))+", value) for value in properties.values()), line
        assert re.fullmatch("(?:[^%]|%(?:25|0A|0D))+", message), line
        assert all(properties.get(key, "1").isdigit() for key in ("line", "col", "endColumn")), line
    assert seen["error"] <= 10 and seen["warning"] <= 10 and seen["notice"] <= 1, seen


def summary(text):
    """Raises where a summary is more than a heading, paragraphs and a table of text."""
    assert len(text.encode()) < 1 << 20
    parser = markdown_it.MarkdownIt("gfm-like", {"linkify": True})
    wanted = {"heading", "paragraph", "inline", "table", "thead", "tbody", "tr", "th", "td"}
    for token in parser.parse(text):
        assert re.sub("_(open|close)$", "", token.type) in wanted, token
        inside = {t.type for t in token.children or []}
        assert inside <= {"text", "text_special", "strong_open", "strong_close"}, (inside, token.content)
    columns = [line.replace("\\|", "").count("|") for line in text.splitlines() if line.startswith("|")]
    assert set(columns) <= {7}, text


class Validators:
    def __init__(self, schema, sarif, junit):
        self.json = jsonschema.validators.validator_for(schema)(schema)
        self.json.check_schema(schema)
        kind = jsonschema.validators.validator_for(sarif)
        self.sarif = kind(sarif, format_checker=kind.FORMAT_CHECKER)
        self.junit = xmlschema.XMLSchema(junit)

    def __call__(self, form, text):
        """Raises what is wrong."""
        if form == "html":
            html5lib.HTMLParser(strict=True).parse(text)
        elif form == "junit":
            self.junit.validate(text)
        elif form == "github":
            annotations(text)
        elif form == "summary":
            summary(text)
        else:
            getattr(self, form).validate(json.loads(text))

    def refuse(self, form, text):
        """Whether a damaged report is told from a right one."""
        try:
            self(form, text)
        except Exception:
            return
        sys.exit(f"{form}: a damaged report is accepted")


validate = None


def start(*published):
    """What each process needs once."""
    global validate
    validate = Validators(*published)


def judge(volta, folder, args):
    """The kinds of reports of one call, which writes all formats at once, and what is wrong with them."""
    seen, wrong = [], []
    with tempfile.TemporaryDirectory() as reports:
        files = {form: pathlib.Path(reports) / form for form in ("json", "sarif", "junit", "html")}
        also = [word for form, file in files.items() for word in ("--also", f"{form}={file}")]
        page = pathlib.Path(reports) / "summary"
        page.touch()
        env = os.environ | {"GITHUB_STEP_SUMMARY": str(page)}
        ended = subprocess.run([volta, *args, "--format", "github", *also], cwd=folder, env=env, capture_output=True)
        texts = {"github": ended.stdout.decode(), "summary": page.read_text()}
        texts |= {form: file.read_text() for form, file in files.items() if file.exists()}
        for form in ("github", "summary", *files):
            # A call that cannot be understood has an object only.
            if form not in texts and ended.returncode == 2:
                continue
            seen.append((form, ended.returncode))
            try:
                validate(form, texts[form])
            except Exception as e:
                wrong.append(f"{shlex.join(args)}, {form}: {str(e)[:600]}")
    return seen, wrong


def main():
    volta = str(pathlib.Path(sys.argv[1]).resolve())
    count, wrong = {}, []
    with tempfile.TemporaryDirectory() as scratch:
        published = schemas(volta, pathlib.Path(scratch))
        start(*published)
        calls = [*golden(), *manifests(pathlib.Path(scratch))]
        with concurrent.futures.ProcessPoolExecutor(os.cpu_count(), initializer=start, initargs=published) as pool:
            for seen, found in pool.map(judge, [volta] * len(calls), *zip(*calls)):
                wrong += found
                for kind in seen:
                    count[kind] = count.get(kind, 0) + 1
        validate.refuse("sarif", '{"version": "2.1.0", "runs": [{"tool": {"driver": {}}}]}')
        place = {"physicalLocation": {"artifactLocation": {"uri": "a b%"}}}
        run = {"tool": {"driver": {"name": "x"}}, "results": [{"message": {"text": "x"}, "locations": [place]}]}
        validate.refuse("sarif", json.dumps({"version": "2.1.0", "runs": [run]}))
        validate.refuse("github", "::error file=a:b,title=x::y")
        validate.refuse("github", "::error title=x::50%")
        validate.refuse("summary", "a [b](https://c)")
        validate.refuse("summary", "<b>a")
        validate.refuse("summary", "see www.example.org")
        validate.refuse("junit", "<testsuites><testsuite><testcase/></testsuite></testsuites>")
        validate.refuse("html", "<!doctype html><title>x</title><p></b>")
        validate.refuse("json", '{"schema": "volta/2"}')
    for (form, code), n in sorted(count.items()):
        print(f"{form}: {n} reports of exit status {code}")
    if wrong:
        sys.exit("\n".join(wrong[:20] + [f"{len(wrong)} reports are not valid"]))


main()
