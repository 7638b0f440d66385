import pytest

from tollgate.core.errors import ConfigError
from tollgate.core.ids import (
    UNSTATED_REVISION,
    account_id,
    key_id,
    lane_name,
    lease_id,
    policy_revision,
    principal,
    request_id,
)


@pytest.mark.parametrize("text", ["a", "quiet-1", "team a/b", "é", "x" * 128])
def test_printable_names_of_1_to_128_characters_are_accepted(text):
    assert lane_name(text) == text


@pytest.mark.parametrize("text", ["", "x" * 129, "a\nb", "tab\t", "\x00", "\ud800", None, 7])
def test_other_names_are_refused_with_their_path(text):
    with pytest.raises(ConfigError, match="principals"):
        lane_name(text, "principals")


WIDTHS = [(read, 32) for read in (account_id, key_id, lease_id, principal, request_id)] + [(policy_revision, 64)]


@pytest.mark.parametrize(("read", "width"), WIDTHS)
def test_identifiers_have_one_spelling_of_one_width(read, width):
    text = ("0123456789abcdef" * 4)[:width]
    assert read(text) == text
    others = [text[1:], text + "0", text.upper(), "0x" + text[2:], " " + text[1:], "_" + text[1:], "\u0661" + text[1:]]
    for other in [*others, text[1:] + "\n", "", "0" * (96 - width), int(text, 16), None, text.encode()]:
        with pytest.raises(ConfigError, match=f"there.*exactly {width} digits"):
            read(other, "there")


def test_unstated_revision_is_a_revision():
    assert policy_revision(UNSTATED_REVISION) == "0" * 64
