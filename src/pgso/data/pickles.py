"""Pickles of arrays, and of nothing else: what the Planetoid files were stored as in Python 2.

A pickle is a program. Here every name it may ask for is answered by a stand-in, only the
instructions that the public files need are carried out, and arrays are made by us, afterwards,
from plain bytes whose length fits the claimed shape.
"""

import io
import math
import pickle
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pgso.data.arrays import Array
from pgso.errors import InputError

if TYPE_CHECKING:
    import scipy.sparse

PLAIN_TYPE = re.compile(r"[biufSU][1-9]\d{0,3}")  # numbers and fixed-width text; never objects
NDARRAY, LIST = object(), object()  # may be named, and handed to a stand-in, but not called
INSTRUCTIONS = (
    "PROTO FRAME STOP MARK POP POP_MARK NONE NEWTRUE NEWFALSE INT BININT BININT1 BININT2 LONG "
    "LONG1 LONG4 FLOAT BINFLOAT STRING BINSTRING SHORT_BINSTRING UNICODE BINUNICODE "
    "SHORT_BINUNICODE BINUNICODE8 BINBYTES SHORT_BINBYTES BINBYTES8 TUPLE EMPTY_TUPLE TUPLE1 "
    "TUPLE2 TUPLE3 LIST EMPTY_LIST APPEND APPENDS DICT EMPTY_DICT SETITEM SETITEMS PUT BINPUT "
    "LONG_BINPUT MEMOIZE GET BINGET LONG_BINGET GLOBAL STACK_GLOBAL REDUCE NEWOBJ BUILD"
)
# Python's own slow reader, which lets us choose the instructions that it carries out.
_Reader: Any = pickle._Unpickler


class _Matrix:
    """Stands in for scipy's matrix: takes its parts without looking at them."""


class _Type:
    """Stands in for numpy's dtype: a plain type, whose byte order comes in a second step."""

    def __init__(self, code: str) -> None:
        if not isinstance(code, str) or not PLAIN_TYPE.fullmatch(code):
            raise pickle.UnpicklingError(f"it holds an array of type {code!r:.40}")
        self.dtype = np.dtype(code)

    def __setstate__(self, state: Any) -> None:
        if len(state) < 5 or state[1] not in ("<", ">", "=", "|") or any(state[2:5]):
            raise pickle.UnpicklingError("it holds an array of a type with parts")
        if state[1] != "|":
            self.dtype = self.dtype.newbyteorder(state[1])


class _Values:
    """Stands in for an array until its shape, type and bytes are known."""

    array: Array | None = None

    def __init__(self, encode: Callable[[str], bytes]) -> None:
        self.encode = encode

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, by_columns, content = state
        if not isinstance(kind, _Type) or not all(type(n) is int and n >= 0 for n in shape):
            raise pickle.UnpicklingError("it holds an array without a shape or type")
        if isinstance(content, str):  # bytes of Python 2
            content = self.encode(content)
        if not isinstance(content, bytes) or math.prod(shape) * kind.dtype.itemsize != len(content):
            raise pickle.UnpicklingError("it holds an array whose size does not fit its shape")
        flat = np.frombuffer(content, kind.dtype)
        self.array = flat.reshape(shape, order="F" if by_columns else "C")


