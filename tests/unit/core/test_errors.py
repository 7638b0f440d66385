import pytest

from tollgate.core.errors import (
    CallerError,
    ConfigError,
    EvidenceError,
    InvariantViolation,
    Refused,
    StoreError,
    TollgateError,
    nearest,
    shown,
)


@pytest.mark.parametrize("error", [ConfigError, CallerError, StoreError, EvidenceError, InvariantViolation, Refused])
def test_every_error_has_the_one_base(error):
    assert issubclass(error, TollgateError)


def test_message_names_file_place_value_and_what_is_allowed():
    error = ConfigError("gates[0].op", "=", 'one of "<=", ">="', file="m.yaml", hint='did you mean "<="?')
    assert str(error) == 'm.yaml: gates[0].op: got \'=\'; allowed: one of "<=", ">="; did you mean "<="?'


def test_message_about_a_whole_document_names_no_place():
    assert str(ConfigError("", 3, "at most 2 bytes")) == "got 3; allowed: at most 2 bytes"


@pytest.mark.parametrize(
    ("path", "prefix", "joined"),
    [("open_ns", "breaker", "breaker.open_ns"), ("[2]", "streams", "streams[2]"), ("", "seed", "seed"), ("a", "", "a")],
)
def test_within_puts_the_prefix_before_the_path(path, prefix, joined):
    assert ConfigError(path, 0, "more").within(prefix).path == joined


def test_within_keeps_the_file_that_is_known_already():
    error = ConfigError("a", 0, "more", file="inner.json", hint="h").within("b", file="outer.json")
    assert (error.file, error.path, error.hint) == ("inner.json", "b.a", "h")


def test_values_are_shown_on_one_line_and_cut():
    assert shown("line\nbreak") == r"'line\nbreak'"
    assert len(shown("x" * 10_000)) == 80
    assert shown(10**5000).startswith("an integer of ")


def test_nearest_knows_a_comparison_with_its_characters_swapped():
    assert nearest("=>", ["<=", ">=", "<", ">"]) == 'did you mean ">="?'
    assert nearest("=<", ["<=", ">=", "<", ">"]) == 'did you mean "<="?'


def test_nearest_offers_a_close_name_only():
    assert nearest("queue.wait.p9", ["queue.wait.p99", "attempts"]) == 'did you mean "queue.wait.p99"?'
    assert nearest("xyz", ["queue.wait.p99", "attempts"]) == ""
