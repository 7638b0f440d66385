"""What a command is about: a manifest changed as asked, or the one that a bundle was made of, as it was run."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final, get_args

from sim.evidence import Bundle, Rerun, RerunRequest, RunLike
from sim.manifest import Manifest, load, with_overrides
from sim.manifest.model import Discipline
from tollgate.core.errors import ConfigError, EvidenceError
from tollgate.core.units import NS_PER_S

if TYPE_CHECKING:
    from sim.kernel import Progress

DISCIPLINES: Final[tuple[Discipline, ...]] = get_args(Discipline)


def changed(
    manifest: Manifest, *, sets: Sequence[str] | None = None, seed: int | None = None, window: str | None = None
) -> Manifest:
    """Return a manifest with the changes that the command line asks for.

    Args:
        manifest: As it was loaded.
        sets: ``PATH=VALUE`` texts.
        seed: Another seed.
        window: Where the arrivals are cut off, seconds.

    Raises:
        ConfigError: If any of them cannot be accepted.
    """
    if not sets and seed is None and window is None:
        return manifest
    return with_overrides(manifest, [_pair(text) for text in sets or ()], seed=seed, window_s=window)


def manifest_of(bundle: Bundle, *, original: Path | None = None) -> Manifest:
    """Return the manifest of a bundle as it was run: overrides, seed and window applied.

    Args:
        bundle: A bundle that was read from a folder.
        original: The manifest where it was; None for the bundle's copy, which finds no trace beside it.

    Raises:
        ConfigError: If it needs a file that is not there.
        EvidenceError: If ``original`` is another manifest.
    """
    record, copies = bundle.record, bundle.places
    request = RerunRequest.of(record, manifest=original or copies["manifest"], assumptions=copies.get("assumptions"))
    manifest = _as_recorded(_loaded(request), request)
    if manifest.sha256 != record["manifest"]["sha256"]:
        raise EvidenceError(
            f"{manifest.path}: got bytes of sha256 {manifest.sha256}; allowed: the manifest of {bundle.folder}, "
            f"of sha256 {record['manifest']['sha256']}"
        )
    return manifest


def rerunner(*, assume: Path | None = None, progress: Progress | None = None) -> Rerun:
    """Return what makes a run again for :func:`sim.evidence.verify`.

    Args:
        assume: The file of assumptions, for evidence that brings none along.
        progress: Is told how far it is.
    """
    from sim.experiment import run  # noqa: PLC0415 - the world is not needed to read a bundle

    def rerun(request: RerunRequest) -> RunLike:
        try:
            loaded = _loaded(request, assume)
        except ConfigError as error:
            if assume is not None or _lacks_file(error):
                raise
            raise EvidenceError(f"nobody can have run this manifest: {error}") from error
        manifest = _as_recorded(loaded, request)
        discipline = discipline_named(request.discipline)
        try:
            return run(manifest, discipline=discipline, progress=progress)
        except ConfigError as error:
            if manifest.lacks:  # which an option of the command line can give
                raise
            raise _not_as_recorded(loaded, error) from error

    return rerun


def discipline_named(name: str) -> Discipline:
    """Return a discipline by its name in a record.

    Raises:
        EvidenceError: If this version has none of that name.
    """
    for discipline in DISCIPLINES:
        if name == discipline:
            return discipline
    raise EvidenceError(f"target.discipline: got {name!r}; allowed: one of {', '.join(DISCIPLINES)}")


def _loaded(request: RerunRequest, assume: Path | None = None) -> Manifest:
    try:
        return load(request.manifest, assume=assume or request.assumptions)
    except ConfigError as error:
        if not _lacks_file(error):
            raise
        hint = "a bundle holds no traces or values: name the manifest that lies beside them with --manifest"
        raise ConfigError(error.path, error.got, error.allowed, file=error.file, hint=hint) from None


def _lacks_file(error: ConfigError) -> bool:
    return error.path.endswith(".file")


def _as_recorded(manifest: Manifest, request: RerunRequest) -> Manifest:
    """Return a manifest with the seed, values and window of a record.

    Raises:
        EvidenceError: If it does not take them: then nobody ran it so, and the record is not what it says.
    """
    try:
        if request.overrides or request.seed is not None:
            manifest = with_overrides(manifest, request.overrides.items(), seed=request.seed)
        if request.window_ns != manifest.horizon_ns:
            manifest = with_overrides(manifest, window_s=Fraction(request.window_ns, NS_PER_S))
    except ConfigError as error:
        raise _not_as_recorded(manifest, error) from error
    return manifest


def _not_as_recorded(manifest: Manifest, error: ConfigError) -> EvidenceError:
    told = str(error).removeprefix(f"{manifest.path}: ")
    return EvidenceError(f"{manifest.path}: cannot have been run as the record says: {told}")


def _pair(text: str) -> tuple[str, str]:
    path, equals, value = text.partition("=")
    if not (path and equals):
        raise ConfigError("--set", text, "PATH=VALUE, such as profile.workspace.concurrency=6")
    return path, value
