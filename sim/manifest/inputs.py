"""Reading files: the manifest itself and those it names, with one clear complaint for what cannot be read."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

from sim.manifest.documents import MAX_BYTES
from sim.manifest.model import InputFile
from sim.manifest.value_files import read_values
from sim.manifest.wording import Said
from tollgate.core.errors import ConfigError


def read_bytes(path: Path, what: str) -> bytes:
    """Return the bytes of a small file.

    Args:
        path: The file.
        what: What it should be, for the complaint.

    Raises:
        ConfigError: If it is missing, a folder, unreadable or larger than a manifest may be.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise _unreadable(path, error, what, str(path), "") from None
    if len(data) > MAX_BYTES:
        raise ConfigError(
            "", Said(f"more than {MAX_BYTES} bytes"), f"{what} of at most {MAX_BYTES} bytes", file=str(path)
        )
    return data


class Inputs:
    """The files that a manifest names, each bound by its digest.

    Attributes:
        files: Each of them once, by name, in the order in which they were first met.
    """

    def __init__(self, folder: Path) -> None:
        """Read names relative to the manifest's folder."""
        self._folder = folder
        self.files: dict[str, InputFile] = {}

    def bind(self, name: str, sha256: str, key: str, what: str) -> Path:
        """Return the path of a file after comparing its digest.

        Args:
            name: The file as the manifest names it.
            sha256: Hex digest it must have, with or without ``sha256:`` before it.
            key: Key path of the block that names it.
            what: What it should be, for complaints.

        Raises:
            ConfigError: If it cannot be read or has another digest.
        """
        self.files[name] = _input_file(self._folder, name, sha256.removeprefix("sha256:"), key, what)
        return self._folder / name

    def values(
        self, name: str, sha256: str, key: str, column: str | None, scale: Fraction, unit: int, least: int
    ) -> bytes:
        """Return the values of a file, as :func:`sim.manifest.value_files.read_values` does.

        Args:
            name: The file as the manifest names it.
            sha256: Hex digest it must have.
            key: Key path of the block that names it.
            column: As there.
            scale: As there.
            unit: As there.
            least: As there.

        Raises:
            ConfigError: If it cannot be read, has another digest or a row without a usable value.
        """
        path = self.bind(name, sha256, key, "a file of values")
        try:
            return _values(path, sha256.removeprefix("sha256:"), column, scale, unit, least)
        except ConfigError as error:
            raise error.within(file=str(path)) from None


@lru_cache(maxsize=8)
def _values(path: Path, sha256: str, column: str | None, scale: Fraction, unit: int, least: int) -> bytes:
    """Return the values of a file whose digest has just been compared.

    Kept, as one command reads a manifest several times and a long file takes a second; ``sha256`` tells files apart.
    """
    del sha256
    with path.open("rb") as stream:
        return read_values(stream, column, scale, unit, least)


def _input_file(folder: Path, name: str, sha256: str, key: str, what: str) -> InputFile:
    """Return the description of a file that a manifest binds by its digest.

    Args:
        folder: The manifest's folder.
        name: The file as the manifest names it.
        sha256: Hex digest it must have.
        key: Key path of the block that names it.
        what: What it should be.

    Raises:
        ConfigError: If it cannot be read or has another digest.
    """
    path = folder / name
    try:
        with path.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
            size = stream.tell()
    except (OSError, ValueError) as error:
        raise _unreadable(path, error, what, None, f"{key}.file") from None
    if found != sha256:
        raise ConfigError(f"{key}.sha256", sha256, f"{found}, the digest of {name}; another file has taken its place")
    return InputFile(name, sha256, size)


def _unreadable(path: Path, error: Exception, what: str, file: str | None, key: str) -> ConfigError:
    if path.is_dir():
        return ConfigError(key, Said("a folder"), f"{what}: a file", file=file)
    if isinstance(error, FileNotFoundError):
        return ConfigError(
            key,
            Said("no such file" if file else f"no such file: {path.name}"),
            f"{what}: a file that exists",
            file=file,
        )
    return ConfigError(
        key, Said(getattr(error, "strerror", None) or str(error)), f"{what}: a file that can be read", file=file
    )
