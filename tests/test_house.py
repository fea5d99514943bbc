"""The house stands: names, sizes, documentation, banned imports. Layers are checked by import-linter."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import discreet
from discreet import errors

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src" / "discreet").rglob("*.py"))
MODULES = ["discreet", *(m.name for m in pkgutil.walk_packages(discreet.__path__, "discreet."))]
DOCS = {path: path.read_text() for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]}


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    return [ROOT / name for name in listed.stdout.split() if (ROOT / name).is_file()]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_no_file_has_a_name_that_says_nothing(path: Path) -> None:
    assert path.stem not in {"utils", "util", "helpers", "helper", "base", "manager", "common", "misc"}


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_files_and_functions_stay_readable(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= 450, "a file this long has a second reason to exist"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.body[0].lineno + 1
            assert length <= 60, f"{node.name} has {length} lines"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_randomness_has_one_door_and_nothing_unpickles(path: Path) -> None:
    if path.name == "randomness.py":
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names = [f"{node.value.id}.{node.attr}"]
        else:
            continue
        banned = {"random", "secrets", "pickle", "marshal", "shelve", "np.random", "numpy.random"}
        assert not banned & set(names), names


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_is_listed_and_documented(name: str) -> None:
    if name.endswith("__main__"):
        return
    module = importlib.import_module(name)
    assert module.__doc__, "a module says what it is"
    for public in getattr(module, "__all__", []):
        thing = getattr(module, public)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert inspect.getdoc(thing), f"{name}.{public}"
    tree = ast.parse(inspect.getsource(module))
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    missing = {entry for entry in defined if not entry.startswith("_")} - set(getattr(module, "__all__", []))
    assert not missing, f"public but not in __all__: {missing}"


def test_every_error_is_drawn_in_the_tree() -> None:
    drawn = errors.__doc__ or ""
    for name in errors.__all__:
        assert re.search(rf"\b{name}\b", drawn), name
        assert issubclass(getattr(errors, name), errors.DiscreetError)


def test_every_bad_input_has_its_test() -> None:
    source = (ROOT / "tests" / "fit" / "mixture" / "test_estimator.py").read_text()
    table = source[
        source.index("BAD_REQUESTS:") : source.index('@pytest.mark.parametrize("case", BAD_REQUESTS)')
    ]
    cases = set(re.findall(r'^    "([^"]+)": \(', table, flags=re.M))
    assert len(cases) > 20
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", DOCS[ROOT / "docs" / "bad-input.md"], flags=re.M)
    documented = {case.strip(): words for case, words in rows if case.strip() != "case"}
    for case in cases:
        assert case in documented, f"docs/bad-input.md has no row for {case!r}"
    tests = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    for case, words in documented.items():
        named = re.findall(r"`(test_\w+)`", words)
        elsewhere = "`tests/records/`" in words
        assert case in cases or elsewhere or named, f"{case!r} has no test"
        assert all(f"def {test}" in tests for test in named), named


def test_every_module_that_documents_name_exists() -> None:
    """`discreet.x.y` and files under tests/ that the documents mention are there."""
    for path, text in DOCS.items():
        for name in re.findall(r"`discreet\.([a-z_.]+)`", text):
            parts = name.rstrip(".").split(".")
            found = any(
                (ROOT / "src" / "discreet" / "/".join(parts[:depth])).with_suffix(".py").exists()
                or (ROOT / "src" / "discreet" / "/".join(parts[:depth])).is_dir()
                for depth in range(1, len(parts) + 1)
            )
            assert found, f"{name_of(path)} mentions discreet.{name}"
        for name in re.findall(r"`((?:tests|experiments|benchmarks|docs)/[\w/.-]+)`", text):
            assert (ROOT / name).exists(), f"{name_of(path)} mentions {name}"


def test_no_benchmark_hides_a_module_of_python() -> None:
    """Peers run scripts of that folder, which stands first where Python looks for modules."""
    hidden = {path.stem for path in (ROOT / "benchmarks").glob("*.py")} & set(sys.stdlib_module_names)
    assert not hidden


def test_names_of_test_modules_are_unique() -> None:
    """pytest imports them by name."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))


def test_every_room_that_the_source_names_exists() -> None:
    """`fit.mixture.kernel` or `gaussian.pure_mu` in a docstring: a file, and a name in it if one follows."""
    files = [path for path in tracked() if path.suffix == ".py" and "src" in path.parts]
    texts = {path: path.read_text() for path in files}
    source = ROOT / "src" / "discreet"
    rooms = {path.relative_to(source).parts[0] for path in files if path.parent != source}
    for path, text in texts.items():
        for name in re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)`", text):
            first, *rest = name.split(".")
            if rest[-1] in ("json", "bif", "toml", "csv", "html", "safetensors"):
                continue  # a file, such as model.json
            place = source / "/".join([first, *rest])
            if first in rooms:
                found = place.is_dir() or place.with_suffix(".py").exists()
            else:
                same = [other for home, other in texts.items() if home.stem == first]
                found = not same or any(re.search(rf"\b{rest[-1]}\b", other) for other in same)
            assert found, f"{name_of(path)} names {name}"


def test_no_path_of_a_machine_and_no_registry_is_committed() -> None:
    hosts = re.compile(r"files\.pythonhosted|pypi\.org|index-url|find-links|registry\.npmjs")
    places = re.compile("/" + "work/|/" + r"home/[a-z]+/|/" + "root/")
    for path in tracked():
        if path.suffix in {".png", ".svg"}:
            continue
        text = path.read_text(errors="ignore")
        assert not hosts.search(text) or path.name == "test_house.py", name_of(path)
        assert not places.search(text), name_of(path)


def test_no_data_no_keys_no_models_are_committed() -> None:
    suffixes = {".parquet", ".safetensors", ".pem", ".key", ".ledger", ".pkl", ".npz", ".npy", ".db"}
    assert not [path for path in tracked() if path.suffix in suffixes]


def test_importing_the_package_is_light() -> None:
    heavy = [
        "numpy",
        "sklearn",
        "opendp",
        "dp_accounting",
        "matplotlib",
        "scipy.stats",
        "pandas",
        "polars",
        "pyarrow",
    ]
    code = f"import sys, discreet, discreet.errors; print([m for m in {heavy} if m in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"
