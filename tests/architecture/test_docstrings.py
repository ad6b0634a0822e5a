"""Public methods say what they do, here or where they were first declared."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import torch

import pgso
from pgso.conversion.layer import Converted


def undocumented(cls: type) -> Iterator[str]:
    """Public methods and properties of a class without a docstring of their own or inherited."""
    bases = [base for base in cls.__mro__ if base.__module__.startswith("pgso")]
    for name, member in vars(cls).items():
        is_method = inspect.isroutine(member) or isinstance(member, property)
        is_default = getattr(member, "__name__", name) != name  # a function as a field's default
        if name.startswith("_") or not is_method or is_default:
            continue
        if hasattr(cls, f"_jinja_{name}") or name in ("collect", "edge_collect"):
            continue  # PyG writes these into the class of a layer of messages
        if issubclass(cls, torch.autograd.Function) and hasattr(torch.autograd.Function, name):
            continue  # forward, backward: the class says what they compute
        if issubclass(cls, Converted) and name == "forward":
            continue  # PyG's own signature and meaning; the class says which layer it stands for
        if not any(getattr(vars(base).get(name), "__doc__", None) for base in bases):
            yield f"{cls.__module__}.{cls.__qualname__}.{name}"


def classes() -> Iterator[type]:
    for found in pkgutil.walk_packages(pgso.__path__, "pgso."):
        if found.name == "pgso.__main__":
            continue
        module = importlib.import_module(found.name)
        for value in vars(module).values():
            is_here = inspect.isclass(value) and value.__module__ == found.name
            if is_here and not value.__name__.startswith("_"):
                yield value


def test_every_public_method_says_what_it_does():
    missing = [name for cls in classes() for name in undocumented(cls)]
    assert not missing, f"without a docstring: {missing}"


def test_a_method_without_a_docstring_is_seen():
    class Documented:
        def said(self) -> None:
            """It is said."""

        def unsaid(self) -> None:
            pass

    Documented.__module__ = "pgso.example"
    assert [name.rpartition(".")[2] for name in undocumented(Documented)] == ["unsaid"]
