"""Crafted folders of a user's own data: targets, columns, splits, relations and links."""

from collections.abc import Iterator

from fuzz.hostile_cases import EDGES, LABELS, TRAIN, Case

NODES = "abcdef"
FIND = ["find", "d", "--out", "out"]
LINKS = ["train", "d", "--task", "link", *TRAIN]


def _lines(*cells: str) -> bytes:
    """A line for each node with its cell."""
    return "".join(f"{node},{cell}\n" for node, cell in zip(NODES, cells, strict=False)).encode()


TARGETS = {
    "words": _lines("x", "y"),
    "infinite": _lines("inf", "1", "2", "3", "4", "5"),
    "1e308": _lines("1e308", "-1e308", "1e308", "-1e308", "1", "2"),
    "1e-320": _lines("0", "1e-320", "2e-320", "3e-320", "4e-320", "5e-320"),
    "constant": _lines(*["5"] * 6),
    "missing": _lines(*[""] * 6),
    "a column of nothing": b"node,p,q\n" + _lines("0,", "1,", "2,", "3,", "4,", "5,"),
    "unknown nodes": b"node,p\nx,1\ny,2\nz,3\n",
}
COLUMNS = {
    "nested": b"[" * 10**5,
    "a list": b"[]",
    "an unknown column": b'{"zzz": "number"}',
    "an unknown kind": b'{"age": "colour"}',
    "a kind in a list": b'{"age": []}',
    "not UTF-8": b"\xff",
    "words as numbers": b'{"town": "number"}',
}
FEATURES = {
    "impossible dates": b"id,when\n"
    + _lines("0000-00-00", "2020-13-45", "9999999-01-01", "2020-02-30", "1-1-1", "2020-01-01"),
    "columns of one name": b"id,x,x\n" + _lines("1,1", "2,2", "3,3", "4,4", "5,5", "6,6"),
    "a node twice": b"id,x\na,1\na,2\n",
    "no names": b",,\n" + _lines("1,1", "2,2", "3,3", "4,4", "5,5", "6,6"),
}
SPLITS = {
    "an unknown part": b"a,training\n",
    "test alone": _lines(*["test"] * 6),
    "a node twice": b"a,train\na,test\n",
    "four cells": b"a,1,0,0\n",
}
GRAPHS = {
    "one link": b"a,b\n",
    "complete": b"".join(f"{x},{y}\n".encode() for x in NODES for y in NODES if x < y),
    "loops": _lines(*NODES),
    "a star": b"".join(f"a,{node}\n".encode() for node in NODES[1:]),
}
WEIGHTS = {
    "zero weights": b"a,b,0\nb,c,0\nc,d,0\nd,e,0\ne,f,0\n",
    "negative weights": b"a,b,-1\nb,c,-2\nc,d,-1\nd,e,3\ne,f,-1\n",
    "weights of 1e300": b"a,b,1e300\nb,c,1e300\nc,d,1e-300\nd,e,1\ne,f,1\n",
}


def folders() -> Iterator[Case]:
    """All of them, each with the command that reads it."""
    for name, content in TARGETS.items():
        files = {"d/edges.csv": EDGES, "d/targets.csv": content}
        for command in (["train", "d", *TRAIN], FIND):
            yield Case("targets", name, files, command)
    fine = {"d/edges.csv": EDGES, "d/labels.csv": LABELS}
    ages = b"id,age,town\n" + _lines("0,t0", "1,t1", "2,t2", "3,t3", "4,t4", "5,t5")
    for name, content in COLUMNS.items():
        files = fine | {"d/features.csv": ages, "d/columns.json": content}
        yield Case("columns", name, files, ["train", "d", *TRAIN])
    for name, content in FEATURES.items():
        yield Case("columns", name, fine | {"d/features.csv": content}, ["train", "d", *TRAIN])
    for name, content in SPLITS.items():
        yield Case("splits", name, fine | {"d/splits.csv": content}, FIND)
    for name, content in GRAPHS.items():
        yield Case("links", name, {"d/edges.csv": content}, LINKS)
    for name, content in WEIGHTS.items():
        yield Case("find", name, fine | {"d/edges.csv": content}, FIND)
    kinds = b"".join(b"%d,%d,1,r%d\n" % (k, (k + 1) % 50_000, k) for k in range(50_000))
    edges = b"source,target,weight,relation\n" + kinds
    labels = b"".join(b"%d,%d\n" % (k, k % 2) for k in range(50_000))
    files = {"d/edges.csv": edges, "d/labels.csv": labels}
    yield Case("relations", "one for each edge", files, ["train", "d", *TRAIN])
    for arguments in (
        ["train", "karate", "--terms", ",".join(["gcn"] * 5000)],
        ["train", "karate", "--terms", "gcn@\x1b[31m"],
        ["train", "karate", "--set", "lr=1e308"],
        ["train", "karate", "--task", "link", "--option", "val=NaN"],
        ["train", "karate", "--device", "cuda:99999999999999999999"],
        ["compare", "karate", "--seeds", "1000000000"],
        ["compare", "karate", "--workers", "1000000", "--seeds", "2"],
        ["find", "karate", "--seed", str(10**30)],
        ["find", "karate", "--objective", "rmse"],
    ):
        ends = [
            "--out",
            "out",
            *(["--epochs", "1"] if arguments[0] in ("train", "compare") else []),
        ]
        yield Case("argument", " ".join(arguments)[:60], {}, [*arguments, *ends])
