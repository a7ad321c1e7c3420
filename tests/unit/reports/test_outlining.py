import msgspec

import findings
from whystall.model.diagnosis import Coverage, Engine, GpuMemory, Impact, MemoryPart
from whystall.reports import Finding
from whystall.reports.outlining import MOST_NAMES, engine_name, outline


def of(lang="en", **changed):
    return outline(Finding(msgspec.structs.replace(findings.bottleneck().diagnosis, **changed)), lang)


def test_facts_leave_out_what_is_not_known():
    page = of(engine=Engine())
    assert [fact.label for fact in page.facts] == ["Target", "Engine", "Window"]
    assert page.facts[1].value == "vllm version not seen"


def test_impact_shows_only_what_was_seen():
    page = of(impact=Impact(ttft_p95_s=0.5, queue_s=float("nan"), errors_per_s=0.0))
    assert [(fact.label, fact.value) for fact in page.impact] == [("TTFT p95", "500 ms"), ("Errors", "0/s")]


def test_a_healthy_server_costs_nothing():
    assert outline(findings.healthy(), "en").impact_title == "What users see"
    assert outline(findings.bottleneck(), "en").impact_title == "What it costs"


def test_memory_shares_are_of_the_whole():
    memory = GpuMemory(100.0, (MemoryPart("weights", 25.0, "reported"), MemoryPart("free", 75.0, "reported")))
    assert [part.share for part in of(memory=memory).memory.parts] == [0.25, 0.75]


def test_parts_that_claim_more_than_there_is_share_the_bar():
    memory = GpuMemory(100.0, (MemoryPart("weights", 150.0, "reported"), MemoryPart("kv", 50.0, "reported")))
    shares = [part.share for part in of(memory=memory).memory.parts]
    assert shares == [0.75, 0.25]


def test_memory_without_a_total_or_without_anything():
    parts = (MemoryPart("weights", 30.0, "reported"), MemoryPart("kv", 10.0, "reported"))
    assert of(memory=GpuMemory(None, parts)).memory.note.startswith("total not seen")
    assert of(memory=GpuMemory(None, ())).memory is None
    assert of(memory=GpuMemory(None, (MemoryPart("kv", 0.0, "reported"),))).memory is None


def test_names_that_the_tables_lack_are_cut_to_a_few():
    names = tuple(f"vllm:new_{n}" for n in range(MOST_NAMES + 3))
    assert of(coverage=Coverage(unknown_names=names)).unknown_names.endswith(", and 3 more")
    assert of(coverage=Coverage(unknown_names=names[:1])).unknown_names == "vllm:new_0"


def test_the_other_engines_are_those_that_the_outer_one_is_not():
    page = outline(findings.several(), "en")
    assert [other.name for other in page.others] == ["1 m"]
    assert [row[1] for row in page.engines.rows] == ["✘ bottleneck", "✔ healthy"]
    assert outline(findings.bottleneck(), "en").engines is None


def test_an_engine_is_named_by_what_tells_it_apart():
    diagnosis = findings.bottleneck().diagnosis
    assert engine_name(msgspec.structs.replace(diagnosis, engine=Engine(id="3", model="llama"))) == "3 llama"
    assert engine_name(msgspec.structs.replace(diagnosis, engine=Engine())) == "vllm"


def test_every_text_is_clean():
    def texts(value):
        if isinstance(value, str):
            yield value
        elif isinstance(value, msgspec.Struct):
            for name in value.__struct_fields__:
                yield from texts(getattr(value, name))
        elif isinstance(value, tuple):
            for item in value:
                yield from texts(item)

    found = list(texts(outline(findings.hostile("\x1b[31m\u202e"), "zh")))
    assert len(found) > 50
    assert not [text for text in found if "\x1b" in text or "\u202e" in text]


def test_a_chinese_list_has_its_own_comma():
    page = of("zh")
    assert "、" in page.signals
    assert ", " not in page.signals
