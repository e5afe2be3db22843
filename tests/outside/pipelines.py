#!/usr/bin/env python3
"""Runs what `src/docs/ci.md` tells others to put into their pipelines, as it stands, in the repository of a user.

    python3 -m venv target/outside && target/outside/bin/pip install -r tests/outside/requirements.txt
    target/outside/bin/python tests/outside/pipelines.py [--program PATH] [github] [gitlab] [pre-commit]

The GitHub action, the GitLab job and the pre-commit hook are read from where they stand, validated by the schemas of the
package check-jsonschema, and executed with the shells and variables that the services give them: once where the manifest
passes, once where an entry fails; the action with the program of a release too, which is a folder here.  Nothing of the services is there: what a step `uses` is not run, only the files that it
would take are looked for.  volta is built from this tree without optimisation.  Each of the
three has a home of cargo of its own, hence builds everything: a minute for one, all of them if none is named.
With `--program` the action's build ends with that program, which must be one of this tree; what it would build is looked at only.
"""

import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "pipelines"
BIN = pathlib.Path(sys.executable).parent


def sh(*args, **more):
    return subprocess.run([str(a) for a in args], check=True, **more)


def git(folder, *args):
    identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@localhost", "-c", "init.defaultBranch=main"]
    return sh("git", "-C", folder, *identity, *args, capture_output=True, text=True).stdout.strip()


def repository(folder):
    git(folder, "init")
    git(folder, "add", ".")
    git(folder, "commit", "--no-verify", "-m", "files")
    return git(folder, "rev-parse", "HEAD")


