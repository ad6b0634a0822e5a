"""``make package``: build both packages, install them into a fresh environment, and try them.

The base package alone must do without any extra: ``import pgso``, ``pgso find karate``, and one
sentence that names the extra or the package where something is missing. A user's program is type
checked against the installed package. ``--tag v0.1.0`` only checks that the versions agree.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
# A user's program under `mypy --strict`: right but for its last two lines.
PROGRAM = """
import torch

import pgso

gso = pgso.PGSO("gcn")
graph = pgso.Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]))
y: torch.Tensor = gso(torch.ones(2, 1), graph)
op: pgso.ShiftOperator = pgso.shift(graph, "gcn")
z: torch.Tensor = op @ y
verdict: str = pgso.find("karate").verdict
record: pgso.RunRecord = pgso.fit(pgso.RunSpec(dataset="karate", operator="pgso", epochs=3))
test: float | None = record.test
wrong: int = gso.parameters_tuple()
misspelt = pgso.shft(graph, "gcn")
"""


def main() -> None:
    """Build, install, try."""
    versions = {version_of("src/pgso"), version_of("studies/pgso_studies")}
    if len(versions) != 1:
        sys.exit(f"the two packages have different versions: {sorted(versions)}")
    if "--tag" in sys.argv:
        tag = sys.argv[sys.argv.index("--tag") + 1]
        if tag != f"v{versions.pop()}":
            sys.exit(f"the tag {tag} is not the version of the packages")
        return
    for old in DIST.glob("*"):
        old.unlink()
    for folder in (ROOT, ROOT / "studies"):
        run(sys.executable, "-m", "hatchling", "build", "-d", DIST, cwd=folder)
    wheels = {path.name.partition("-")[0]: path for path in DIST.glob("*.whl")}
    with tempfile.TemporaryDirectory() as name:
        try_out(Path(name), wheels)
    print("both packages install and work:", *sorted(path.name for path in DIST.iterdir()))


def try_out(folder: Path, wheels: dict[str, Path]) -> None:
    """Use the wheels in an environment that holds nothing else."""
    run(sys.executable, "-m", "venv", folder / "venv")
    scripts = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    python, pgso = scripts / "python", scripts / "pgso"
    constraints = ROOT / "constraints.txt"
    run(python, "-m", "pip", "install", "-q", "-c", constraints, wheels["pgso"])
    run(python, "-c", "import pgso; pgso.PGSO('gcn')", cwd=folder)
    run(pgso, "find", "karate", cwd=folder)
    refused(pgso, "run", "convergence", says="pgso-studies", cwd=folder)
    run(python, "-m", "pip", "install", "-q", "-c", constraints, wheels["pgso_studies"])
    quick = (pgso, "run", "convergence", "--quick")
    refused(*quick, "--engine", "ray", says="pgso[cluster]", cwd=folder)
    run(*quick, "--workers", "1", cwd=folder)
    (folder / "program.py").write_text(PROGRAM)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--python-executable", python]
    for error in ('variable has type "int"', 'has no attribute "shft"', "Found 2 errors in 1 file"):
        refused(*mypy, "program.py", says=error, code=1, cwd=folder)


def run(*words: str | Path, cwd: Path = ROOT) -> None:
    """Run a program that must succeed."""
    print("$", *words, flush=True)
    subprocess.run(list(map(str, words)), cwd=cwd, env=clean(), check=True)


def refused(*words: str | Path, says: str, cwd: Path, code: int = 2) -> None:
    """Run a program that must end with this code and say this."""
    print("$", *words, flush=True)
    ended = subprocess.run(
        list(map(str, words)), cwd=cwd, env=clean(), capture_output=True, text=True, check=False
    )
    said = " ".join((ended.stdout + ended.stderr).split())
    if ended.returncode != code or says not in said:
        sys.exit(f"{words[0]} ended with {ended.returncode} and did not say {says!r}: {said}")


def clean() -> dict[str, str]:
    """The environment without what would bring the checkout into it."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def version_of(package: str) -> str:
    """The version that a package says."""
    text = (ROOT / package / "__init__.py").read_text(encoding="utf-8")
    return text.partition('__version__ = "')[2].partition('"')[0]


if __name__ == "__main__":
    main()
