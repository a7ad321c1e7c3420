from pathlib import Path

from chrome_trace import call, document, kernel, render, write
from whystall.profiles.files import TraceOptions, read_file, report_of
from whystall.profiles.headline import headline
from whystall.profiles.report import FileReport


def said(tmp_path: Path, *events) -> str:
    report = read_file(write(tmp_path, render(document(list(events)))), TraceOptions()).report
    return headline([report], None).en


def test_a_gpu_that_waits_for_launches(tmp_path: Path) -> None:
    events = [
        e for n in range(5) for e in (call("cudaLaunchKernel", 100 * n, 9, n), kernel("nvjet", 100 * n + 10, 5, n))
    ]
    assert "launch-bound" in said(tmp_path, *events)


def test_exposed_collectives(tmp_path: Path) -> None:
    assert "collectives with nothing beside them" in said(tmp_path, kernel("nccl", 0, 60), kernel("nvjet", 60, 40))


def test_a_busy_gpu_names_its_largest_class(tmp_path: Path) -> None:
    assert said(tmp_path, kernel("nvjet", 0, 60), kernel("flash", 60, 40)).endswith("GEMM takes the most of it, 60%.")


def test_other_kinds(shared: Path, tmp_path: Path) -> None:
    spans = report_of([shared / "recordings/cpu_traced/spans.jsonl.gz"], TraceOptions())
    assert spans.headline.en.startswith("78 requests spent 93% of their time in decode")
    assert headline([FileReport("x", "pytorch")], None).en == "Nothing to say of these files."