class _ArrayUnpickler(_Reader):
    """Carries out a few instructions, and answers every name by a stand-in."""

    dispatch: ClassVar[dict[int, Any]] = {
        getattr(pickle, name)[0]: _Reader.dispatch[getattr(pickle, name)[0]]
        for name in INSTRUCTIONS.split()
    }

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content), encoding="latin1")
        self.left_to_encode = len(content)
        matrix = type("Matrix", (_Matrix,), {})  # a file could change the class itself
        self.stand_ins = {  # for the only names that a file may ask for
            "numpy.core.multiarray._reconstruct": self.new_array,
            "numpy.ndarray": NDARRAY,
            "numpy.dtype": lambda code, align=False, copy=False: _Type(code),
            "scipy.sparse.csr.csr_matrix": matrix,
            "collections.defaultdict": lambda default=None: {},
            "__builtin__.list": LIST,
            # The same as newer versions of Python, numpy and scipy call them.
            "numpy._core.multiarray._reconstruct": self.new_array,
            "scipy.sparse._csr.csr_matrix": matrix,
            "builtins.list": LIST,
            "_codecs.encode": self.encode,
        }

    def find_class(self, module: str, name: str) -> Any:
        try:
            return self.stand_ins[f"{module}.{name}"]
        except KeyError:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}") from None

    def new_array(self, kind: Any, shape: Any, code: Any) -> _Values:
        if kind is not NDARRAY:
            raise pickle.UnpicklingError("it builds an array of something else")
        return _Values(self.encode)

    def encode(self, text: str, encoding: str = "latin1") -> bytes:
        """Python 3 writes bytes into old formats as a call of ``codecs.encode``, each once."""
        self.left_to_encode -= len(text)
        if self.left_to_encode < 0:
            raise pickle.UnpicklingError("it repeats its bytes")  # a small file may fill the memory
        return text.encode("latin1")


def _with_plain_keys(reader: Any, instruction: Any, keys: slice) -> None:
    """Carry out an instruction that sets keys, which lie at these places of the stack."""
    # A key such as a tuple of tuples of tuples ... would overflow the stack when it is hashed.
    if any(type(key) not in (int, str) for key in reader.stack[keys]):
        raise pickle.UnpicklingError("it has keys that are neither numbers nor words")
    instruction(reader)


_PAIRS = slice(0, None, 2)
_SETTERS = {pickle.SETITEM: slice(-2, -1), pickle.SETITEMS: _PAIRS, pickle.DICT: _PAIRS}
for (_code,), _keys in _SETTERS.items():
    _with = {"instruction": _Reader.dispatch[_code], "keys": _keys}
    _ArrayUnpickler.dispatch[_code] = partial(_with_plain_keys, **_with)


def read_pickle(path: Path) -> Any:
    """What a pickle holds: arrays, sparse matrices, lists, dictionaries, numbers; others never."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; it is needed here") from None

    def finished(part: Any) -> Any:
        """The array in the place of its stand-in."""
        if isinstance(part, _Values) and part.array is None:
            raise pickle.UnpicklingError("it holds an array without values")
        return part.array if isinstance(part, _Values) else part

    try:
        stored = _ArrayUnpickler(content).load()
        if isinstance(stored, _Matrix):
            vars(stored).update({name: finished(part) for name, part in vars(stored).items()})
        return finished(stored)
    except Exception as error:  # a damaged pickle can raise anything
        reason = str(error)[:200] or type(error).__name__
        problem = f"{path} is no pickle of arrays ({reason})"
        raise InputError(f"{problem}; it is damaged or hostile, fetch it again") from None


def read_matrix(path: Path) -> "scipy.sparse.csr_array":  # (rows, columns)
    """A pickled array or sparse matrix of numbers, checked, as compressed sparse rows."""
    import scipy.sparse

    stored = read_pickle(path)
    try:
        if isinstance(stored, _Matrix):
            parts = vars(stored)
            shape = parts.get("_shape", parts.get("shape"))
            arrays = (parts["data"], parts["indices"], parts["indptr"])
            matrix = scipy.sparse.csr_array(arrays, shape=shape)
            matrix.check_format(full_check=True)
            if matrix.dtype.kind not in "biuf":
                raise ValueError("its entries are no numbers")
            return matrix
        if isinstance(stored, np.ndarray) and stored.ndim == 2 and stored.dtype.kind in "biuf":
            return scipy.sparse.csr_array(stored)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise InputError(f"{path} holds a broken matrix ({error}); fetch it again") from None
    raise InputError(f"{path} must hold a matrix of numbers, got {type(stored).__name__}")