def upstream(scratch):
    """This tree as others see it: a repository that can be cloned."""
    folder = scratch / "volta"
    listed = sh("git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "-z", capture_output=True)
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder, repository(folder)


def user(folder, passes):
    """The repository of a user with the manifest of the guide; what a cache keeps stays."""
    (folder / "kernels").mkdir(parents=True, exist_ok=True)
    for file in (ROOT / "kernels" / "guide").glob("*.ptx"):
        shutil.copy(file, folder / "kernels")
    manifest = (ROOT / "kernels" / "guide" / "volta.toml").read_text()
    if not passes:
        manifest += '\n[[race]]\nname = "not so"\nkernel = "mean.ptx"\nthreads = 256\nexpect = "defective"\n'
    (folder / "kernels" / "volta.toml").write_text(manifest)
    if not (folder / ".git").exists():
        (folder / ".gitignore").write_text(".cargo\n.volta-cache\n")
        repository(folder)


def blocks(kind):
    """Fenced blocks of the page, by what they begin with."""
    first = {"github": "jobs:", "gitlab": "kernels:", "pre-commit": "repos:"}[kind]
    text = (ROOT / "src" / "docs" / "ci.md").read_text()
    found = re.findall(r"^```yaml\n(.*?)^```$", text, re.M | re.S)
    found = [b for b in found if b.startswith(first)]
    assert found, f"the page has no block that begins with {first}"
    return found


def validate(schema, text, scratch, *more):
    file = scratch / "checked.yml"
    file.write_text(text)
    sh(BIN / "check-jsonschema", "--builtin-schema", f"vendor.{schema}", *more, file, stdout=subprocess.DEVNULL)


def built(scratch, program):
    """A folder with a `cargo` whose `build --release` of a tree with a lock file ends with a program that is there already."""
    folder = scratch / "built"
    folder.mkdir()
    file = folder / "cargo"
    file.write_text(BUILT.format(cargo=shutil.which("cargo"), program=pathlib.Path(program).resolve()))
    file.chmod(0o755)
    return folder


BUILT = """#!/usr/bin/env bash
set -euo pipefail
[ "$1" = build ] || exec "{cargo}" "$@"
[[ "$*" = "build --release --locked --manifest-path "*" --target-dir "* ]]
"{cargo}" metadata --locked --no-deps --format-version 1 --manifest-path "$5" > /dev/null
mkdir -p "$7/release"
cp "{program}" "$7/release/volta"
"""


def shell(script, folder, env, options):
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as file:
        file.write(script)
        file.flush()
        ended = subprocess.run(["bash", *options, file.name], cwd=folder, env=env, capture_output=True, text=True)
    return ended


def reports(files):
    for file in files:
        assert file.stat().st_size > 200, f"{file} is empty"


def released(scratch, program, version="v9.9.9"):
    """A folder with a release that has this program for this machine."""
    name = f"volta-{version}-{platform.machine()}-unknown-linux-gnu"
    folder = scratch / "releases" / version
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(folder / f"{name}.tar.gz", "w:gz") as archive:
        archive.add(program, f"{name}/volta")
    listed = hashlib.sha256((folder / f"{name}.tar.gz").read_bytes()).hexdigest()
    (folder / "SHA256SUMS").write_text(f"{'0' * 64}  other.tar.gz\n{listed}  {name}.tar.gz\n")
    return folder


def holds(condition, values):
    """Whether a step is run: comparisons with words, joined by `&&`."""
    for part in condition.split("&&"):
        name, operator, word = re.fullmatch(r"\s*([\w.-]+) (==|!=) '([^']*)'\s*", part).groups()
        if (values.get(name, "") == word) != (operator == "=="):
            return False
    return True


def github(scratch, source, folder, passes):
    """The action as the workflow of the page has it, which builds; then with releases that are there, damaged, and missing."""
    ended, ran, temp = act(scratch, source, folder, {})
    assert ended.returncode == (0 if passes else 1), f"github: exit {ended.returncode}\n{ended.stdout}\n{ended.stderr}"
    assert ran == ["Find volta", "Build volta", "Run the manifest"], ran
    if not passes:
        assert "::error file=kernels/volta.toml,line=" in ended.stdout, ended.stdout
    summary = (temp / "summary.md").read_text()
    assert f"3 passed, {0 if passes else 1} failed" in summary and "| mean-warp | equivalent |" in summary, summary

    if not passes:
        return
    release = released(scratch, temp / "volta-program" / "volta")
    given = {"version": release.name, "mirror": release.parent.as_uri()}
    ended, ran, _ = act(scratch, source, folder, given)
    assert ran == ["Find volta", "Run the manifest"] and ended.returncode == 0, (ran, ended)
    # The action's own tag is a version, and no error where that has no release.
    ended, ran, _ = act(scratch, source, folder, given | {"version": ""}, ref=release.name)
    assert ran == ["Find volta", "Run the manifest"], ran
    ended, ran, _ = act(scratch, source, folder, given | {"version": ""}, ref="v9.9.8")
    assert ran == ["Find volta", "Build volta", "Run the manifest"], ran
    ended, ran, _ = act(scratch, source, folder, given | {"version": "v9.9.8"})
    assert ran == ["Find volta"] and ended.returncode == 1 and "there is no program of v9.9.8" in ended.stdout, ended
    for version in ("../v9.9.9", "v9 9", "9.9.9"):
        ended, ran, _ = act(scratch, source, folder, given | {"version": version})
        assert ran == ["Find volta"] and ended.returncode == 1 and "the version is none" in ended.stdout, ended
    archive = next(release.glob("*.tar.gz"))
    archive.write_bytes(archive.read_bytes() + b"\0")
    ended, ran, temp = act(scratch, source, folder, given)
    assert ran == ["Find volta"] and ended.returncode == 1 and "is not the one" in ended.stdout, ended
    assert not (temp / "volta-program" / "volta").exists(), "a damaged program is unpacked"


def act(scratch, source, folder, given, ref="main"):
    """Runs the steps of the composite action, with these inputs beside those of the workflow; how the last one ended, the names
    of those that were run, and the folder of the runner."""
    path = source / ".github" / "actions" / "volta"
    text = (path / "action.yml").read_text()
    validate("github-actions", text, scratch)
    action = yaml.safe_load(text)
    workflow = "name: x\non: [push]\n" + blocks("github")[0]
    validate("github-workflows", workflow, scratch)
    step = next(s for s in yaml.safe_load(workflow)["jobs"]["kernels"]["steps"] if "volta" in s["uses"])
    assert step["uses"].split("@")[0].removeprefix("OWNER/volta/") == str(path.relative_to(source))
    temp = pathlib.Path(tempfile.mkdtemp(prefix="temp of the runner ", dir=scratch))
    (temp / "summary.md").touch()
    inputs = {name: i["default"] for name, i in action["inputs"].items()} | step["with"] | given
    assert set(inputs) == set(action["inputs"]), "the workflow gives an input that the action has not"
    values = {f"inputs.{n}": v for n, v in inputs.items()}
    values |= {"runner.temp": str(temp), "runner.os": "Linux", "runner.arch": ARCHITECTURES[platform.machine()]}
    values |= {"github.action_ref": ref, "github.server_url": (scratch / "none").as_uri(), "github.action_repository": "OWNER/volta"}
    (temp / "volta-build").symlink_to(TARGET, target_is_directory=True)

    def fill(value):
        return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda m: values[m[1]], str(value))

    base = {k: v for k, v in os.environ.items() if k not in ("CARGO_TARGET_DIR", "VOLTA_CACHE_KEY")}
    base |= {"GITHUB_ACTION_PATH": str(path), "RUNNER_TEMP": str(temp), "GITHUB_WORKSPACE": str(folder), "CI": "true"}
    base |= {"RUNNER_OS": values["runner.os"], "RUNNER_ARCH": values["runner.arch"], "GITHUB_STEP_SUMMARY": str(temp / "summary.md")}
    ran = []
    for s in action["runs"]["steps"]:
        if "run" not in s or not holds(s.get("if", "inputs.manifest != ''"), values):
            continue
        assert s["shell"] == "bash"
        told = temp / "output"
        told.write_text("")
        env = base | {k: fill(v) for k, v in s.get("env", {}).items()} | {"GITHUB_OUTPUT": str(told)}
        ran.append(s["name"])
        ended = shell(fill(s["run"]), folder, env, ["--noprofile", "--norc", "-eo", "pipefail"])
        for line in told.read_text().splitlines():
            name, _, value = line.partition("=")
            values[f"steps.{s['id']}.outputs.{name}"] = value
        if ended.returncode:
            break
    if ran[-1] == "Run the manifest":
        assert "4 passed" not in ended.stdout and "3 passed" in ended.stdout, ended.stdout
        upload = next(s for s in action["runs"]["steps"] if "upload-sarif" in s.get("uses", ""))
        html = pathlib.Path(fill(action["outputs"]["html"]["value"]))
        reports([html, html.with_suffix(".xml"), pathlib.Path(fill(upload["with"]["sarif_file"]))])
        # What is kept has one name for each program.
        for s in action["runs"]["steps"]:
            if "cache" in s.get("uses", ""):
                assert fill(s["with"]["key"]).startswith(("volta-program-Linux-", "volta-results-Linux-")), s
    return ended, ran, temp


