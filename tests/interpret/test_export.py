from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from golden.attentions import make_attention
from itransf.data import Graph
from itransf.errors import ConfigError, WriteError
from itransf.interpret.export import export, export_tables, tabulate_attention
from itransf.models import MODELS, Model, Sizes
from itransf.models.translation import TranslationConfig
from itransf.prediction import write_table
from itransf.run import Run
from stubs import BilinearConfig, BilinearModel, MatrixTransH, TableModel, TransH

DIM = 3
NAMES = {
    "transe": ["entities", "relations"],
    "transr": ["entities", "relations", "matrices"],
    "stranse": ["entities", "relations", "matrices"],
    "lineare": ["entities", "relations", "matrices"],
    "itransf": ["entities", "relations", "concepts", "attention"],
}


def make_graph() -> Graph:
    graph = Graph.from_names("small", [("a", "likes", "b"), ("b", "knows", "c"), ("c", "knows", "d")])
    return graph.labelled({"a": "Ann, the first", "knows": "is acquainted with"})


def make_model(name: str, **more: object) -> Model:
    torch.manual_seed(0)
    if name == "itransf":
        more = {"concepts": 4, "support_size": 2, **more}
    return MODELS[name](Sizes(4, 2), MODELS[name].Config(dim=DIM, **more))


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def numbers(row: dict[str, str]) -> list[float]:
    return [float(row[f"d{place}"]) for place in range(DIM)]


@pytest.mark.parametrize("name", NAMES)
def test_vectors_stand_beside_names_and_labels(name: str) -> None:
    model = make_model(name)
    tables = export_tables(model, make_graph())
    assert list(tables) == NAMES[name]
    entities = tables["entities"]
    assert entities.schema.field("vector").type == pa.list_(pa.float32())
    assert entities.column("name").to_pylist() == ["a", "b", "c", "d"]
    assert entities.column("label").to_pylist() == ["Ann, the first", "b", "c", "d"]
    assert entities.column("vector").to_pylist() == model.entities.tolist()
    relations = tables["relations"]
    assert relations.column("label").to_pylist() == ["likes", "is acquainted with"]
    assert relations.column("vector").to_pylist() == model.relations.tolist()


def test_any_model_exports_its_embeddings() -> None:
    model = BilinearModel(Sizes(4, 2), BilinearConfig(dim=3))
    tables = export_tables(model, make_graph())
    assert list(tables) == ["entities", "relations"]
    assert tables["relations"].column("vector").to_pylist() == model.relations.tolist()
    model.relations = torch.nn.Parameter(torch.complex(torch.ones(2, 3), torch.zeros(2, 3)))
    assert export_tables(model, make_graph())["relations"].column("vector").to_pylist() == [[1.0, 0.0] * 3] * 2


def test_projections_of_other_kinds_export_matrices_where_they_have_some() -> None:
    config = TranslationConfig(dim=3)
    assert "matrices" not in export_tables(TransH(Sizes(4, 2), config), make_graph())
    model = MatrixTransH(Sizes(4, 2), config)
    rows = export_tables(model, make_graph())["matrices"].to_pylist()
    expected = model.projection("head").matrices(torch.arange(2)).flatten(1)
    assert np.allclose([row["matrix"] for row in rows[:2]], expected.detach())


@pytest.mark.parametrize("name", ["transr", "stranse", "lineare"])
def test_matrices_are_those_of_each_relation_and_side(name: str) -> None:
    model = make_model(name)
    with torch.no_grad():
        model.project_tail.weight.normal_()
    rows = export_tables(model, make_graph())["matrices"].to_pylist()
    assert [(row["relation"], row["side"]) for row in rows] == [
        *(("likes", "head"), ("knows", "head")),
        *(("likes", "tail"), ("knows", "tail")),
    ]
    assert rows[1]["label"] == "is acquainted with"
    for row in rows:
        projection = model.project_head if row["side"] == "head" else model.project_tail
        place = torch.tensor([["likes", "knows"].index(row["relation"])])
        matrix = np.array(row["matrix"]).reshape(row["rows"], row["columns"])
        assert len(matrix) == (1 if name == "lineare" else DIM)
        assert np.allclose(matrix, projection.matrices(place)[0].detach())


def test_concepts_and_attention_compose_the_relations_matrices() -> None:
    model = make_model("itransf")
    with torch.no_grad():
        model.project_head.scores.normal_()
    tables = export_tables(model, make_graph())
    concepts = {
        row["concept"]: np.array(row["matrix"]).reshape(row["rows"], row["columns"])
        for row in tables["concepts"].to_pylist()
    }
    assert sorted(concepts) == [0, 1, 2, 3]
    weights = tables["attention"].to_pylist()
    assert len(weights) == 2 * 2 * 2  # relations x sides x support
    assert all(row["weight"] != 0 for row in weights)
    assert {row["label"] for row in weights} == {"likes", "is acquainted with"}
    for side, projection in (("head", model.project_head), ("tail", model.project_tail)):
        for number, relation in enumerate(["likes", "knows"]):
            mixed = sum(
                row["weight"] * concepts[row["concept"]]
                for row in weights
                if (row["relation"], row["side"]) == (relation, side)
            )
            assert np.allclose(mixed, projection.matrices(torch.tensor([number]))[0].detach(), atol=1e-6)


