"""A notebook's parameters: every one declared, typed and in its place, or the notebook ends.

papermill writes the values it was given into a cell behind the one that is tagged ``parameters``. It does not mind a
name that no cell declares, and it guesses types from text; without a tagged cell it writes them on top, where the
notebook's own values then replace them. Each of these would end with exit code 0 and the wrong run, so each is an error
here. Owns these checks; must not know what the values are used for.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

from sim.evidence.source import installation_root
from sim.manifest import Manifest, load, with_overrides
from tollgate.core.errors import ConfigError, nearest

GIVEN: Final = "# Parameters\n"
"""First line of the cell that papermill writes."""

TAG: Final = "parameters"
"""Tag of the cell that declares parameters, and what a complaint calls the place of a fault."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Which run a notebook is asked for. Paths are read from the root of the repository, wherever the kernel runs.

    Attributes:
        manifest: Path of the manifest.
        seed: Another seed than the manifest's, or None.
        window_seconds: Where arrivals are cut off, seconds, or None for the whole manifest.
    """

    manifest: str
    seed: int | None
    window_seconds: int | None

    def load(self) -> Manifest:
        """Return the manifest as it is to be run.

        Raises:
            ConfigError: If it cannot be read, or seed or window do not fit it.
        """
        manifest = load(installation_root() / self.manifest)
        if self.seed is None and self.window_seconds is None:
            return manifest
        return with_overrides(manifest, seed=self.seed, window_s=self.window_seconds)


@dataclass(frozen=True, slots=True)
class Parameters(Asked):
    """What a notebook is asked that compares a run with what is retained.

    Attributes:
        evidence: Folder of retained records that the run is compared with; None compares with nothing.
    """

    evidence: str | None

    @property
    def evidence_folder(self) -> Path | None:
        """The folder of retained records."""
        return None if self.evidence is None else installation_root() / self.evidence


NAMES: Final = tuple(field.name for field in fields(Parameters))


def parameters(namespace: Mapping[str, object]) -> Parameters:
    """Return the parameters of a notebook.

    Args:
        namespace: The notebook's ``globals()``. IPython keeps the text of the cells that ran under ``In``.

    Raises:
        ConfigError: If one is unknown, missing, of another type or out of range, or if values were given to a notebook
            that has no tagged cell.
    """
    check_given(namespace, NAMES)
    return Parameters(
        manifest=text(namespace, "manifest"),
        seed=whole(namespace, "seed", at_least=0),
        window_seconds=whole(namespace, "window_seconds", at_least=1),
        evidence=None if namespace["evidence"] is None else text(namespace, "evidence"),
    )


def check_given(namespace: Mapping[str, object], names: Sequence[str]) -> None:
    """Refuse what would end in the wrong run, whatever the values are.

    Args:
        namespace: The notebook's ``globals()``.
        names: The parameters that it declares.

    Raises:
        ConfigError: For values from outside that name no parameter or that the notebook's own values replaced, and for
            a parameter that no cell declares.
    """
    _check_from_outside(namespace, names)
    missing = [name for name in names if name not in namespace]
    if missing:
        raise ConfigError(missing[0], None, f"a value in the cell tagged {TAG!r}", file=TAG)


def _check_from_outside(namespace: Mapping[str, object], names: Sequence[str]) -> None:
    history = namespace.get("In")
    cells = [str(cell) for cell in history] if isinstance(history, list) else []
    first = next((at for at, cell in enumerate(cells) if cell.startswith(GIVEN)), None)
    if first is None:
        return
    for name in _assigned(cells[first]):
        if name not in names:
            allowed = f"one of the parameters {', '.join(names)}"
            raise ConfigError(name, namespace.get(name), allowed, file=TAG, hint=nearest(name, names))
    if not any(_assigned(cell) for cell in cells[:first]):
        raise ConfigError(
            "", ", ".join(_assigned(cells[first])), f"values for a notebook with a cell tagged {TAG!r}", file=TAG
        )


def _assigned(cell: str) -> list[str]:
    """Return the names that a cell assigns at its top level."""
    return [
        target.id
        for statement in ast.parse(cell).body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    ]


def text(namespace: Mapping[str, object], name: str) -> str:
    """Return a parameter that is a path.

    Raises:
        ConfigError: If it is no text, or an empty one.
    """
    value = namespace[name]
    if not isinstance(value, str) or not value:
        raise ConfigError(name, value, "a path from the root of the repository, as text", file=TAG)
    return value


def whole(namespace: Mapping[str, object], name: str, *, at_least: int) -> int | None:
    """Return a parameter that is an integer, or None.

    Raises:
        ConfigError: If it is anything else, or too small.
    """
    value = namespace[name]
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
        raise ConfigError(name, value, f"an integer of at least {at_least}, or None", file=TAG)
    return value


def flag(namespace: Mapping[str, object], name: str) -> bool:
    """Return a parameter that is true or false.

    Raises:
        ConfigError: If it is anything else, be it 0, 1 or a text.
    """
    value = namespace[name]
    if not isinstance(value, bool):
        raise ConfigError(name, value, "True or False", file=TAG)
    return value
