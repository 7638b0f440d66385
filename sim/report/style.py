"""One look for every figure, and SVG whose bytes depend on nothing but the figure.

Owns palette, type sizes and the way to SVG. Must not know what is drawn.
"""

from __future__ import annotations

import html
import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.typing import RcKeyType

# Okabe and Ito's palette (Color Universal Design, 2008): told apart under the common kinds of colour blindness.
BLUE: Final = "#0072B2"
VERMILLION: Final = "#D55E00"
GREEN: Final = "#009E73"
ORANGE: Final = "#E69F00"
PURPLE: Final = "#CC79A7"
SKY: Final = "#56B4E9"
INK: Final = "#1A1A1A"
GREY: Final = "#6B6B6B"
PALE: Final = "#E4E4E4"
SHADE: Final = "#C9C9C9"

CYCLE: Final = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, GREY)
"""Colours of categories in the order in which they are given out."""
LINE_STYLES: Final = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
"""Given out beside the colours, so that a line is known without its colour."""

VERDICT_COLOURS: Final = {"PASS": "#00694C", "FAIL": "#A33A00", "INCONCLUSIVE": "#7A5500", "INVALID": "#7B2D5E"}
"""Dark enough on white for 4.5:1 (WCAG 2.2, criterion 1.4.3)."""

WIDTH_INCHES: Final = 7.4
"""Width of every figure: on a page of 1000 pixels the letters come out near the size of the text."""

_PAD: Final = 0.6
"""Space around axes, their labels and titles, in heights of a letter."""

_RC: Final[dict[RcKeyType, object]] = {
    "axes.axisbelow": True,
    "axes.edgecolor": GREY,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 9,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "figure.facecolor": "white",
    "figure.titlesize": 11,
    "figure.titleweight": "bold",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "grid.color": PALE,
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.6,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "savefig.facecolor": "white",
    "svg.fonttype": "none",  # text stays text: it can be searched, read aloud, and costs few bytes
    "svg.hashsalt": "tollgate",  # without it every file gets random identifiers
    "text.color": INK,
    "text.parse_math": False,  # a name with a dollar sign is a name
    "xtick.color": GREY,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 8.5,
    "ytick.color": GREY,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 8.5,
}

_NO_METADATA: Final = {"Creator": None, "Date": None, "Format": None, "Type": None}
"""matplotlib stamps version and date otherwise, and the same figure would differ by the day."""


class ReportFigure(Figure):
    """A figure with a text for those who cannot see it, which a notebook shows as SVG without pyplot.

    Attributes:
        alt: What the figure shows, in a sentence or two.
    """

    alt: str = ""

    def _repr_svg_(self) -> str:
        return svg(self)


@contextmanager
def styled() -> Iterator[None]:
    """Draw and save inside this block under one look, whatever the caller's settings are."""
    with mpl.rc_context(), warnings.catch_warnings():
        # A name may hold what DejaVu Sans lacks. Text stays text in the SVG, so the reader's own font shows it; only
        # its width is guessed here.
        warnings.filterwarnings("ignore", r"Glyph \d+|Matplotlib currently does not support", UserWarning)
        mpl.rcdefaults()
        mpl.rcParams.update(_RC)
        yield


def new_figure(height_inches: float) -> ReportFigure:
    """Return an empty figure of the common width; call inside ``styled``."""
    return ReportFigure(figsize=(WIDTH_INCHES, height_inches))


def finish(fig: Figure, title: str, colour: str) -> None:
    """Put the title on a figure that is drawn, and place its axes so that nothing overlaps; call inside ``styled``.

    Axes are placed once, here, and not at each save, so that a figure saved twice is the same twice. Constrained layout
    would not do: its solver orders its variables by their addresses in memory, and the last bits of places follow.
    """
    pad_inches = _PAD * mpl.rcParams["font.size"] / 72
    place = {"x": pad_inches / WIDTH_INCHES, "y": 1 - pad_inches / fig.get_figheight()}
    fig.suptitle(title, **place, ha="left", color=colour)
    fig.tight_layout(pad=_PAD)
    fig.set_layout_engine(None)  # with the engine left in place every save would draw twice


def svg(fig: Figure, prefix: str = "f") -> str:
    """Return a figure as one ``<svg>`` element, byte for byte the same for the same figure.

    Args:
        fig: The figure; its ``alt`` becomes the accessible name.
        prefix: Put before every id, so that figures can stand in one page without sharing ids. Letters, digits and
            hyphens.
    """
    buffer = io.StringIO()
    with styled():
        fig.savefig(buffer, format="svg", metadata=_NO_METADATA)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]  # the XML declaration and document type have no place inside a page
    text = _numbered(text, prefix)
    alt = html.escape(getattr(fig, "alt", ""), quote=True)
    return text.replace("<svg ", f'<svg role="img" aria-label="{alt}" ', 1).strip() + "\n"


def _numbered(text: str, prefix: str) -> str:
    """Return an SVG with its ids numbered in order of appearance, whether it is their element or a use of it.

    matplotlib makes ids by hashing floats, of which the last bits may depend on the processor.
    """
    numbers: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        return f"{match[1]}{prefix}-{numbers.setdefault(match[2], len(numbers))}"

    # Inside of tags only: a name with something like an id in it is text.
    return re.sub(r"<[^>]+>", lambda tag: re.sub(r'(\bid="|\bhref="#|\burl\(#)([^")]+)', number, tag[0]), text)
