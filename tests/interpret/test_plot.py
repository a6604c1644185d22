from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fresh import Interpreters
from golden.attentions import make_attention, make_inverse_attention, make_signed_attention
from itransf.data import Vocabulary
from itransf.errors import ConfigError, MissingExtraError, WriteError
from itransf.interpret import Attention, find_missing_letters, write_heatmap
from itransf.interpret.heatmap import arrange, shorten
from itransf.interpret.plot import choose_fonts, choose_width, draw, read_letters

pytest.importorskip("matplotlib")


def test_a_png_is_written_and_nothing_else(tmp_path: Path) -> None:
    path = write_heatmap(make_attention(), tmp_path / "deep" / "map.png")
    assert path.read_bytes().startswith(b"\x89PNG\r\n")
    assert [file.name for file in path.parent.iterdir()] == ["map.png"]


def test_an_svg_is_the_same_every_time(tmp_path: Path) -> None:
    first = write_heatmap(make_attention(), tmp_path / "first.SVG").read_bytes()
    second = write_heatmap(make_attention(), str(tmp_path / "second.svg")).read_bytes()
    assert first == second
    assert b"<svg" in first


def test_the_picture_says_what_it_shows() -> None:
    axes = draw(arrange(make_attention())).axes[0]
    rows = [label.get_text() for label in axes.get_yticklabels()]
    columns = [label.get_text() for label in axes.get_xticklabels()]
    assert rows == list(arrange(make_attention()).labels)
    assert sorted(set(columns)) == ["0", "1", "3", "4"]  # above and below
    assert "4 of 6 concepts (2 " in axes.get_title(loc="left")


def test_cells_are_coloured_by_weight_from_zero_to_one() -> None:
    mesh = draw(arrange(make_attention())).axes[0].collections[0]
    np.testing.assert_allclose(np.asarray(mesh.get_array()), arrange(make_attention()).values)
    assert mesh.get_clim() == (0.0, 1.0)


def test_signed_weights_get_an_even_scale() -> None:
    mesh = draw(arrange(make_signed_attention())).axes[0].collections[0]
    assert mesh.get_clim() == (-0.5, 0.5)


def test_without_negative_weights_the_scale_starts_at_zero() -> None:
    attention = make_inverse_attention()
    axes = draw(arrange(attention)).axes[0]
    assert axes.collections[0].get_clim() == (-0.75, 0.75)
    assert {"0", "2a"} <= {label.get_text() for label in axes.get_xticklabels()}
    axes = draw(arrange(replace(attention, weights=np.abs(attention.weights)))).axes[0]
    assert axes.collections[0].get_clim() == (0.0, 0.75)


def test_an_attention_without_weights_can_be_drawn(tmp_path: Path) -> None:
    attention = make_attention()
    empty = Attention(np.zeros_like(attention.weights), attention.relations, attention.supports, attention.counts)
    assert write_heatmap(empty, tmp_path / "empty.png").is_file()


def test_letters_the_font_lacks_do_not_warn(tmp_path: Path) -> None:
    weights = np.ones((2, 1, 1), dtype=np.float32)
    relations = Vocabulary(["首都"], kind="relation")
    attention = Attention(weights, relations, np.zeros((2, 1, 1), dtype=np.int64), np.ones(1, dtype=np.int64))
    assert write_heatmap(attention, tmp_path / "map.png").is_file()


@pytest.mark.parametrize("name", ["map.pdf", "map"])
def test_other_endings_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\.png, \.svg or \.html"):
        write_heatmap(make_attention(), tmp_path / name)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WriteError, match="cannot be written"):
        write_heatmap(make_attention(), tmp_path / "file" / "map.png")


def test_without_matplotlib_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[plots\]'"):
        write_heatmap(make_attention(), tmp_path / "map.png")
    assert not list(tmp_path.iterdir())


def test_reading_needs_no_matplotlib_and_drawing_no_pyplot(interpreters: Interpreters, tmp_path: Path) -> None:
    code = (
        "import sys, itransf.interpret; assert 'matplotlib' not in sys.modules\n"
        "from itransf.interpret.plot import _load_matplotlib; _load_matplotlib()\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    assert interpreters.call("-c", code, folder=tmp_path).code == 0


def test_long_labels_lose_their_middle_and_keep_their_side() -> None:
    label = "/people/person/spouse_s./people/marriage/location_of_ceremony (T)"
    short = shorten(label, 30)
    assert len(short) == 30
    assert short.startswith("/people")
    assert short.endswith("ceremony (T)")
    assert shorten("near (H)", 30) == "near (H)"


def test_columns_grow_narrower_where_there_are_many() -> None:
    assert choose_width(10) > choose_width(150) > choose_width(240)
    assert choose_width(240) == choose_width(300)


def test_text_stays_text_in_an_svg(tmp_path: Path) -> None:
    text = write_heatmap(make_attention(), tmp_path / "map.svg", {1: "lies in 首都"}).read_text(encoding="utf-8")
    assert "has official language (H)" in text
    assert "1 lies in 首都" in text


def test_a_page_needs_no_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    page = write_heatmap(make_attention(), tmp_path / "map.html", {1: "city"}).read_text(encoding="utf-8")
    assert "<!doctype html>" in page


def test_more_relations_are_drawn_where_more_are_asked_for(tmp_path: Path) -> None:
    weights = np.ones((2, 90, 1), dtype=np.float32)
    names = Vocabulary([f"r{number}" for number in range(90)], kind="relation")
    attention = Attention(weights, names, np.zeros((2, 90, 1), dtype=np.int64), np.ones(90, dtype=np.int64))
    assert "r85 (H)" not in write_heatmap(attention, tmp_path / "few.svg").read_text(encoding="utf-8")
    more = write_heatmap(attention, tmp_path / "more.svg", most_relations=90)
    assert "r85 (H)" in more.read_text(encoding="utf-8")


def test_letters_no_font_has_are_named_and_other_fonts_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    private = "\ue123"  # nobody's letter
    assert find_missing_letters(make_attention()) == ""
    assert find_missing_letters(make_attention(), {1: f"a {private}"}) == private
    monkeypatch.setattr("itransf.interpret.plot.read_letters", lambda path: {private} if "cmr10" in path else {"a"})
    assert choose_fonts(["a", private]) == (["DejaVu Sans", "cmr10"], "")


def test_a_font_that_cannot_be_read_has_no_letters(tmp_path: Path) -> None:
    (tmp_path / "broken.ttf").write_bytes(b"not a font")
    assert read_letters(str(tmp_path / "broken.ttf")) == set()


def test_without_fonts_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.font_manager", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[plots\]'"):
        find_missing_letters(make_attention())
