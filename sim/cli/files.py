"""Files that a command writes: each stands beside its place until the command has succeeded.

Owns that no output costs a user what was there before. A text is staged in the folder it will lie in, made durable and
renamed when all outputs of a command are complete, and taken away when the command is refused, interrupted or runs out
of disk. What a command reads and what a bundle holds is never written to. This module must not know what is written,
nor what a command does. Only a process that is killed leaves a file behind, named ``.tollgate-...``.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TextIO

from sim.cli.console import STDOUT, emit
from sim.textformats import TextOut
from tollgate.core.errors import ConfigError

_RECORD: Final = "record.json"
"""As ``sim.evidence`` names it, whose import takes longer than most of what is asked of this module."""

_LINKS_MAX: Final = 40  # links followed by Linux before it gives up (path_resolution(7))
_SYSTEM: Final = ("/dev", "/proc")
"""Where a name stands for an open file: what is written there goes on from hand to hand and is never replaced."""


def folder(option: str, path: Path) -> None:
    """Make a folder that is to be written to, if it is not there.

    Args:
        option: What named it, for the complaint.
        path: The folder.

    Raises:
        ConfigError: If it cannot be made or written to, or lies in a bundle.
    """
    _refuse_bundle(option, path, [_real(path), *_real(path).parents])
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        found = "a file" if path.exists() else "a link that leads nowhere"
        reason = f"this is {found}" if isinstance(error, FileExistsError) else error.strerror
        raise ConfigError(option, str(path), f"a folder that can be written to; {reason}") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise ConfigError(option, str(path), "a folder that can be written to; permission denied")


@contextmanager
def outputs(*, reads: Iterable[Path | None] = (), stdout: str | None = None) -> Iterator[Outputs]:
    """Open the outputs of a command; they take their places together when the body ends well.

    Args:
        reads: Files that the command reads; None stands for none.
        stdout: What else goes to stdout, for the complaint; None for nothing.

    Yields:
        What opens each of them.

    Raises:
        ConfigError: If one of them cannot be written.
    """
    opened = Outputs(tuple(path for path in reads if path is not None), {} if stdout is None else {STDOUT: stdout})
    try:
        yield opened
        opened.complete()
    finally:
        opened.discard()


def create(option: str, path: Path, content: str) -> None:
    """Write a text file where nothing is yet.

    Raises:
        FileExistsError: If there is something.
        ConfigError: If it cannot be written.
    """
    with outputs() as opened:
        opened.text(option, path, new=True).write(content)


@dataclass(slots=True)
class Outputs:
    """The outputs of one command (:func:`outputs`)."""

    _reads: tuple[Path, ...]
    _taken: dict[Path, str]
    _files: list[_File] = field(default_factory=list)

    def text(self, option: str, path: Path, *, guest: bool = False, new: bool = False) -> TextOut:
        """Open a text file, or stdout for ``-``.

        Args:
            option: What named it, for the complaint.
            path: The file.
            guest: Whether it may lie in a bundle, beside what the bundle's record binds.
            new: Whether it must not be there yet; a file that is then raises ``FileExistsError``.

        Returns:
            Where to write.

        Raises:
            ConfigError: If it cannot be opened, is read by the command, is another output or lies in a bundle.
        """
        place = STDOUT if path == STDOUT else _real(path)
        holder = self._taken.setdefault(place, option)
        if holder != option:
            raise ConfigError(option, str(path), f"a file of its own: this one is for {holder}")
        if path == STDOUT:
            return _Stdout()
        if any(_is_same(path, other) for other in self._reads):
            raise ConfigError(option, str(path), "a file of its own: this one is read by the command")
        _refuse_bundle(option, path, place.parents, guest=guest)
        try:
            opened = _File.open(option, path, place, new=new)
        except OSError as error:
            if new and isinstance(error, FileExistsError):
                raise
            raise _unwritable(option, path, error) from None
        self._files.append(opened)
        return opened

    def optional(self, option: str, path: Path | None) -> TextOut | None:
        """Open a text file as :meth:`text` does, if one is asked for."""
        return None if path is None else self.text(option, path)

    def complete(self) -> None:
        """Make every output durable, then put each in its place."""
        for file in self._files:
            file.finish()
        for file in self._files:
            file.publish()

    def discard(self) -> None:
        """Take away what is not in its place."""
        for file in self._files:
            file.discard()


@dataclass(slots=True)
class _File:
    """One file being written.

    Attributes:
        option: What named it.
        path: As the user named it.
        stream: Where its text goes.
        place: Where it will stand.
        stage: Where it stands meanwhile; the place itself for a file that must be new, None for what is no regular file
            or no longer needs to be taken away.
    """

    option: str
    path: Path
    stream: TextIO
    place: Path
    stage: Path | None

    @classmethod
    def open(cls, option: str, path: Path, place: Path, *, new: bool) -> _File:
        if new and os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        stage = place if new else _stage(path, place)
        if stage is None:
            return cls(option, path, _opened(os.open(path, os.O_WRONLY | os.O_TRUNC)), place, None)
        # With the rights that any new file gets: the umask is the system's to apply.
        handle = os.open(stage, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        if not new and place.exists():
            os.fchmod(handle, stat.S_IMODE(place.stat().st_mode))
        return cls(option, path, _opened(handle), place, stage)

    def write(self, text: str, /) -> None:
        """Take text."""
        with self._complaining():
            self.stream.write(text)

    def finish(self) -> None:
        with self._complaining():
            self.stream.flush()
            if self.stage is not None:
                os.fsync(self.stream.fileno())
            self.stream.close()

    def publish(self) -> None:
        if self.stage is None:
            return
        with self._complaining():
            self.stage.replace(self.place)
        self.stage = None

    def discard(self) -> None:
        with contextlib.suppress(OSError):  # what could not be written cannot be flushed either
            self.stream.close()
        if self.stage is not None:
            with contextlib.suppress(OSError):
                self.stage.unlink()
            self.stage = None

    @contextmanager
    def _complaining(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise _unwritable(self.option, self.path, error) from None


class _Stdout:
    """Stdout as a text to be written, which a reader may close."""

    def write(self, text: str, /) -> None:
        """Take text."""
        emit(text)


def _opened(handle: int) -> TextIO:
    # A name that is no text (a path of other bytes) must not cost a page that mentions it.
    return os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n")


def _stage(path: Path, place: Path) -> Path | None:
    """Return where a file stands until it is complete; None for what is written to directly.

    Raises:
        OSError: If the file may not be written to: renaming would not ask.
    """
    try:
        kind = path.stat().st_mode
    except FileNotFoundError:
        pass
    else:
        if not stat.S_ISREG(kind) or _is_open_file(path):
            return None
        os.close(os.open(path, os.O_WRONLY))
    return place.with_name(f".tollgate-{secrets.token_hex(8)}")


def _is_open_file(path: Path) -> bool:
    """Return whether a name leads through those of open files, such as ``/dev/stdout`` or ``/dev/fd/3``."""
    for _ in range(_LINKS_MAX):
        path = path.absolute()
        if any(path.is_relative_to(system) for system in _SYSTEM):
            return True
        if not path.is_symlink():
            return False
        path = path.parent / path.readlink()
    return False


def _real(path: Path) -> Path:
    """Return where a path leads; of links that lead round in a circle, the first. ``Path.resolve`` raises there."""
    return Path(os.path.realpath(path))


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return False


def _refuse_bundle(option: str, path: Path, folders: Iterable[Path], *, guest: bool = False) -> None:
    for each in folders:
        if not (each / _RECORD).is_file():
            continue
        from sim.cli.given import record_bytes  # noqa: PLC0415 - see _RECORD

        record = record_bytes(each)
        if record and not (guest and path.name != _RECORD and f'"{path.name}"'.encode() not in record):
            allowed = f"a place outside of {each}: that is a bundle, and its files are evidence"
            raise ConfigError(option, str(path), allowed)


def _unwritable(option: str, path: Path, error: OSError) -> ConfigError:
    return ConfigError(option, str(path), f"a file that can be written; {error.strerror or error}")
