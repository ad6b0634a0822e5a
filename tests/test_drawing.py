"""Pictures: what is in them, what is left out, and what they say about it."""

import xml.etree.ElementTree as ET
from types import SimpleNamespace

import matplotlib
import networkx
import numpy as np
import pytest
import torch

matplotlib.use("Agg")

from matplotlib import pyplot
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

import pgso
from pgso.data.description import sketch_of
from pgso.drawing import GREY, PALETTE, cells, chosen_nodes, errors, paint, sketch, svg
from pgso.errors import InputError
from pgso.evaluation.baselines import data_record
from pgso.report.page import judged_graph, run_page
from pgso.report.sections import as_html

KARATE = networkx.karate_club_graph()
GRAPH = pgso.Graph.from_networkx(KARATE)
EDGES = GRAPH.edge_index.numpy()
CLUBS = [KARATE.nodes[k]["club"] for k in KARATE]


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(scope="module", autouse=True)
def _drawn_as_for_readers(real_layout):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(networkx, "spring_layout", real_layout)
        yield


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


def lines(ax):
    return [c for c in ax.collections if isinstance(c, LineCollection)]


def test_a_small_graph_is_drawn_whole_with_every_edge_once(ax):
    assert GRAPH.plot(ax=ax) is ax
    (edges,) = lines(ax)
    assert len(edges.get_segments()) == KARATE.number_of_edges()
    assert len(ax.collections[1].get_offsets()) == 34
    assert ax.get_title() == "34 nodes"


def test_without_axes_a_figure_is_made():
    assert GRAPH.plot().figure is not GRAPH.plot().figure


def test_the_same_graph_is_the_same_picture_and_places_are_small_whole_numbers():
    first, second = (sketch(EDGES, 34, {"club": CLUBS}) for _ in range(2))
    assert first == second
    assert set(first.x) | set(first.y) <= set(range(1001))
    assert first.colours["club"] == tuple(CLUBS)
    assert len(first.model_dump_json()) < 4_000


def test_a_large_graph_is_drawn_in_part_from_neighbour_to_neighbour(ax):
    large = networkx.barabasi_albert_graph(5_000, 2, seed=0)
    graph = pgso.Graph.from_networkx(large)
    graph.plot(color=torch.arange(5_000) % 3, ax=ax)
    assert ax.get_title() == "a part: 300 of 5,000 nodes"
    nodes = chosen_nodes(graph.edge_index.numpy(), 5_000)
    assert len(nodes) == len(set(nodes)) == 300
    assert networkx.is_connected(large.subgraph(nodes.tolist()))


def test_a_sample_goes_on_in_other_components():
    pairs = pgso.Graph.from_networkx(networkx.disjoint_union_all([networkx.path_graph(2)] * 400))
    assert len(chosen_nodes(pairs.edge_index.numpy(), 800)) == 300


def test_the_neighbourhood_of_a_node_reaches_as_many_hops():
    for hops in (1, 2):
        truth = networkx.ego_graph(KARATE, 5, radius=hops)
        assert chosen_nodes(EDGES, 34, node=5, hops=hops).tolist() == sorted(truth)
    with pytest.raises(InputError, match="the nodes 0 to 33, got 34"):
        GRAPH.plot(node=34)


def test_nodes_without_edges_are_placed_apart():
    graph = pgso.Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]), num_nodes=5)
    part = sketch(graph.edge_index.numpy(), 5)
    assert len(set(zip(part.x, part.y, strict=True))) == 5
    assert part.y[2:] == (1000,) * 3
    assert max(part.y[:2]) < 1000


def test_a_dense_graph_is_a_matrix_unless_asked_otherwise(ax):
    dense = pgso.Graph.from_networkx(networkx.complete_graph(40))
    dense.plot(ax=ax)
    assert len(ax.images) == 1
    assert not lines(ax)
    asked = dense.plot(view="graph")
    assert lines(asked)
    assert not asked.images
    with pytest.raises(InputError, match="Did you mean 'matrix'"):
        dense.plot(view="matrx")


