"""The command as a whole: help, usage, errors, streams."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import sim.cli
import sim.experiment
import tollgate
from sim.cli import INSTALL, LAB_MODULES, main
from sim.cli.app import LATER
from sim.cli.exits import Exit
from sim.manifest import load, schema
from tollgate.core.errors import InvariantViolation

HEAVY = {"numpy", "scipy", "pandas", "matplotlib", "simpy", "pydantic", "yaml", "jinja2", "rich"}


def python(code: str, repository, *, cwd=None, env=None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(repository), **(env or {})}
    words = [sys.executable, "-c", code]
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd=cwd or repository, env=environment)


def loaded_by(words: list[str], repository, tmp_path) -> set[str]:
    code = f"import sys, sim.cli; sim.cli.main({words!r}); print(*sys.modules, file=sys.stderr)"
    done = python(code, repository, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in done.stderr.split()}


@pytest.mark.parametrize(
    "words",
    [["--help"], ["--version"], ["run", "--help"], ["trace", "to-manifest", "--help"], ["run", "--sed"], ["sweep"]],
    ids=" ".join,
)
def test_help_and_complaints_about_usage_import_nothing_heavy(repository, tmp_path, words):
    # typer itself reads the options of a command by pydantic; the help of the whole does without.
    allowed = set() if words == ["--help"] else {"pydantic"}
    assert loaded_by(words, repository, tmp_path) & HEAVY <= allowed


def test_a_run_imports_neither_what_draws_nor_what_computes_statistics(repository, tmp_path, manifest):
    loaded = loaded_by(["run", str(manifest)], repository, tmp_path)
    assert loaded & {"scipy", "pandas", "matplotlib", "jinja2", "rich"} == set()
    assert "simpy" in loaded


def test_without_the_lab_the_command_prints_how_to_install_it(repository):
    done = python(
        "import sys; sys.modules['typer'] = None; import sim.cli; sys.exit(sim.cli.main(['--help']))", repository
    )
    assert done.returncode == 2
    assert done.stderr == f"tollgate: typer is not installed; the command needs the lab: {INSTALL}\n"
    assert INSTALL == 'pip install ".[lab]" in a checkout'  # true before anything is published, unlike a name


def test_a_lab_installed_in_part_is_told_the_same(repository, manifest):
    code = (
        f"import sys; sys.modules['numpy'] = None; import sim.cli; sys.exit(sim.cli.main(['run', {str(manifest)!r}]))"
    )
    done = python(code, repository)
    assert done.returncode == 2
    assert done.stderr.startswith("tollgate: numpy is not installed")


def test_what_is_named_as_the_lab_is_what_the_extra_installs(repository):
    extra = tomllib.loads((repository / "pyproject.toml").read_text())["project"]["optional-dependencies"]["lab"]
    names = {entry.partition(">")[0].lower() for entry in extra}
    assert {"yaml" if name == "pyyaml" else name for name in names} <= LAB_MODULES


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "tollgate: Missing command; see tollgate --help"),
        (["rum"], "tollgate: No such command 'rum'"),
        (["run"], "tollgate run: Missing argument 'MANIFEST'"),
        (["run", "m", "--sed", "1"], "tollgate run: No such option: --sed"),
        (["run", "m", "--seed", "x"], "tollgate run: Invalid value for '--seed'"),
        (["run", "m", "--discipline", "mine"], "tollgate run: Invalid value for '--discipline'"),
        (["run", "m", "--format", "xml"], "tollgate run: Invalid value for '--format'"),
        (["run", "m", "n"], "tollgate run: Got unexpected extra argument"),
        (["explain", "m"], "tollgate explain: Missing option '--request'"),
        (["trace"], "tollgate trace: Missing command"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_bad_command_line_is_told_in_one_line_with_where_to_look(cli, words, said):
    told = cli(*words)
    assert told.code == 2
    assert told.out == ""
    assert told.line.startswith(said)
    assert told.line.endswith("--help")


@pytest.mark.parametrize("name", LATER)
def test_a_command_of_a_later_version_is_named_as_such_and_not_listed(cli, name):
    told = cli(name, "m.yaml", "--whatever")
    assert told.code == 2
    available = "explain, init, lint, report, run, schema, trace, verify"
    assert told.line == f"tollgate {name}: not available in this version; available: {available}"
    assert f"  {name} " not in cli("--help").out


def test_the_version_and_the_schema_are_printed(cli):
    assert cli("--version").out == f"tollgate {tollgate.__version__}\n"
    assert json.loads(cli("schema").out) == schema()


def test_the_starter_runs_and_passes_as_it_is(cli, tmp_path):
    told = cli("init")
    assert (told.code, told.out) == (0, "")
    assert told.line == "manifest: manifest.yaml; run it with: tollgate run manifest.yaml"
    assert load(tmp_path / "manifest.yaml").lacks == ()
    assert cli("run", "manifest.yaml").out.startswith("PASS")
    assert cli("init", "other.yaml", "--quiet").err == ""


@pytest.mark.parametrize("fault", [ValueError("odd\nvalue"), InvariantViolation("a permit leaked"), RecursionError()])
def test_an_unexpected_error_is_one_line_and_70_with_the_traceback_on_demand(cli, manifest, monkeypatch, fault):
    def broken(*_args, **_kwargs):
        raise fault

    monkeypatch.setattr(sim.experiment, "run", broken)
    told = cli("run", manifest)
    assert told.code == 70
    assert told.line.startswith(f"tollgate: unexpected {type(fault).__name__}: ")
    for words in (("run", manifest, "--debug"), ("--debug", "run", manifest)):
        told = cli(*words)
        assert told.code == 70
        assert "Traceback" in told.err
        assert "in broken" in told.err


def test_an_interrupt_is_130(cli, manifest, monkeypatch):
    def interrupted(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(sim.experiment, "run", interrupted)
    told = cli("run", manifest)
    assert (told.code, told.line) == (130, "tollgate: interrupted")


@pytest.mark.parametrize("module", ["typer", "enum", "sim.cli.app", "sim.experiment", "numpy", "pydantic", "yaml"])
def test_an_interrupt_while_modules_are_imported_is_130_and_one_line(repository, tmp_path, manifest, module):
    code = f"""
import sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt

import sim.cli
sys.modules.pop({module!r}, None)
sys.meta_path.insert(0, Interrupting())
sys.exit(sim.cli.main(["run", {str(manifest)!r}]))
"""
    done = python(code, repository, cwd=tmp_path)
    assert done.returncode in {130, -2}  # the interpreter may end itself by the signal: 130 to a shell as well
    assert done.stderr == "tollgate: interrupted\n"


def test_nothing_that_takes_time_is_imported_before_an_interrupt_is_handled(repository, tmp_path):
    before = set(python("import sys; print(*sys.modules)", repository, cwd=tmp_path).stdout.split())
    after = set(python("import sys, sim.cli; print(*sys.modules)", repository, cwd=tmp_path).stdout.split())
    assert after - before == {"__future__", "sim", "sim.cli"}


def test_the_codes_that_are_known_before_anything_is_imported_are_those_of_exits():
    assert (sim.cli._USAGE, sim.cli._INTERRUPTED) == (Exit.USAGE, Exit.INTERRUPTED)


def test_a_reader_that_leaves_early_changes_neither_the_verdict_nor_stderr(repository, tmp_path, manifest):
    code = "import sys, sim.cli; sys.exit(sim.cli.main(sys.argv[1:]))"
    environment = {**os.environ, "PYTHONPATH": str(repository)}
    for words in (["run", str(manifest)], ["schema"], ["run", str(manifest), "--outcomes", "-", "--quiet"]):
        reading, writing = os.pipe()
        os.close(reading)
        with os.fdopen(writing, "wb") as stdout:
            command = [sys.executable, "-c", code, *words]
            done = subprocess.run(
                command, stdout=stdout, stderr=subprocess.PIPE, check=False, cwd=tmp_path, env=environment
            )
        assert done.returncode == 0
        assert b"Error" not in done.stderr
        assert b"Traceback" not in done.stderr


def test_a_stream_that_lacks_a_character_gets_it_escaped(repository, tmp_path, manifest):
    code = f"import sys, sim.cli; sys.exit(sim.cli.main(['run', {str(manifest)!r}, '--set', 'name=caf\\u00e9']))"
    done = python(code, repository, cwd=tmp_path, env={"PYTHONIOENCODING": "ascii:strict"})
    assert done.returncode == 0, done.stderr
    assert "caf\\xe9" in done.stdout


RUN = "import sys, sim.cli; sys.exit(sim.cli.main(sys.argv[1:]))"


def shell(script: str, repository, cwd, *words: object) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in which "$@" is the command."""
    command = ["/bin/sh", "-c", script, "sh", sys.executable, "-c", RUN, *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": str(repository)}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=environment)


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-"])
@pytest.mark.parametrize("words", [("run",), ("run", "--outcomes", "-"), ("run", "--arrivals", "a.txt", "--json")])
def test_a_stream_that_was_never_open_changes_nothing(repository, tmp_path, manifest, closed, words):
    done = shell(f'"$@" {closed}', repository, tmp_path, *words, manifest)
    assert done.returncode == 0, done.stderr
    assert "unexpected" not in done.stderr
    if "--arrivals" in words:
        assert {line.count(",") for line in (tmp_path / "a.txt").read_text().splitlines()} == {7}


def test_a_reader_that_leaves_a_help_early_is_no_error(repository, tmp_path):
    done = shell('{ "$@"; echo $? >code; } | true', repository, tmp_path, "run", "--help")
    assert (tmp_path / "code").read_text() == "0\n"
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("words", [("run", "small.yaml", "-q"), ("--help",), ("schema",)], ids=" ".join)
def test_a_full_disk_behind_stdout_is_told_once(repository, tmp_path, manifest, words):
    done = shell('"$@" >/dev/full', repository, tmp_path, *words)
    assert (done.returncode, done.stderr) == (2, "tollgate: No space left on device\n")


def test_main_takes_the_words_of_the_process_by_default(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["tollgate", "--version"])
    assert main() == 0
    assert capsys.readouterr().out.startswith("tollgate ")
