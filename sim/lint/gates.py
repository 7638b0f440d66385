"""Rules about gates that decide nothing, whatever the run does.

Owns these rules. What a configuration guarantees is asked of ``sim.gates``, as a run does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sim.gates import Gate
from sim.lint.finding import Found
from sim.lint.subject import Subject
from sim.lint.traffic import arrives
from sim.report.text import rounded, with_unit
from tollgate.core.units import decimal_text, fraction

_OTHER_WAY: Final = {"<=": ">=", "<": ">=", ">=": "<=", ">": "<="}


def implied(subject: Subject) -> Iterator[Found]:
    """Find gates that no run can miss."""
    for at, gate in enumerate(subject.gates):
        if gate.is_implied and gate.guaranteed is not None:
            side = "above" if gate.op.startswith("<") else "below"
            bound = with_unit(gate.guaranteed, gate.unit)
            yield Found(
                subject.gate_path(at),
                f"{gate.id} cannot fail: the configuration keeps {_of(gate)} from ever being {side} {bound}",
                (("gate", gate.id), ("bound", f"{gate.op} {gate.bound}"), ("guaranteed", gate.guaranteed)),
            )


def impossible(subject: Subject) -> Iterator[Found]:
    """Find gates that no run can hold."""
    for at, gate in enumerate(subject.gates):
        limit = subject.guarantees.value(gate.metric, gate.where, _OTHER_WAY[gate.op])
        if limit is not None and not gate.holds(fraction(decimal_text(limit))):
            side = "above" if gate.op.startswith(">") else "below"
            yield Found(
                subject.gate_path(at),
                f"{gate.id} cannot hold: {_of(gate)} is never {side} {with_unit(rounded(limit, 6), gate.unit)}",
                (("gate", gate.id), ("bound", f"{gate.op} {gate.bound}"), ("guaranteed", decimal_text(limit))),
            )


def nothing_decides(subject: Subject) -> Iterator[Found]:
    """Find manifests whose every gate is implied or only warns."""
    if not any(gate.severity == "block" and not gate.is_implied for gate in subject.gates):
        yield Found(
            "bounds" if subject.is_seed else "gates",
            "no gate is left that blocks and could fail, so every run is INVALID",
            (("gates", str(len(subject.gates))),),
        )


def without_traffic(subject: Subject) -> Iterator[Found]:
    """Find gates on labels under which nothing arrives."""
    manifest = subject.manifest
    if not manifest.streams:
        return
    names = [info.name for info in manifest.principals]
    providers = [provider.id for provider in manifest.providers]
    for at, gate in enumerate(subject.gates):
        where = gate.where
        in_scope = (
            stream
            for stream in manifest.streams
            if where.get("class", stream.cls) == stream.cls
            and ("principal" not in where or any(names[one] == where["principal"] for one in stream.principals))
            and ("provider" not in where or any(providers[one] == where["provider"] for one, _ in stream.providers))
            and arrives(manifest, stream, where.get("phase"))
        )
        if not gate.is_host and next(in_scope, None) is None:
            selected = ", ".join(f"{key} {value}" for key, value in where.items()) or "the whole run"
            yield Found(
                f"{subject.gate_path(at)}.where",
                f"nothing that is measured arrives for {selected}, so {gate.id} is INVALID",
                (("gate", gate.id), *((str(key), value) for key, value in where.items())),
            )


def one_replication(subject: Subject) -> Iterator[Found]:
    """Find gates on many runs in a manifest that makes one."""
    if subject.manifest.replications_n == 1:
        for at, gate in enumerate(subject.gates):
            if gate.estimand != "path" and not gate.is_implied:
                yield Found(
                    f"{subject.gate_path(at)}.estimand",
                    f"{gate.id} asks for many runs ({gate.estimand}) and replications.n is 1: it stays INCONCLUSIVE",
                    (("gate", gate.id), ("estimand", gate.estimand), ("n", "1")),
                )


def _of(gate: Gate) -> str:
    selected = ", ".join(f"{key} {value}" for key, value in gate.where.items())
    return f"{gate.metric} of {selected}" if selected else gate.metric
