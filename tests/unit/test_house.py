"""The house style of CONTRIBUTING.md, as far as a machine can see it."""

import ast
import re
import statistics
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "whystall"
UNIT = ROOT / "tests" / "unit"

MAX_FUNCTION_LINES = 80
MAX_MEDIAN_LINES = 15
MAX_MODULE_LINES = 400
TRIVIAL_LINES = 12  # of functions in a module: a struct with an accessor needs no test of its own
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "base", "misc"}
# Where every public class and function must say what it is; elsewhere the name may be enough.
DOCUMENTED = ("model", "causes/catalogue", "remedies/knobs", "pipeline.py", "__init__.py")
# The one last resort, so that nobody meets a traceback.
BROAD_EXCEPT = "cli/__init__.py"
# Modules tested under another name: folders of tables that YAML cases test, and modules that only make sense together.
TESTED_ELSEWHERE = {
    "causes/catalogue": "tests/cases, one file a cause",
    "emulator/engine": "tests/unit/emulator/engine/test_parity.py, step by step against the real scheduler",
    "emulator/server": "tests/unit/emulator/server and tests/integration/test_emulator.py, over real HTTP",
    "cli/emulate.py": "tests/integration/test_emulator.py",
    "remedies/knobs": "tests/unit/remedies/test_knobs.py and test_rules.py",
    "remedies/treatments": "tests/unit/remedies/test_treatments.py",
    "cli/verbs.py": "tests/unit/cli/test_main.py",
    "cli/__init__.py": "tests/unit/cli/test_main.py",
    "__main__.py": "tests/unit/cli/test_main.py",
    "service/notices": "tests/unit/service/notices/test_receiver.py, each kind against a fake of it",
    "errors.py": "tests/unit/cli/test_main.py",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules() -> Iterator[tuple[str, ast.Module, str]]:
    """Path below ``whystall``, tree and text of every module of ours."""
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        yield path.relative_to(SOURCE).as_posix(), ast.parse(text), text


def functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def length(function: Function) -> int:
    assert function.end_lineno is not None
    return function.end_lineno - function.lineno + 1


def test_functions_are_short() -> None:
    long = [
        f"{name}:{function.lineno} {function.name}: {length(function)} lines"
        for name, tree, _ in modules()
        for function in functions(tree)
        if length(function) > MAX_FUNCTION_LINES
    ]
    assert long == []


def test_the_median_function_is_short() -> None:
    lengths = [length(function) for _, tree, _ in modules() for function in functions(tree)]
    assert statistics.median(lengths) <= MAX_MEDIAN_LINES


def test_modules_are_short() -> None:
    assert [name for name, _, text in modules() if text.count("\n") >= MAX_MODULE_LINES] == []


def test_modules_are_named_for_what_they_hold() -> None:
    parts = [(name, Path(name).with_suffix("").parts) for name, _, _ in modules()]
    assert [name for name, words in parts if EMPTY_NAMES & set(words)] == []


def test_classes_are_named_for_what_they_hold() -> None:
    empty = re.compile(r"(Utils?|Helpers?|Manager|Common|Misc)$|^Base[A-Z]")
    classes = [(name, n.name) for name, tree, _ in modules() for n in ast.walk(tree) if isinstance(n, ast.ClassDef)]
    assert [f"{name}: {found}" for name, found in classes if empty.search(found)] == []


def test_every_module_says_what_it_holds() -> None:
    assert [name for name, tree, text in modules() if text.strip() and not ast.get_docstring(tree)] == []


def test_the_public_parts_are_documented() -> None:
    bare = [
        f"{name}:{node.lineno} {node.name}"
        for name, tree, _ in modules()
        if name.startswith(DOCUMENTED)
        for node in tree.body
        if isinstance(node, ast.ClassDef | Function) and not node.name.startswith("_") and not ast.get_docstring(node)
    ]
    assert bare == []


def is_broad(node: ast.AST) -> bool:
    """``except:``, ``except Exception`` alone or in a tuple, and ``suppress(Exception)``."""
    broad = {"Exception", "BaseException"}
    if isinstance(node, ast.ExceptHandler):
        caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        return any(kind is None or (isinstance(kind, ast.Name) and kind.id in broad) for kind in caught)
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
        return any(isinstance(kind, ast.Name) and kind.id in broad for kind in node.args)
    return False


def test_one_place_catches_everything() -> None:
    found = [f"{name}:{node.lineno}" for name, tree, _ in modules() for node in ast.walk(tree) if is_broad(node)]
    assert [place.partition(":")[0] for place in found] == [BROAD_EXCEPT], found


def test_nothing_is_left_for_later() -> None:
    later = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|raise NotImplementedError\(?\)?\s*$", re.MULTILINE)
    assert [f"{name}: {match[0]}" for name, _, text in modules() for match in later.finditer(text)] == []


def test_tests_mirror_the_source() -> None:
    """A module with more than trivial functions has a test module at its place, or one that asks it by name."""
    asked = imported_by_tests()
    missing = [
        name
        for name, tree, _ in modules()
        if sum(map(length, functions(tree))) > TRIVIAL_LINES
        and not (has_another_test(name) or mirror(name).is_file() or dotted(name) in asked)
    ]
    assert missing == []


def imported_by_tests() -> set[str]:
    """Every name of ours that some test imports, modules and what is taken from them alike."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "tests").rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    return {name for node in nodes for name in (node.module, *(f"{node.module}.{a.name}" for a in node.names)) if name}


def dotted(name: str) -> str:
    return "whystall." + name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def mirror(name: str) -> Path:
    path = Path(name)
    stem = path.parent.name if path.name == "__init__.py" else path.stem
    return UNIT / path.parent / f"test_{stem}.py"


def has_another_test(name: str) -> bool:
    return any(name == known or name.startswith(f"{known}/") for known in TESTED_ELSEWHERE)


def test_no_exception_outlives_its_module() -> None:
    assert [name for name in TESTED_ELSEWHERE if not (SOURCE / name).exists()] == []


def test_chinese_has_its_own_punctuation() -> None:
    """What stands beside a Chinese character is the full-width one, in whatever a person reads."""
    found = [
        f"{name}:{node.lineno} {node.value}"
        for name, tree, _ in modules()
        if name != "reports/quoted.py"  # patterns, which nobody reads
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.search(r"[\u4e00-\u9fff][,:;?!()]|[()][\u4e00-\u9fff]", node.value)
    ]
    assert not found, found
