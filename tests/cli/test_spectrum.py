"""``pgso spectrum``, called in-process: tables, files, JSON, and what it refuses."""

import json

import networkx
import numpy as np
import pytest
import scipy.sparse
from typer.testing import CliRunner

from pgso.cli.main import app

RUNNER = CliRunner()


def spectrum(*arguments):
    return RUNNER.invoke(app, ["spectrum", *map(str, arguments)])


@pytest.fixture
def edges(tmp_path):
    """A karate club as a user may have it: each edge in both directions, with column names."""
    graph = networkx.karate_club_graph().to_directed()
    path = tmp_path / "edges.csv"
    path.write_text("source,target\n" + "".join(f"{u},{v}\n" for u, v in graph.edges))
    return path


def test_it_prints_a_table_and_writes_a_picture_and_a_page(edges, tmp_path):
    result = spectrum(edges, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "34 nodes, 78 undirected edges" in result.output
    assert "[-0.8889," in result.output
    assert (tmp_path / "out" / "spectrum.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "out" / "spectrum.html").read_text()
    assert "<svg" in page
    for fetched in ('href="http', "src=", "url(http", "@import"):
        assert fetched not in page  # nothing comes from elsewhere


def test_all_of_table_1_can_be_compared_as_json(edges, tmp_path):
    result = spectrum(edges, "--compare-presets", "--json", "--out", tmp_path)
    output = json.loads(result.output)
    names = [operator["name"] for operator in output["operators"]]
    assert names == [
        "adjacency",
        "laplacian",
        "signless_laplacian",
        "random_walk_laplacian",
        "symmetric_laplacian",
        "gcn",
        "mean",
    ]
    laplacian = output["operators"][1]
    assert laplacian["optimal"][0] >= laplacian["theorem2"][0]
    assert laplacian["extremes"][0] == pytest.approx(0, abs=1e-8)
    assert np.trapezoid(laplacian["density"]["density"], laplacian["density"]["grid"]) == (
        pytest.approx(1)
    )


def test_a_record_shows_start_and_learned_operator_side_by_side(edges, tmp_path):
    record = tmp_path / "record.json"
    start, learned = [0, 1, 0, 0, -0.5, -0.5, 1], [0.5, 1.6, 0.5, 0.3, -0.2, -0.2, 1.5]
    record.write_text(
        json.dumps({"spec": {"dataset": str(edges)}, "start": [start], "parameters": [learned]})
    )
    output = json.loads(spectrum("--record", record, "--json", "--out", tmp_path).output)
    assert [operator["name"] for operator in output["operators"]] == [
        "operator, start",
        "operator, learned",
    ]
    assert list(output["operators"][1]["S"].values()) == learned


def test_a_dataset_is_loaded_by_name(tmp_path):
    result = spectrum("karate", "--preset", "laplacian", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "34 nodes" in result.output


def test_a_scipy_matrix_and_an_edge_list_with_one_direction_are_read(tmp_path):
    matrix = networkx.to_scipy_sparse_array(networkx.path_graph(4))
    scipy.sparse.save_npz(tmp_path / "path.npz", matrix)
    (tmp_path / "path.csv").write_text("0,1,2.0\n1,2,2.0\n2,3,2.0\n")
    for name, options, most in (("path.npz", [], 4), ("path.csv", ["--undirected"], 8)):
        result = spectrum(
            tmp_path / name, *options, "--preset", "laplacian", "--json", "--out", tmp_path
        )
        assert json.loads(result.output)["operators"][0]["theorem2"] == [0, most]


@pytest.mark.parametrize("name", ["graph.txt", "graph.tsv", "graph.edges"])
def test_edge_lists_have_more_than_one_usual_ending(name, tmp_path):
    (tmp_path / name).write_text("0\t1\n1\t0\n")
    result = spectrum(tmp_path / name, "--json", "--out", tmp_path)
    assert result.exit_code == 0, result.output


def test_names_of_users_are_escaped_in_the_page(edges, tmp_path):
    nasty = edges.rename(tmp_path / "<b>&[red].csv")
    result = spectrum(nasty, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "<b>&[red]" in result.output
    page = (tmp_path / "out" / "spectrum.html").read_text()
    assert "&lt;b&gt;&amp;[red].csv" in page
    assert "<b>" not in page


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0,1\n", "the edge 0 → 1 has no reverse; --undirected gives"),
        ("0,1,2,3\n", "4 columns"),
        ("a,b\nc,d\n", "is 'a,b' a header, or a line like the others?"),
        ("0,1.5\n", "not whole numbers"),
        ("# a,b\nfrom,to\n0,1\n2\n", "line 4: expected 2 cells, got 1 ('2')"),
    ],
)
def test_what_is_not_an_undirected_edge_list_is_refused_in_one_sentence(content, message, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text(content)
    result = spectrum(path, "--out", tmp_path)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_what_is_not_a_record_is_refused(tmp_path):
    path = tmp_path / "record.json"
    path.write_text("{}")
    result = spectrum("--record", path)
    assert result.exit_code == 2
    assert "is not a record of a run" in result.stderr


def test_nothing_named_and_options_that_exclude_each_other_are_refused(tmp_path):
    assert "pgso spectrum karate" in spectrum().stderr
    both = spectrum("--record", tmp_path / "r.json", "--compare-presets")
    assert "exclude each other" in both.stderr


def test_the_graph_of_a_record_is_the_one_of_its_run(pgso, tmp_path):
    trained = pgso(
        "train", "minesweeper", "--epochs", 1, "--option", "rows=6", "--option", "cols=6"
    )
    assert trained.exit_code == 0, trained.output
    (path,) = (tmp_path / "runs" / "records").glob("*.json")
    shown = pgso("spectrum", "--record", path, "--json")
    assert json.loads(shown.stdout)["graph"]["num_nodes"] == 36


@pytest.mark.parametrize("content", ["0,1,1e308\n1,0,1e308\n", "0,1,1e200\n1,0,1e200\n"])
@pytest.mark.parametrize("preset", ["adjacency", "gcn"])
def test_numbers_beyond_single_precision_are_one_sentence(tmp_path, content, preset):
    (tmp_path / "edges.csv").write_text(content)
    arguments = ("--preset", preset, "--out", tmp_path)
    result = spectrum(tmp_path / "edges.csv", *arguments)
    assert result.exit_code == 2
    assert "expected a number up to 3.4e+38" in result.stderr


def test_operators_on_relations_are_not_shown_on_the_whole_graph(pgso, tmp_path):
    folder = tmp_path / "rel"
    folder.mkdir()
    edges = [f"{i},{(i + 1) % 12},ring\n0,{i + 1},star\n" for i in range(11)]
    (folder / "edges.csv").write_text("source,target,relation\n" + "".join(edges))
    labels = [f"{i},{'ab'[i % 2]}\n" for i in range(12)]
    (folder / "labels.csv").write_text("node,label\n" + "".join(labels))
    terms = "self,adjacency@ring,adjacency@star"
    trained = pgso("train", folder, "--terms", terms, "--operator", "pgso", "--epochs", 1)
    assert trained.exit_code == 0, trained.output
    (path,) = (tmp_path / "runs" / "records").glob("*.json")
    refused = pgso("spectrum", "--record", path)
    assert refused.exit_code == 2
    assert "operators on the relations ring, star" in refused.output


def test_an_operator_for_each_channel_is_said_to_be_shown_by_its_mean(pgso, tmp_path):
    options = ("--epochs", 1, "--operator", "mpgso", "--set", "shape=channel")
    assert pgso("train", "karate", *options).exit_code == 0
    (path,) = (tmp_path / "runs" / "records").glob("*.json")
    shown = pgso("spectrum", "--record", path, "--json")
    assert "mean S over channels, learned" in shown.stdout
