import pytest

from tollgate.core.errors import ConfigError
from tollgate.core.ids import lane_name


@pytest.mark.parametrize("text", ["a", "quiet-1", "team a/b", "é", "x" * 128])
def test_printable_names_of_1_to_128_characters_are_accepted(text):
    assert lane_name(text) == text


@pytest.mark.parametrize("text", ["", "x" * 129, "a\nb", "tab\t", "\x00", "\ud800", None, 7])
def test_other_names_are_refused_with_their_path(text):
    with pytest.raises(ConfigError, match="principals"):
        lane_name(text, "principals")
