"""Crafted files and arguments, and random changes to files that are fine."""

import gzip
import io
import json
import pickle
import struct
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import scipy.sparse

Content = bytes | Callable[[], bytes]  # what takes long to make is made when it is needed
Files = dict[str, Content]
EDGES, LABELS = b"a,b\nb,c\nc,a\nd,a\ne,d\nf,e\n", b"a,1\nb,0\nc,1\nd,0\ne,1\nf,0\n"
TRAIN = ["--epochs", "1", "--hidden", "4", "--out", "out"]


@dataclass(frozen=True)
class Case:
    """Files, and the command that reads them."""

    kind: str
    name: str
    files: Files
    command: list[str]

    def write(self, folder: Path) -> list[str]:
        """Write the files; the command to run beside them."""
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content() if callable(content) else content)
        return self.command


def chosen(count: int, seed: int) -> Iterator[Case]:
    """The crafted cases, spread evenly if there are more of them, then random ones."""
    crafted = list(_crafted())
    step = max(1, len(crafted) // max(count, 1))
    yield from islice(crafted[::step], count)
    yield from (_mutated(np.random.default_rng([seed, k])) for k in range(count - len(crafted)))


def _crafted() -> Iterator[Case]:
    for make in (_folders, _edge_lists, _archives, _matrices, _pickles, _tables, _texts, _models):
        yield from make()
    yield from _records()
    yield from _arguments()
    from fuzz.hostile_folders import folders  # it is made of this file's cases

    yield from folders()


def _folder(**changes: bytes) -> Files:
    files = {"d/edges.csv": EDGES, "d/labels.csv": LABELS}
    return files | {f"d/{name.replace('__', '.')}": content for name, content in changes.items()}


BAD_TEXT = {
    "empty": b"",
    "blank": b"\n \n\t\n",
    "commas": b",,\n,,\n",
    "one cell": b"a\nb\n",
    "tabs": b"a\tb\nb\tc\n",
    "semicolons": b"a;b\nb;c\n",
    "spaces": b"a b\nb c\n",
    "not UTF-8": b"a,b\n\xff\xfe,c\n",
    "UTF-16": "a,b\nb,c\n".encode("utf-16"),
    "nul": b"a,\0\nb,c\n",
    "an open quote": b'"a,b\nb,c\n',
    "a long cell": b"a," + b"x" * 200_000 + b"\n",
    "many cells": b"," * 200_000 + b"\n",
    "ragged": b"a,b\na,b,c,d\n",
    "escapes": b"a,\x1b[31m\n\x1b]0;x\x07,b\n",
    "huge numbers": b"a,b,1e400\nb,c,-1e400\n",
    "nan": b"a,b,nan\nb,c,inf\n",
    "carriage returns": b"a,b\rb,c\r",
    "a pickle": pickle.dumps({"a": 1}),
    "a zip": b"PK\x03\x04" + bytes(40),
    "digits without end": b"a,b," + b"9" * 100_000 + b"\n",
    "line separators": "a,b\u2028b,c\n".encode(),
}


def _folders() -> Iterator[Case]:
    for part in ("edges.csv", "labels.csv", "features.csv", "splits.csv"):
        for name, content in BAD_TEXT.items():
            files = _folder() | {f"d/{part}": content}
            yield Case("folder", f"{part}: {name}", files, ["train", "d", *TRAIN])
    for name, content in {
        "empty": b"",
        "no array": b"\x93NUMPY",
        "objects": _npy(np.array([{}, 1], dtype=object)),
        "one dimension": _npy(np.zeros(6)),
        "words": _npy(np.full((6, 2), "a")),
        "claims 10^12 rows": _npy_header((10**12, 2)),
        "nan": _npy(np.full((6, 2), np.nan)),
        "complex": _npy(np.full((6, 2), 1j)),
    }.items():
        files = _folder(features__npy=content)
        yield Case("folder", f"features.npy: {name}", files, ["train", "d", *TRAIN])


def _edge_lists() -> Iterator[Case]:
    more = {
        "node 300,000,000": b"0,1\n1,300000000\n",
        "node 10^18": b"0,1\n1,1000000000000000000\n",
        "node 999,999": b"0,1\n1,999999\n",
        "node 299,999": b"0,1\n1,299999\n",
        "negative": b"0,-1\n",
        "fractions": b"0,0.5\n",
        "huge weights": b"0,1,1e308\n1,0,1e308\n",
        "tiny weights": b"0,1,1e-320\n1,0,1e-320\n",
        "one node": b"0,0\n",
        "comments": b"# a\n% b\n",
        "hex": b"0x1,0x2\n",
    }
    for name, content in {**BAD_TEXT, **more}.items():
        command = ["spectrum", "edges.csv", "--undirected", "--out", "out"]
        yield Case("edge list", name, {"edges.csv": content}, command)


def _archives() -> Iterator[Case]:
    fine = {"edge_index": np.array([[0, 1, 2, 3], [1, 2, 3, 0]]), "y": np.array([0, 1, 0, 1])}
    changes = {
        "no labels": {"y": None},
        "text labels": {"y": np.array(["a", "b", "a", "b"])},
        "byte labels": {"y": np.array([b"a", b"b", b"a", b"b"])},
        "float labels": {"y": np.array([0.0, np.nan, 1, 1])},
        "huge labels": {"y": np.array([0, 2**62, 0, 1])},
        "scalar labels": {"y": np.array(1)},
        "huge ids": {"edge_index": np.array([[0, 2**62], [1, 0]])},
        "negative ids": {"edge_index": np.array([[0, -1], [1, 0]])},
        "unsigned ids": {"edge_index": np.array([[0, 2**63 + 5], [1, 0]], dtype=np.uint64)},
        "float ids": {"edge_index": np.ones((2, 3))},
        "nan features": {"x": np.full((4, 2), np.nan)},
        "word features": {"x": np.full((4, 2), "a")},
        "three dimensions": {"x": np.zeros((4, 2, 2))},
        "nan weights": {"edge_weight": np.full(4, np.nan)},
        "words for weights": {"edge_weight": np.full(4, "a")},
        "words for a split": {part: np.array(["a"]) for part in ("train", "val", "test")},
        "a square split": {part: np.ones((4, 4), bool) for part in ("train", "val", "test")},
        "a split outside": {part: np.array([9]) for part in ("train", "val", "test")},
        "dates": {"y": np.array(["2020-01-01"] * 4, dtype="M8[D]")},
        "fields": {"y": np.zeros(4, dtype=[("a", "i4")])},
    }
    for name, change in changes.items():
        arrays = {k: v for k, v in {**fine, **change}.items() if v is not None}
        yield Case("npz", name, {"a.npz": _npz(arrays)}, ["train", "./a.npz", *TRAIN])
    whole = _npz(fine)
    many = _npz({**fine, "y": np.arange(300_000) % 2})  # and no x: the identity
    for name, content in {
        "empty": b"",
        "truncated": whole[: len(whole) // 2],
        "a bomb of 1 GB": _npz_bomb,
        "300,000 nodes without features": many,
        "encrypted": _flagged(whole, 8, 6, 1),
        "packed by an unknown method": _flagged(whole, 10, 8, 77),
        "claims 10^12 entries": _raw_npz({"y.npy": _npy_header((10**12,)) + bytes(8)}),
        "a negative shape": _raw_npz({"y.npy": _npy_header((-5,)) + bytes(8)}),
        "a nested header": _raw_npz({"y.npy": _header_of(b"(" * 9000)}),
        "a header without end": _raw_npz({"y.npy": b"\x93NUMPY\x02\x00\xff\xff\xff\x7f{"}),
        "version 9": _raw_npz({"y.npy": b"\x93NUMPY\x09\x00"}),
        "a single array": _npy(np.zeros(3)),
        "pickled": _npz({"y": np.array([{}], dtype=object)}),
        "no arrays": _raw_npz({"readme.txt": b"hello"}),
    }.items():
        for command in (["train", "./a.npz", *TRAIN], ["spectrum", "./a.npz", "--out", "out"]):
            yield Case("npz", name, {"a.npz": content}, command)


def _matrices() -> Iterator[Case]:
    fine = {
        "format": np.array(b"csr"),
        "shape": np.array([3, 3]),
        "data": np.ones(2),
        "indices": np.array([0, 1], dtype=np.int32),
        "indptr": np.array([0, 1, 2, 2], dtype=np.int32),
    }
    for name, change in {
        "pointers far outside": {"indptr": np.array([0, 10**9, 2, 2], dtype=np.int32)},
        "the last pointer outside": {"indptr": np.array([0, 1, 2, 10**9], dtype=np.int32)},
        "negative pointers": {"indptr": np.array([0, -(10**6), 2, 2], dtype=np.int32)},
        "columns outside": {"indices": np.array([0, 10**9], dtype=np.int32)},
        "negative columns": {"indices": np.array([0, -(10**9)], dtype=np.int32)},
        "shape of 10^9": {"shape": np.array([10**9, 10**9])},
        "no shape": {"shape": None},
        "nan": {"data": np.full(2, np.nan)},
        "complex": {"data": np.full(2, 1j)},
        "words": {"data": np.array(["a", "b"])},
        "format lil": {"format": np.array(b"lil")},
        "format of bytes": {"format": np.array(b"\xff\xff")},
        "blocks": {"format": np.array(b"bsr")},
        "columns": {"format": np.array(b"csc")},
        "diagonals": {"format": np.array(b"dia"), "offsets": np.array([10**9])},
        "entries": {"format": np.array(b"coo"), "row": np.array([0, 9]), "col": np.array([0, 9])},
    }.items():
        arrays = {k: v for k, v in {**fine, **change}.items() if v is not None}
        command = ["spectrum", "./a.npz", "--undirected", "--out", "out"]
        yield Case("scipy matrix", name, {"a.npz": _npz(arrays)}, command)


class _Calls:
    def __init__(self, function: Callable, *args: object) -> None:
        self.call = function, args

    def __reduce__(self) -> tuple:
        return self.call


def _pickles() -> Iterator[Case]:
    from os import system

    from pgso.data.sources.nodes import PARTS

    objects = np.array([None, None], dtype=object)
    crafted = {
        "runs a command": pickle.dumps(_Calls(system, "touch it-ran"), 2),
        "an array over its own bytes": pickle.dumps(
            _Calls(np.ndarray, (1,), np.dtype("O"), b"AAAAAAAA"), 2
        ),
        "objects": pickle.dumps(objects, 2),
        "deep keys": b"\x80\x02})" + b"\x85" * 10**6 + b"K\x01s.",
        "deep lists": b"\x80\x02" + b"]" * 10**6 + b"a" * (10**6 - 1) + b".",
        "a long number": b"\x80\x02\x8b\xff\xff\xff\x0f" + bytes(10),
        "a long text": b"\x80\x02X\xff\xff\xff\x7f",
        "bytes repeated": b"\x80\x02X\x10\x27\x00\x00"
        + b"a" * 10_000
        + b"q\x010"
        + b"c_codecs\nencode\nh\x01X\x06\x00\x00\x00latin1\x86R0" * 10_000
        + b"N.",
        "a memo far away": b"\x80\x02Nr\xff\xff\xff\x7f.",
        "persistent": b"\x80\x02X\x01\x00\x00\x00aQ.",
        "an old class": b"(icsubprocess\nPopen\n.",
        "empty": b"",
        "text": b"hello",
        "a matrix outside": pickle.dumps(_broken_matrix(), 2),
        "claims 2^31 rows": pickle.dumps(np.zeros((3, 1)), 2).replace(
            b"K\x03K\x01\x86", b"J\xff\xff\xff\x7fK\x01\x86"
        ),
    }
    for name, content in crafted.items():
        files = {f"data/Cora/raw/ind.cora.{part}": content for part in PARTS}
        yield Case("pickle", name, files, ["train", "Cora", "--data", "data", *TRAIN])
    shared = list(range(3000))
    files = _tiny_planetoid() | {
        "data/Cora/raw/ind.cora.graph": pickle.dumps(dict.fromkeys(range(3000), shared), 2)
    }
    yield Case("pickle", "one list everywhere", files, ["train", "Cora", "--data", "data", *TRAIN])


def _tiny_planetoid() -> Files:
    x, y = scipy.sparse.csr_matrix(np.ones((510, 2))), np.tile([[0, 1], [1, 0]], (255, 1))
    parts = {"x": x[:5], "y": y[:5], "allx": x, "ally": y, "tx": x[:4], "ty": y[:4]}
    files = {
        f"data/Cora/raw/ind.cora.{name}": pickle.dumps(part, 2) for name, part in parts.items()
    }
    return files | {"data/Cora/raw/ind.cora.test.index": b"510\n511\n512\n513\n"}


def _tables() -> Iterator[Case]:
    """TU collections and packed OGB tables."""
    fine = {
        "A": b"1,2\n2,1\n3,4\n4,3\n",
        "graph_indicator": b"1\n1\n2\n2\n",
        "graph_labels": b"0\n1\n",
    }
    changes = {
        "wide labels": {"node_labels": b"0\n9999\n0\n0\n"},
        "labels of 64 bits": {"node_labels": b"-9223372036854775808\n9223372036854775807\n0\n0\n"},
        "a million nodes with wide labels": {
            "A": b"1,2\n2,1\n",
            "graph_indicator": b"1\n" * 500_000 + b"2\n" * 500_000,
            "node_labels": b"9998\n0\n" * 500_000,
        },
        "graph 10^12": {"graph_indicator": b"1\n1\n2\n1000000000000\n"},
        "graph 0": {"graph_indicator": b"0\n1\n2\n2\n"},
        "node 10^12": {"A": b"1,1000000000000\n"},
        "no edges": {"A": b"\n"},
        "words": {"A": b"a,b\n"},
        "fewer labels": {"node_labels": b"0\n"},
        "nan attributes": {"node_attributes": b"nan\nnan\nnan\nnan\n"},
        "not UTF-8": {"graph_labels": b"\xff\n1\n"},
    }
    for name, change in changes.items():
        files = {f"data/Toy/raw/Toy_{k}.txt": v for k, v in {**fine, **change}.items()}
        yield Case("TU", name, files, ["train", "Toy", "--data", "data", *TRAIN])
    from pgso.data import DATASETS

    for name, content in {
        "12 GB of zeros": lambda: gzip.compress(bytes(2**26), 9) * 190,
        "12 GB of lines": lambda: gzip.compress(b"0,0\n" * 2**22, 9) * 760,
        "a truncated file": gzip.compress(b"1\n2\n")[:-4],
        "no gzip": b"1\n2\n",
        "words": gzip.compress(b"a\n"),
        "empty": gzip.compress(b""),
        "rubbish behind it": gzip.compress(b"1\n") + b"rubbish",
    }.items():
        for dataset, folder in (("ogbn-arxiv", "ogbn_arxiv"), ("ogbg-molhiv", "ogbg_molhiv")):
            files = {f"data/{file}": b"" for file in DATASETS[dataset].files}
            files[f"data/{folder}/raw/num-node-list.csv.gz"] = content
            yield Case("OGB", name, files, ["train", dataset, "--data", "data", *TRAIN])


def _texts() -> Iterator[Case]:
    header = b"node_id\tfeature\tlabel\n"
    for name, content in {
        "wide bags of words": header + b"0\t99999\t0\n" + b"1\t0\t1\n" * 100_000,
        "a word of 10^12": header + b"0\t1000000000000\t0\n",
        "no features": header + b"0\t\t0\n",
        "two columns": header + b"0\t1\n",
        "not UTF-8": header + b"\xff\t1\t0\n",
    }.items():
        base = "data/Actor/raw"
        files = {f"{base}/film_split_0.6_0.2_{k}.npz": b"" for k in range(10)}
        files |= {
            f"{base}/out1_node_feature_label.txt": content,
            f"{base}/out1_graph_edges.txt": b"a",
        }
        yield Case("geom-gcn", name, files, ["train", "Actor", "--data", "data", *TRAIN])
    for name, content in {
        "no header": b"CC,1\n",
        "no molecules": b"smiles,label\n",
        "nonsense": b"smiles,label\nxyz,1\nqqq,0\n",
        "very long": b"smiles,label\n" + b"C" * 100_000 + b",1\nCC,0\n",
        "brackets": b"smiles,label\n" + b"(" * 10_000 + b",1\nCC,0\n",
    }.items():
        yield Case("smiles", name, {"m.csv": content}, ["train", "./m.csv", *TRAIN])


def _models() -> Iterator[Case]:
    header = {
        "spec": {"dataset": "karate", "hidden_channels": 4},
        "num_features": 34,
        "num_nodes": 34,
        "classes": ["a", "b"],
        "categories": None,
        "kind": "node",
        "columns": None,
    }
    changes = {
        "hidden 10^8": {"spec": {"dataset": "karate", "hidden_channels": 10**8}},
        "hidden 60,000": {"spec": {"dataset": "karate", "hidden_channels": 60_000}},
        "10^7 layers": {"spec": {"dataset": "karate", "num_layers": 10**7}},
        "1,000 layers": {"spec": {"dataset": "karate", "num_layers": 1000}},
        "no spec": {"spec": None},
        "no dataset": {"spec": {}},
        "unknown conv": {"spec": {"dataset": "karate", "conv": "x" * 10**5}},
        "a listed spec": {"spec": []},
        "10^12 features": {"num_features": 10**12},
        "no number of features": {"num_features": None},
        "a word for the features": {"num_features": "34"},
        "classes in a number": {"classes": 3},
        "a million classes": {"classes": ["a"] * 10**6},
        "huge categories": {"categories": [10**12]},
        "categories of words": {"categories": "abc"},
        "an unknown kind": {"kind": "x"},
        "S of 1e300": {"spec": {"dataset": "karate", "preset": [1e300] * 7}},
        "value per node": {"spec": {"dataset": "karate", "shape": "node"}, "num_nodes": 10**12},
    }
    contents = {
        name: _safetensors(json.dumps({**header, **change})) for name, change in changes.items()
    }
    contents |= {
        "nested": _safetensors("[" * 10**6),
        "not JSON": _safetensors("{"),
        "a list": _safetensors("[]"),
        "empty": b"",
        "a header of 2^60 bytes": struct.pack("<Q", 2**60) + b"{}",
        "a header that is no JSON": struct.pack("<Q", 4) + b"{{{{",
        "no metadata": struct.pack("<Q", 2) + b"{}",
        "tensors beyond the end": _raw_safetensors(
            {"a": {"dtype": "F32", "shape": [10**12], "data_offsets": [0, 4 * 10**12]}}
        ),
        "an unknown type": _raw_safetensors(
            {"a": {"dtype": "X9", "shape": [1], "data_offsets": [0, 4]}}
        ),
    }
    for name, content in contents.items():
        command = ["predict", "m.safetensors", "karate", "--to", "to.csv"]
        yield Case("model", name, {"m.safetensors": content}, command)


def _records() -> Iterator[Case]:
    fine = {"spec": {"dataset": "karate"}, "start": [[0] * 7], "parameters": [[0] * 7]}
    for name, content in {
        "S of 1e300": json.dumps({**fine, "parameters": [[1e300] * 7]}).encode(),
        "S of NaN": json.dumps({**fine, "parameters": [[float("nan")] * 7]}).encode(),
        "S of words": json.dumps({**fine, "parameters": [["a"] * 7]}).encode(),
        "no operator": json.dumps({"spec": {"dataset": "karate"}}).encode(),
        "unequal operators": json.dumps({**fine, "parameters": []}).encode(),
        "nested": b"[" * 10**6,
        "not UTF-8": b"\xff\xfe",
        "empty": b"",
        "a long name": json.dumps({**fine, "spec": {"dataset": "x" * 100_027}}).encode(),
        "an escape": json.dumps({**fine, "spec": {"dataset": "\x1b[31m"}}).encode(),
        "half a character": b'{"spec": {"dataset": "\\udcff"}}',
        "a huge seed": json.dumps({**fine, "spec": {"dataset": "karate", "seed": 10**30}}).encode(),
    }.items():
        command = ["spectrum", "--record", "r.json", "--out", "out"]
        yield Case("record", name, {"r.json": content}, command)
        ledger = {"results/initialisations/records.jsonl": content + b"\n"}
        yield Case("ledger", name, ledger, ["report", "initialisations", "--results", "results"])


def _arguments() -> Iterator[Case]:
    for arguments in (
        ["train", "karate", "--set", f"seed={10**30}"],
        ["train", "karate", "--seed", str(10**30)],
        ["train", "karate", "--set", "seed=-1"],
        ["train", "karate", "--set", "hidden_channels=100000000"],
        ["train", "karate", "--layers", "10000000"],
        ["train", "karate", "--set", "heads=100000000", "--conv", "gat"],
        ["train", "karate", "--set", "lr=1e400"],
        ["train", "karate", "--set", "lr=NaN"],
        ["train", "karate", "--set", "preset=[1e300,1e300,1e300,1e300,1e300,1e300,1e300]"],
        ["train", "karate", "--set", "preset=[1,2]"],
        ["train", "karate", "--set", "norm=" + "[" * 100_000],
        ["train", "karate", "--set", "x" * 100_027],
        ["train", "karate", "--set", "=1"],
        ["train", "karate", "--set", "dropout=1"],
        ["train", "karate", "--set", "learn=[1]"],
        ["train", "karate", "--sample", "x"],
        ["train", "karate", "--sample", "99999999999999999999"],
        ["train", "karate", "--sample", "-7"],
        ["train", "karate", "--max-radius", "nan"],
        ["train", "karate", "--epochs", "0"],
        ["train", "karate", "--base", "nothing"],
        ["train", "karate", "--save", "/proc/nothing/here"],
        ["train", "minesweeper", "--option", "rows=1000000000"],
        ["train", "minesweeper", "--option", "rows=1e9"],
        ["train", "minesweeper", "--option", "rows=true"],
        ["train", "minesweeper", "--option", "mines=NaN"],
        ["train", "minesweeper", "--option", "mines=x"],
        ["train", "minesweeper", "--option", "hidden=[]"],
        ["train", "sbm", "--option", "communities=1000000000"],
        ["train", "sbm", "--option", "size=1000000000"],
        ["train", "sbm", "--option", "size=100000000000000000000"],
        ["train", "sbm", "--option", "p=2"],
        ["train", "sbm", "--option", "p=x"],
        ["train", "digits", "--option", "k=1000000000"],
        ["train", "\x1b[31mred"],
        ["train", "a\0b"],
        ["train", "/"],
        ["train", "/dev/null"],
        ["train", "/dev/zero.npz"],
        ["train", "."],
        ["train", "x" * 100_027],
        ["train", "tu:../../etc"],
        ["train", "tu:"],
        ["train", "\udcff\udcfe"],
        ["spectrum", "\udcff.csv"],
        ["spectrum", "/proc/self/mem.npz"],
        ["spectrum", "karate", "--out", "/proc/x"],
        ["spectrum", "karate", "--preset", "\x1b[2J"],
        ["compare", "karate", "--set", "epochs=[]"],
        ["compare", "karate", "--set", "epochs=0"],
        ["compare", "karate", "--set", "epochs={}"],
        ["compare", "karate", "--set", "colour=[1]"],
        ["compare", "karate", "--seeds", "-1"],
        ["compare", "karate", "--address", "foo", "--engine", "ray", "--epochs", "1"],
        ["predict", "/dev/null", "karate"],
        ["predict", ".", "karate"],
        ["report", "initialisations", "--results", "/dev/null"],
        ["report", "../../x"],
        ["run", "\0"],
        ["list", "\x1b[31m"],
    ):
        shown = " ".join(arguments)[:60].encode("ascii", "backslashreplace").decode()
        ends = ["--epochs", "1", "--out", "out"]
        given = {word.partition("=")[0] for word in arguments}
        if arguments[0] == "train":
            arguments = [*arguments, *(ends if "--epochs" not in given else ends[2:])]
        yield Case("argument", shown, {}, arguments)


def _mutated(random: np.random.Generator) -> Case:
    """A file that is fine, with some bytes changed, removed, repeated or put in."""
    fine = _fine()
    name = list(fine)[int(random.integers(len(fine)))]
    files, command, target = fine[name]
    content = bytearray(files[target])
    for _ in range(int(random.integers(1, 6))):
        place = int(random.integers(len(content) + 1))
        way = int(random.integers(4))
        if way == 0 and place < len(content):
            content[place] ^= 1 << int(random.integers(8))
        elif way == 1:
            del content[place : place + int(random.integers(1, 20))]
        elif way == 2:
            content[place:place] = content[place : place + int(random.integers(1, 40))]
        else:
            content[place:place] = random.bytes(int(random.integers(1, 5)))
    return Case("changed bytes", name, {**files, target: bytes(content)}, command)


def _fine() -> dict[str, tuple[Files, list[str], str]]:
    arrays = {"edge_index": np.array([[0, 1, 2, 3], [1, 2, 3, 0]]), "y": np.array([0, 1] * 2)}
    matrix = io.BytesIO()
    scipy.sparse.save_npz(matrix, scipy.sparse.csr_array(np.ones((4, 4))), compressed=False)
    planetoid, base = _tiny_planetoid(), "data/Cora/raw/ind.cora."
    planetoid |= {f"{base}graph": pickle.dumps({0: [1], 1: [0, 2], 2: [1]}, 2)}
    fine: dict[str, tuple[Files, list[str], str]] = {
        f"d/{part}": (_folder(), ["train", "d", *TRAIN], f"d/{part}")
        for part in ("edges.csv", "labels.csv")
    }
    fine["npz"] = ({"a.npz": _npz(arrays)}, ["train", "./a.npz", *TRAIN], "a.npz")
    fine["scipy matrix"] = (
        {"a.npz": matrix.getvalue()},
        ["spectrum", "./a.npz", "--out", "out"],
        "a.npz",
    )
    fine["edge list"] = (
        {"e.csv": b"0,1,2.5\n1,2,1\n2,3,4\n"},
        ["spectrum", "e.csv", "--undirected", "--out", "out"],
        "e.csv",
    )
    for part in ("allx", "ally", "graph", "test.index"):
        command = ["train", "Cora", "--data", "data", *TRAIN]
        fine[f"planetoid {part}"] = (planetoid, command, f"{base}{part}")
    record = {"spec": {"dataset": "karate"}, "start": [[0, 1, 0, 0, -0.5, -0.5, 1]]}
    text = json.dumps({**record, "parameters": record["start"]}).encode()
    command = ["spectrum", "--record", "r.json", "--out", "out"]
    fine["record"] = ({"r.json": text}, command, "r.json")
    return fine


def _npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def _npy_header(shape: tuple[int, ...], kind: str = "<f8") -> bytes:
    return _header_of(repr({"descr": kind, "fortran_order": False, "shape": shape}).encode())


def _header_of(text: bytes) -> bytes:
    text += b" " * (63 - (len(text) + 10) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def _npz(arrays: dict[str, np.ndarray]) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _raw_npz(members: Files) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def _npz_bomb() -> bytes:
    file = io.BytesIO()
    with (
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("y.npy", "w", force_zip64=True) as member,
    ):
        member.write(_npy_header((10**9,), "|i1"))
        for _ in range(1000):
            member.write(bytes(10**6))
    return file.getvalue()


def _flagged(archive: bytes, in_directory: int, in_member: int, value: int) -> bytes:
    changed, place = bytearray(archive), 0
    while (place := changed.find(b"PK\x01\x02", place)) >= 0:
        changed[place + in_directory] = value
        place += 4
    place = 0
    while (place := changed.find(b"PK\x03\x04", place)) >= 0:
        changed[place + in_member] = value
        place += 4
    return bytes(changed)


def _safetensors(metadata: str) -> bytes:
    tensor = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
    return _raw_safetensors({"__metadata__": {"pgso": metadata}, "a": tensor})


def _raw_safetensors(header: dict) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(4)


def _broken_matrix() -> scipy.sparse.csr_matrix:
    matrix = scipy.sparse.csr_matrix(np.eye(3, dtype=np.float32))
    matrix.indptr = np.array([0, 10**9, 2, 3], dtype=np.int32)
    return matrix
