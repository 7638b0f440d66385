from __future__ import annotations

import io
import sys

from sim.cli import console, progress

S = 10**9


class Terminal(io.StringIO):
    """A stream that a person looks at."""

    def isatty(self) -> bool:
        return True


def as_terminal(monkeypatch) -> Terminal:
    """Make stderr a terminal. No fixture: pytest puts its own stream back between a fixture and its test."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return stream


def test_plain_lines_come_now_and_then_with_the_time_left(capsys):
    clock = iter([0.0, 1.0, 10.0, 15.0, 30.0])
    tell = progress.lines(lambda: next(clock))
    for now_s in (1, 25, 30, 75):
        tell(now_s * S, 100 * S)
    # 10 s for a quarter: 30 s left; 30 s for three quarters: 10 s left. At 1 s and 5 s after a line there is none.
    assert capsys.readouterr().err == "simulating: 25 %, about 30 s left\nsimulating: 75 %, about 10 s left\n"


def test_a_short_run_is_not_commented_on(capsys):
    with progress.shown(quiet=False) as tell:
        assert tell is not None
        tell(S, 2 * S)
    assert capsys.readouterr() == ("", "")


def test_quiet_shows_nothing(monkeypatch):
    terminal = as_terminal(monkeypatch)
    with progress.shown(quiet=True) as tell:
        assert tell is None
    assert terminal.getvalue() == ""


def test_a_terminal_gets_a_bar(monkeypatch):
    terminal = as_terminal(monkeypatch)
    with progress.shown(quiet=False) as tell:
        tell(S, 2 * S)
    assert "50%" in terminal.getvalue()


def test_a_terminal_that_cannot_move_its_cursor_gets_lines(monkeypatch):
    terminal = as_terminal(monkeypatch)
    monkeypatch.setenv("TERM", "dumb")
    with progress.shown(quiet=False) as tell:
        tell(S, 2 * S)
    assert terminal.getvalue() == ""


def test_colour_is_for_terminals_whose_user_wants_it(monkeypatch):
    terminal = as_terminal(monkeypatch)
    assert console.wants_colour(terminal)
    assert not console.wants_colour(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not console.wants_colour(terminal)


def test_the_bar_has_no_colour_where_none_is_wanted(monkeypatch):
    terminal = as_terminal(monkeypatch)
    monkeypatch.setenv("NO_COLOR", "1")
    with progress.shown(quiet=False) as tell:
        tell(S, 2 * S)
    assert "50%" in terminal.getvalue()
    assert "\x1b[3" not in terminal.getvalue()


def test_a_pipe_is_as_wide_as_a_wide_terminal():
    assert console.width(io.StringIO()) == console.WIDTH


def test_a_closed_stream_is_written_to_without_effect(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    console.note("nobody listens")
