"""Whatever stands in a manifest, it loads or is refused in one sentence that names the file."""

from __future__ import annotations

import copy
import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.manifest import parse
from sim.manifest.documents import parse_document
from tollgate.core.errors import ConfigError

ROOT = Path(__file__).parents[3]
FILES = (
    "manifests/load-manifest.v1.json",
    "manifests/load-manifest.v2.json",
    "tests/fixtures/manifests/everything.yaml",
)
DOCUMENTS = {
    name: parse_document((ROOT / name).read_bytes(), "json" if name.endswith("json") else "yaml") for name in FILES
}

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, 1, -1, 2**31, 2**53 - 1, 2**53, 2**63, 2**64, 10**30, 0.5, -0.5, 1e-9, 1e300, 1.5, 100.0]),
    st.text(max_size=5),
    st.sampled_from(
        [
            "0.5",
            "1e400",
            "nan",
            "-1",
            "poisson",
            "nhpp",
            "unknown",
            "mixture",
            "empirical",
            "x" * 200,
            "\x00",
            "\ud7ff",
            "noisy",
            "calm-1",
            "a.b",
        ]
    ),
    st.lists(st.integers(-1, 3), max_size=3),
    st.dictionaries(st.sampled_from(["kind", "value", "min", "name", "id", ""]), st.integers(-1, 3), max_size=3),
)


def places(node, path=()):
    """Return the path of every value of a document."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    found = [path] if path else []
    for key, value in items:
        found += places(value, (*path, key))
    return found


def replaced(document, path, value, how):
    result = copy.deepcopy(document)
    node = result
    for key in path[:-1]:
        node = node[key]
    if how == "remove":
        del node[path[-1]]
    elif how == "add" and isinstance(node, dict):
        node[f"{path[-1]}x"] = value
    elif how == "repeat" and isinstance(node, list):
        node.append(copy.deepcopy(node[path[-1]]))
    else:
        node[path[-1]] = value
    return result


def text_of(document):
    return json.dumps(document, default=lambda value: float(value) if isinstance(value, Decimal) else value).encode()


def refusal(raw, path):
    """Return what the loader says against a manifest, or None if it loads."""
    try:
        parse(raw, path=path)
    except ConfigError as error:
        return str(error)
    return None


@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
def test_any_change_of_one_value_loads_or_is_refused_in_one_sentence(name, data):
    document = DOCUMENTS[name]
    path = data.draw(st.sampled_from(places(document)))
    how = data.draw(st.sampled_from(["replace", "replace", "replace", "remove", "add", "repeat"]))
    raw = text_of(replaced(document, path, data.draw(ODD), how))
    said = refusal(raw, ROOT / "tests/fixtures/manifests/changed.json")
    if said is not None:
        assert "changed.json: " in said
        assert len(said.splitlines()) == 1
        assert len(said) < 1500


@given(st.binary(max_size=200) | st.text(alphabet="{}[]:,-&*!#'\"\\ \n\tab01.?|>%@`~", max_size=80).map(str.encode))
def test_any_bytes_load_or_are_refused_in_one_sentence(raw):
    for form in ("json", "yaml"):
        with pytest.raises(ConfigError) as caught:
            parse(raw, path=Path("bytes"), format=form)
        assert str(caught.value).startswith("bytes: ")
        assert len(str(caught.value).splitlines()) == 1
