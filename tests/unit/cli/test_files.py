from __future__ import annotations

import os

import pytest

from sim.cli import files
from tollgate.core.errors import ConfigError


def test_outputs_are_published_together_or_not_at_all(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("old")

    def both():
        with files.outputs() as opened:
            opened.text("--first", first).write("new")
            opened.text("--second", second / "below").write("new")

    with pytest.raises(ConfigError, match="--second"):
        both()
    assert first.read_text() == "old"
    assert list(tmp_path.iterdir()) == [first]


def test_nothing_is_in_its_place_before_the_end(tmp_path):
    place = tmp_path / "text"
    with files.outputs() as opened:
        opened.text("-o", place).write("all of it\n")
        assert not place.exists()
    assert place.read_bytes() == b"all of it\n"


def test_a_file_that_must_be_new_is_taken_away_when_it_is_not_finished(tmp_path):
    place = tmp_path / "text"

    def half():
        with files.outputs() as opened:
            opened.text("-o", place, new=True).write("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    assert list(tmp_path.iterdir()) == []


def test_a_link_that_leads_nowhere_is_in_the_way_of_a_new_file(tmp_path):
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(FileExistsError):
        files.create("FILE", tmp_path / "link", "text")
    assert not (tmp_path / "nowhere").exists()


def test_the_same_file_under_two_names_is_one_output(tmp_path):
    (tmp_path / "link").symlink_to("text")

    def both():
        with files.outputs() as opened:
            opened.text("--first", tmp_path / "text")
            opened.text("--second", tmp_path / "link")

    with pytest.raises(ConfigError, match="this one is for --first"):
        both()
    assert not (tmp_path / "text").exists()


def test_a_file_that_may_not_be_written_to_is_refused_though_its_folder_may(tmp_path, monkeypatch):
    place = tmp_path / "text"
    place.write_text("old")
    genuine = os.open

    def denied(path, flags, *rest):
        if path == place and flags & os.O_WRONLY:
            raise PermissionError(13, "Permission denied", str(path))
        return genuine(path, flags, *rest)

    monkeypatch.setattr(os, "open", denied)  # the superuser, whom tests may run as, is denied nothing
    with pytest.raises(ConfigError, match="Permission denied"), files.outputs() as opened:
        opened.text("-o", place)
    assert list(tmp_path.iterdir()) == [place]


def test_links_that_lead_round_in_a_circle_are_no_place_to_write_to(tmp_path):
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    with pytest.raises(ConfigError, match="-o: got"), files.outputs() as opened:
        opened.text("-o", tmp_path / "one")
    with pytest.raises(ConfigError, match="a folder that can be written to"):
        files.folder("--out", tmp_path / "one")
