"""The command as users meet it: words in, two streams and an exit code out, in an empty folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from sim.cli import main

MANIFEST = """\
schema: capacity-manifest/v1
name: small
version: 1.0.0
mode: offline-fake-provider
seed: 7
target: {kind: admission-controller, discipline: default}
profile:
  profile_version: small-1
  workspace: {concurrency: 2, max_queue_length: 4, max_queue_wait_ms: 500}
  providers: {primary: {concurrency: 2}}
  principals: {ann: {}, bob: {}}
phases:
- {name: load, seconds: 20}
warmup_seconds: 0
drain_seconds: 10
streams:
- name: ann
  principal: ann
  class: quiet
  arrivals: {kind: poisson, per_second: 3}
  work: {tokens: 10}
  providers: {primary: 1}
  client: {on_refusal: give-up}
- name: bob
  principal: bob
  class: noisy
  arrivals: {kind: poisson, per_second: 8}
  work: {tokens: 10}
  providers: {primary: 1}
  client: {on_refusal: give-up}
providers:
- id: primary
  service_ms: {kind: uniform, min: 100, max: 300}
  failures: {kind: independent, probability: 0}
gates:
- {id: admitted, metric: admission.ratio, op: ">=", bound: "0.5", estimand: path}
provenance: []
"""


@dataclass(frozen=True)
class Told:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def line(self) -> str:
        """The one line that an error is told in."""
        assert self.err.count("\n") == 1, self.err
        assert "Traceback" not in self.err
        return self.err.rstrip("\n")


Cli = Callable[..., Told]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run one command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sim.cli.checkout._git", lambda _arguments: None)

    def run(*words: object) -> Told:
        capsys.readouterr()
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Told(code, captured.out, captured.err)

    return run


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    """A manifest that runs in a blink and passes."""
    path = tmp_path / "small.yaml"
    path.write_text(MANIFEST)
    return path


@pytest.fixture
def bundle(cli: Cli, manifest: Path, tmp_path: Path) -> Path:
    """The bundle of that manifest."""
    assert cli("run", manifest, "--quiet").code == 0
    return next((tmp_path / "out").iterdir())