def test_weights_of_exactly_zero_are_left_out() -> None:
    model = make_model("itransf", attention="l1")
    with torch.no_grad():
        model.project_head.scores.zero_()
    weights = export_tables(model, make_graph())["attention"]
    assert set(weights.column("side").to_pylist()) == {"tail"}
    assert len(weights) == 2 * 4


def test_tables_do_not_change_with_the_model() -> None:
    model = make_model("transe")
    table = export_tables(model, make_graph())["entities"]
    before = table.column("vector").to_pylist()
    with torch.no_grad():
        model.entities.zero_()
    assert table.column("vector").to_pylist() == before


@pytest.mark.parametrize("name", NAMES)
def test_parquet_files_hold_the_tables(tmp_path: Path, name: str) -> None:
    model, graph = make_model(name), make_graph()
    paths = export(model, graph, tmp_path / "new" / "folder")
    assert [path.name for path in paths] == [f"{table}.parquet" for table in NAMES[name]]
    for path, table in zip(paths, export_tables(model, graph).values(), strict=True):
        assert pq.read_table(path).equals(table)
    assert sorted(path.parent.iterdir()) == sorted(paths)


def test_tables_of_others_stay_until_they_may_be_overwritten(tmp_path: Path) -> None:
    graph, mine = make_graph(), tmp_path / "matrices.csv"
    mine.write_text("mine")
    with pytest.raises(ConfigError, match=r"matrices\.csv exists already.*--overwrite"):
        export(make_model("transe"), graph, tmp_path, "csv")
    assert [path.name for path in tmp_path.iterdir()] == [mine.name]
    export(make_model("transe"), graph, tmp_path)  # as Parquet they have other names
    for name in ("itransf", "stranse"):
        export(make_model(name), graph, tmp_path, "csv", overwrite=True)
        assert {path.stem for path in tmp_path.glob("*.csv")} == set(NAMES[name])
    assert {path.stem for path in tmp_path.glob("*.parquet")} == set(NAMES["transe"])


def test_csv_spreads_vectors_over_columns(tmp_path: Path) -> None:
    model = make_model("itransf")
    paths = {path.stem: path for path in export(model, make_graph(), str(tmp_path), "csv")}
    entities = read_csv(paths["entities"])
    assert list(entities[0]) == ["name", "label", "d0", "d1", "d2"]
    assert entities[0]["label"] == "Ann, the first"
    assert torch.equal(torch.tensor([numbers(row) for row in entities]), model.entities)
    concepts = read_csv(paths["concepts"])
    assert list(concepts[0]) == ["concept", "row", "d0", "d1", "d2"]
    assert [(row["concept"], row["row"]) for row in concepts[:4]] == [
        ("0", "0"),
        ("0", "1"),
        ("0", "2"),
        ("1", "0"),
    ]
    values = torch.tensor([numbers(row) for row in concepts])
    assert torch.equal(values.view(4, DIM, DIM), model.concepts)
    assert list(read_csv(paths["attention"])[0]) == ["relation", "label", "side", "concept", "weight"]


def test_csv_of_matrices_names_relation_and_side(tmp_path: Path) -> None:
    model = make_model("stranse")
    *_, path = export(model, make_graph(), tmp_path, "csv")
    rows = read_csv(path)
    assert list(rows[0]) == ["relation", "label", "side", "row", "d0", "d1", "d2"]
    tail = torch.tensor([numbers(row) for row in rows if row["side"] == "tail"])
    assert torch.equal(tail.view(2, DIM * DIM), model.project_tail.weight)


def test_other_formats_and_models_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'parqet'.*Did you mean 'parquet'"):
        export(make_model("transe"), make_graph(), tmp_path, "parqet")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"TableModel .*no embeddings"):
        export_tables(TableModel(torch.zeros(4, 2, 4)), make_graph())
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match="cannot be written"):
        export(make_model("transe"), make_graph(), tmp_path / "file")


def test_a_table_of_weights_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WriteError, match="cannot be written"):
        write_table(tabulate_attention(make_attention()), tmp_path / "file" / "weights.csv")


def test_the_weights_behind_a_heat_map_stand_beside_the_names_of_concepts() -> None:
    table = tabulate_attention(make_attention(), {3: "close"})
    assert {row["concept"] for row in table.to_pylist() if row["name"]} == {3}
    assert table.num_rows == np.count_nonzero(make_attention().weights)


def test_signed_sums_can_be_composed_from_their_tables(signed_run: Run, tmp_path: Path) -> None:
    model, graph = signed_run.model, signed_run.graph
    tables = export_tables(model, graph)
    assert list(tables) == ["entities", "concepts", "attention"]
    vectors = {line["concept"]: line for line in tables["concepts"].to_pylist()}
    composed = np.zeros((6, 16))
    for line in tables["attention"].to_pylist():
        concept = vectors[line["concept"]]
        assert line["side"] == "relation"
        assert line["symmetry"] == concept["symmetry"]
        half = slice(0, 8) if concept["symmetry"] == "symmetric" else slice(8, 16)
        composed[graph.relations.index(line["relation"]), half] += line["score"] * np.array(concept["vector"])
    np.testing.assert_allclose(composed, model.relation_table().detach().numpy(), atol=1e-6)
    assert {path.name for path in export(model, graph, tmp_path, "csv")} == {f"{name}.csv" for name in tables}
    lines = read_csv(write_table(tabulate_attention(signed_run.concepts(), {0: "first"}), tmp_path / "uses.csv"))
    assert len(lines) == len(tables["attention"])
    assert {line["name"] for line in lines if line["concept"] == "0"} <= {"first"}
