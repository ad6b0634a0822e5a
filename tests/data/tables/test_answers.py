"""What is to be learned, as people write it down."""

from itertools import pairwise

import pytest

from pgso import load_task
from pgso.errors import InputError

NODES = [f"n{i}" for i in range(24)]
EDGES = "source,target\n" + "".join(f"{a},{b}\n" for a, b in pairwise(NODES))


def table(header, cells):
    rows = [f"{name},{cell}\n" for name, cell in zip(NODES, cells, strict=True)]
    return f"{header}\n" + "".join(rows)


@pytest.fixture
def load(tmp_path):
    def with_labels(text, name="labels.csv", **options):
        (tmp_path / "edges.csv").write_text(EDGES)
        (tmp_path / name).write_text(text)
        return load_task(tmp_path, **options)

    return with_labels


CLASSES = [("red", "blue", "green")[i % 3] for i in range(24)]


def test_columns_are_found_by_their_names(load):
    plain = load(table("node,label", CLASSES))
    swapped = load("label,node\n" + "".join(f"{CLASSES[i]},{n}\n" for i, n in enumerate(NODES)))
    indexed = load(
        ",node,label\n" + "".join(f"{i},{n},{CLASSES[i]}\n" for i, n in enumerate(NODES))
    )
    for task in (swapped, indexed):
        assert task.ids == plain.ids
        assert task.classes == plain.classes
        assert task.y.tolist() == plain.y.tolist()


def test_one_of_several_columns_is_chosen_by_name(load):
    text = table("node,colour,left", [f"{c},{'yes' if c == 'red' else 'no'}" for c in CLASSES])
    assert load(text, target="left").classes == ("no", "yes")
    assert load(text, target="colour").classes == ("blue", "green", "red")
    with pytest.raises(InputError, match=r"line 1: there are several columns of labels \(colour, "):
        load(text)
    with pytest.raises(InputError, match="has no column 'right'; it has node, colour, left"):
        load(text, target="right")


def test_nan_is_no_class(load):
    task = load(table("node,label", ["NaN", *CLASSES[1:]]))
    assert task.classes == ("blue", "green", "red")
    assert task.y[0] == -1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("node\n" + "".join(f"{n}\n" for n in NODES), "no column of labels beside 'node'; add one"),
        ("".join(f"{n}\n" for n in NODES), "line 1: column 1: 'n0' and all others are names of"),
        (table("node,label", [i * 1.5 for i in range(24)]), "24 different numbers in 24 lines"),
        (table("node,label", [f"word{i}" for i in range(24)]), "24 different labels in 24 lines"),
        (table("node,label", ["blue red", *CLASSES[1:]]), "the label 'blue red' of 'n0' is made"),
    ],
)
def test_what_is_no_column_of_classes_is_refused(load, text, problem):
    with pytest.raises(InputError, match=problem):
        load(text)


def test_a_class_may_be_called_after_others_if_one_says_so(load):
    task = load(table("node,label", ["blue red", *CLASSES[1:]]), label_separator="")
    assert task.classes == ("blue", "blue red", "green", "red")


def test_a_target_that_is_the_same_everywhere_is_refused(load):
    with pytest.raises(InputError, match=r"targets\.csv: column 'price' holds the same number"):
        load(table("node,price", [7] * 24), "targets.csv")
