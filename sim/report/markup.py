"""Texts of a record as XML and Markdown have to carry them.

Names in a record come from whoever wrote the manifest, or out of a trace. Owns that none of them can end an element,
start markup, or put into a document what its format forbids. Must not know what a text says.
"""

from __future__ import annotations

import re
from typing import Final

_NOT_IN_XML: Final = re.compile("[^\t\n\r\\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What is no ``Char`` of XML 1.0 (section 2.2), neither as itself nor as a reference: most control characters, lone
surrogates, U+FFFE and U+FFFF."""

_CONTROL: Final = re.compile("[\\x00-\\x1f\\x7f-\\x9f\u2028\u2029\ud800-\udfff]")
"""Control characters (C0, DEL, C1), the separators of lines and paragraphs, and lone surrogates."""

_XML: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})
_XML_BLANKS: Final = str.maketrans({"\t": "&#9;", "\n": "&#10;", "\r": "&#13;"})

_MARKDOWN: Final = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>|&~#$"})
"""What begins markup inside a line, and what ends a cell of a table; each may be escaped (CommonMark 0.31, 2.4)."""


def xml_text(text: str) -> str:
    """Return a text as the content of an XML element; what XML cannot hold is spelled as an escape."""
    return _NOT_IN_XML.sub(_spelled, text).translate(_XML).replace("\r", "&#13;")


def xml_attribute(text: str) -> str:
    """Return a text as the value of an XML attribute in double quotes; a reader gets its blanks back as they were."""
    return _NOT_IN_XML.sub(_spelled, text).translate(_XML).translate(_XML_BLANKS)


def markdown(text: str) -> str:
    """Return a text as one line of Markdown that shows it, in a sentence or in a cell."""
    return _CONTROL.sub(_spelled, text).translate(_MARKDOWN)


def markdown_code(text: str) -> str:
    """Return a text as a fenced block, behind a fence longer than any inside; line feeds stay, as a command's count."""
    shown = "\n".join(_CONTROL.sub(_spelled, line) for line in text.split("\n"))
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{shown}\n{fence}"


def _spelled(match: re.Match[str]) -> str:
    r"""Return a character as Python writes it: ``\x1b``, ``\ufffe``."""
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
