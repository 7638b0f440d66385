"""Names of the things the controller counts by.

The host supplies them from a verified identity. They select internal lanes and never appear in evidence, metric labels
or spans.
"""

from __future__ import annotations

from typing import NewType

from tollgate.core.errors import ConfigError

__all__ = ["LANE_NAME_MAX", "LaneName", "lane_name"]

LaneName = NewType("LaneName", str)
"""A principal, workspace or provider of the controller: 1 to 128 printable characters."""

LANE_NAME_MAX = 128


def lane_name(text: object, path: str = "name") -> LaneName:
    """Check a name and return it.

    Args:
        text: The name; spaces inside are allowed, control characters and line breaks are not.
        path: Key path to name in the error.

    Raises:
        ConfigError: If it is no text, empty, too long, or holds a character that cannot be printed.

    >>> lane_name("quiet-1")
    'quiet-1'
    """
    if isinstance(text, str) and 1 <= len(text) <= LANE_NAME_MAX and text.isprintable():
        return LaneName(text)
    raise ConfigError(path, text, f"1 to {LANE_NAME_MAX} printable characters")