ARCHITECTURES = {"x86_64": "X64", "aarch64": "ARM64"}


def gitlab(scratch, source, folder, passes):
    text = blocks("gitlab")[0]
    validate("gitlab-ci", text, scratch, "--data-transform", "gitlab-ci")
    job = yaml.safe_load(text)["kernels"]
    script = "\n".join(job["script"]).replace("https://HOST/OWNER/volta", f"file://{source}")
    env = os.environ | {"CI_PROJECT_DIR": str(folder), "CI": "true", "CARGO_TARGET_DIR": str(TARGET)}
    for name, value in job["variables"].items():
        env[name] = value.replace("$CI_PROJECT_DIR", str(folder))
    # The toolchain of the image stands in the path.
    env["PATH"] = f"{pathlib.Path(shutil.which('cargo')).parent}:{env['PATH']}"
    ended = shell(script, folder, env, ["-eo", "pipefail"])
    assert ended.returncode == (0 if passes else 1), f"gitlab: exit {ended.returncode}\n{ended.stdout}\n{ended.stderr}"
    artifacts = job["artifacts"]
    assert artifacts["when"] == "always"
    reports([folder / p for p in artifacts["paths"]] + [folder / artifacts["reports"]["junit"]])
    for path in job["cache"]["paths"]:
        assert (folder / path).is_dir(), f"gitlab: {path} is not there to be kept"


def pre_commit(scratch, source, commit, folder, passes):
    config = yaml.safe_load(blocks("pre-commit")[0])
    sh(BIN / "pre-commit", "validate-manifest", source / ".pre-commit-hooks.yaml")
    for repo in config["repos"]:
        assert repo["repo"] == "https://HOST/OWNER/volta"
        repo["repo"], repo["rev"] = f"file://{source}", commit
    (folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    git(folder, "add", ".")
    env = os.environ | {"PRE_COMMIT_HOME": str(scratch / "pre-commit"), "CARGO_TARGET_DIR": str(TARGET)}
    call = [str(BIN / "pre-commit"), "run", "--all-files"]
    ended = subprocess.run(call, cwd=folder, env=env, capture_output=True, text=True)
    assert ended.returncode == (0 if passes else 1), f"pre-commit: {ended.stdout}\n{ended.stderr}"
    assert ("Passed" if passes else "Failed") in ended.stdout and "no files" not in ended.stdout, ended.stdout


def main():
    global TARGET
    os.environ["CARGO_PROFILE_RELEASE_OPT_LEVEL"] = "0"
    os.environ["CARGO_PROFILE_RELEASE_DEBUG"] = "false"
    words = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        if words[:1] == ["--program"]:
            os.environ["PATH"] = f"{built(scratch, words[1])}:{os.environ['PATH']}"
            TARGET = scratch / "target"
            del words[:2]
        TARGET.mkdir(parents=True, exist_ok=True)
        for file in (ROOT / ".github" / "workflows").iterdir():
            validate("github-workflows", file.read_text(), scratch)
        source, commit = upstream(scratch)
        services = {
            "github": lambda folder, passes: github(scratch, source, folder, passes),
            "gitlab": lambda folder, passes: gitlab(scratch, source, folder, passes),
            "pre-commit": lambda folder, passes: pre_commit(scratch, source, commit, folder, passes),
        }
        for name in words or services:
            folder = scratch / f"user of {name}"
            for passes in (True, False):
                user(folder, passes)
                services[name](folder, passes)
            print(f"{name}: as it should be, where the manifest passes and where it fails", flush=True)


main()