def test_classes_numbers_and_unknown_values_have_colours_and_a_legend(ax):
    GRAPH.plot(color=CLUBS, ax=ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["Mr. Hi", "Officer"]
    fill, legend = paint(cells(torch.tensor([1, 0, -1, 1]), 4))
    assert fill == [PALETTE[1], PALETTE[0], GREY, PALETTE[1]]
    assert legend[-1] == ("no value", GREY)
    fill, legend = paint(cells(np.array([0.5, np.nan, 2.5]), 3))
    assert [text for text, _ in legend] == ["0.5", "1.5", "2.5", "no value"]
    assert fill[1] == GREY
    assert fill[0] != fill[2]
    with pytest.raises(InputError, match=r"one value per node, \(34,\), got shape \(3,\)"):
        GRAPH.plot(color=[1, 2, 3])


def test_many_classes_keep_the_most_frequent_and_call_the_rest_other():
    values = [str(k) for k in range(12)] + [str(k) for k in range(6)]
    fill, legend = paint(values)
    assert len(legend) == 9
    assert legend[-1] == ("other", GREY)
    assert {str(k) for k in range(6)} <= {name for name, _ in legend}
    assert fill.count(GREY) == 4


def test_an_operator_shows_its_entries_as_widths_and_their_signs_as_colours(ax):
    path = pgso.Graph.from_edge_index(
        torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.tensor([1.0, 1.0, 3.0, 3.0])
    )
    pgso.shift(path, "laplacian").plot(ax=ax)
    (edges,) = lines(ax)
    thin, thick = sorted(edges.get_linewidths())
    assert (thick - 0.3) / (thin - 0.3) == pytest.approx(3)
    edge, node = edges.get_edgecolor()[0], ax.collections[1].get_facecolor()[0]
    assert edge[0] > edge[2]  # orange: -A
    assert node[2] > node[0]  # blue: D


def test_the_row_of_a_node_shows_what_it_takes_from_whom(ax):
    gcn = pgso.shift(GRAPH, "gcn")
    gcn.plot(node=11, ax=ax)
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["0", f"{float(gcn.to_dense()[11, 0]):.3g}", "11"]
    one_way = pgso.shift(pgso.Graph.from_edge_index(torch.tensor([[0], [1]])), "adjacency")
    assert one_way.plot(node=1).texts[0].get_text() == "0"  # 1 takes from 0
    assert [t.get_text() for t in one_way.plot(node=0).texts] == ["0"]  # 0 takes from none
    assert "; 2 smaller ones left out" not in ax.get_title()


def test_an_expression_without_a_pattern_is_drawn_as_what_it_is(ax):
    heat = pgso.heat(pgso.shift(GRAPH, "laplacian"), t=2.0)
    heat.plot(ax=ax)
    (image,) = ax.images  # every node reaches every other
    drawn = np.sort(np.asarray(image.get_array()).ravel())
    np.testing.assert_allclose(drawn, np.sort(heat.to_dense().numpy().ravel()), atol=1e-5)


def test_operators_densities_and_eigenpairs_are_tables_and_short_texts(tmp_path):
    gcn = pgso.shift(GRAPH, "gcn")
    frame = gcn.to_frame()
    assert list(frame.columns) == ["target", "source", "entry"]
    assert len(frame) == 34 + 156
    density = pgso.spectrum.density(gcn)
    assert len(density.to_frame()) == 1000
    pairs = pgso.spectrum.eigenpairs(gcn, k=4)
    assert pairs.to_frame()["eigenvalue"].tolist() == pairs.values.tolist()
    for value in (gcn, density, pairs):
        assert len(repr(value)) < 150
        assert len(value._repr_html_()) < 3_000
        assert "<table" in value._repr_html_()
    for value in (gcn, density, pairs):
        page = value.report(tmp_path / "page.html").read_text()
        assert "<svg" in page
        assert "http://www.w3.org" not in page.split("<svg")[0]
    assert len(density.plot().lines) == 1
    assert pairs.plot().lines[0].get_ydata().tolist() == pairs.values.tolist()


def test_a_finding_draws_its_ladder_and_lists_its_rungs(ax):
    found = pgso.find("karate")
    found.plot(ax=ax)
    names = [label.get_text() for label in ax.get_yticklabels()]
    frame = found.to_frame()
    assert names[0] == frame["name"][0] == min(found.rungs, key=lambda rung: rung.loss).name
    assert found.best.name in names
    assert len(names) <= 20
    assert frame["name"][frame["kept"]].tolist() == [found.best.name]
    assert len(frame) == len(found.rungs)
    assert len(repr(found.record)) < 100
    assert found.verdict[:20] in found._repr_html_().replace("&#x27;", "'")


def test_a_run_is_a_frame_of_its_epochs_and_one_line():
    spec = pgso.RunSpec(dataset="karate", conv="gcn", operator="mpgso", epochs=4)
    record = pgso.fit(spec)
    frame = record.to_frame()
    assert len(frame) == 4
    assert frame["loss"].tolist() == record.curves["loss"]
    last = [frame[f"{name} of operator 2"].iloc[-1] for name in ("m1", "a")]
    assert last == [record.curves["parameters"][-1][1][k] for k in (0, 6)]
    assert repr(record) == str(record)
    assert len(repr(record)) < 120
    assert "RunRecord(karate, gcn, mpgso, seed 0: test accuracy" in record._repr_html_()


def test_svg_is_well_formed_escaped_and_says_every_node():
    part = sketch(EDGES, 34, {"club": ["<b>" if k == 0 else "b" for k in range(34)]})
    root = ET.fromstring(svg(part, "club"))
    titles = [element.text for element in root.iter("title")]
    assert titles[0] == "node 0: <b>"
    assert len(titles) == 34
    assert next(root.iter("path")).get("d").count("L") == 78
    assert {"<b>", "b"} == {element.text for element in root.iter("text")}
    assert root.get("fill") == "currentColor"  # legible in dark mode


def test_a_class_that_is_never_predicted_does_not_change_the_colours_of_others():
    label = [("a", "b", "c")[k % 3] for k in range(34)]
    part = sketch(EDGES, 34, {"label": label, "prediction": ["c"] * 34, "split": ["c"] * 34})

    def fill(column):
        return ET.fromstring(svg(part, column)).findall("circle")[2].get("fill")

    assert fill("label") == fill("prediction") == PALETTE[2]
    assert fill("split") == PALETTE[0]
    low, high = {"target": [1.0] + 33 * [9.0]}, {"prediction": 34 * [9.0]}
    ends = [
        ET.fromstring(svg(sketch(EDGES, 34, each), "prediction")) for each in (low | high, high)
    ]
    assert ends[0].findall("circle")[2].get("fill") != ends[1].findall("circle")[2].get("fill")


def test_a_finding_keeps_a_sketch_with_labels_predictions_errors_and_parts():
    found = pgso.find("karate")
    part = found.record.sketch
    assert list(part.colours) == ["label", "prediction", "error", "split"]
    chosen = found.predict().argmax(dim=1)
    assert part.colours["prediction"] == tuple(found.task.classes[k] for k in chosen)
    for label, predicted, error, split in zip(*part.colours.values(), strict=True):
        # What was trained on is not judged.
        assert error == (None if split == "train" else "right" if label == predicted else "wrong")
    assert part.nodes == tuple(range(34))


def test_numbers_have_distances_and_graphs_share_the_label_of_their_nodes():
    part = pgso.find("diabetes").record.sketch
    label, predicted, error, split = (values for values in part.colours.values())
    judged = [k for k, name in enumerate(split) if name != "train"]
    assert judged
    for k in judged:
        assert error[k] == pytest.approx(abs(label[k] - predicted[k]), rel=1e-3, abs=1e-3)
    pairs = pgso.Graph.from_networkx(networkx.disjoint_union_all([networkx.path_graph(2)] * 3))
    task = SimpleNamespace(
        graph=pairs, kind="graph", y=torch.tensor([0, 1, -1]), classes=("a", "b"), ids=None,
        nodes_per_graph=torch.tensor([2, 2, 2]),
        train=torch.tensor([0]), val=torch.tensor([1]), test=torch.tensor([], dtype=torch.long),
    )  # fmt: skip
    colours = sketch_of(task).colours
    assert colours["label"] == ("a", "a", "b", "b", None, None)
    assert colours["split"] == ("train", "train", "val", "val", None, None)


def test_a_run_keeps_its_predictions_of_the_nodes_that_its_data_draw():
    spec = pgso.RunSpec(dataset="karate", conv="gcn", operator="fixed", epochs=40)
    record, task = pgso.fit(spec), pgso.load_task("karate")
    part = data_record(spec).sketch
    assert part.colours["label"] == tuple(task.classes[k] for k in task.y)
    judged = errors(part.colours["label"], record.evaluation.sketched, part.colours["split"])
    tested = [
        error for error, split in zip(judged, part.colours["split"], strict=True) if split == "test"
    ]
    assert tested.count("right") / len(tested) == pytest.approx(record.test)


def test_findings_runs_and_comparisons_write_pages_with_the_graph(tmp_path):
    found = pgso.find("karate")
    page = found.report(tmp_path / "found.html").read_text()
    assert page.count('<svg class="graph"') == 4  # label, prediction, error, split
    assert "most frequent class" in page
    comparison = pgso.compare("karate", seeds=2, epochs=3)
    frame = comparison.to_frame()
    assert frame["operator"].tolist() == list(comparison.operators)
    assert frame["test"].tolist() == [entry.mean for entry in comparison.test.summaries]
    assert frame["difference"][1] == comparison.test.difference(frame["operator"][1]).mean
    assert comparison.report(tmp_path / "folder").name == "report.html"
    alone = comparison.report(tmp_path / "comparison.html")
    assert alone.is_file()
    assert comparison.judgement.reason in alone.read_text()
    assert comparison.verdict[:20] in comparison._repr_html_()
    run, task = comparison.runs[0], pgso.load_task("karate")
    for page in (alone, run.report(tmp_path / "run.html", task)):
        text = page.read_text()
        assert text.count('<svg class="graph"') >= 3  # label, split, errors
        assert "most frequent class" in text  # a baseline beside every score
    # A run does not guess its data: a task of that name may hold others.
    assert "most frequent class" not in run.report(tmp_path / "alone.html").read_text()


def test_pages_of_runs_colour_the_graph_by_errors_of_the_networks_they_show():
    spec = pgso.RunSpec(dataset="karate", conv="gcn", operator="fixed", epochs=3)
    records = [pgso.fit(spec.but(operator=name)) for name in ("fixed", "pgso", "mpgso")]
    data = [data_record(spec)]
    drawn = judged_graph(records, data, "pgso").values["columns"]
    assert drawn == ["label", "split", "error, fixed", "error, PGSO"]
    alone = judged_graph(records[:1], data, None).data["graph"]["values"]
    assert alone["prediction"] == records[0].evaluation.sketched
    assert alone["error, fixed"] == errors(alone["label"], alone["prediction"], alone["split"])
    assert as_html(run_page(records[0], data)).count('<svg class="graph"') == 4
    assert judged_graph(records, [], "pgso") is None


def test_a_sketch_knows_the_weights_and_degrees_that_gamma_needs():
    edges = torch.tensor([[0, 1, 1, 2, 2], [1, 0, 2, 1, 2]])
    part = sketch(edges.numpy(), 3, weight=np.array([2.0, 2.0, 0.5, 0.5, 3.0]))
    assert part.degree == (2.0, 2.5, 3.5)  # of whole rows, loops included
    A = np.zeros((3, 3))
    for target, source, weight in part.weights:
        A[target, source] = weight
    assert A.tolist() == [[0, 2, 0], [2, 0, 0.5], [0, 0.5, 3]]
    assert sketch(EDGES, 34).weights == ()  # 1 both ways
    one_way = sketch(np.array([[0], [1]]), 2)
    assert one_way.weights == ((1, 0, 1.0),)
    assert one_way.degree == (0.0, 1.0)
