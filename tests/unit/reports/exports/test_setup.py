"""The files of ``whystall init``, each against its own published rules; no cluster and no Docker were at hand."""

import json
import re
import tomllib
from pathlib import Path

import jsonschema
import kubernetes_validate
import pytest
import yaml

from whystall.cli.settings import TargetEntry, load_settings
from whystall.errors import UsageError
from whystall.model.slo import Slo
from whystall.reports.exports.setup import PARTS, SetupAsked, part_of, setup_files
from whystall.service.settings import WatchSettings
from whystall.sources.live.address import Address

DATA = Path(__file__).resolve().parents[3] / "data"
FILES = setup_files(SetupAsked(("http://127.0.0.1:8000", "https://gpu1.example/base"), Slo.parse("ttft_p95=1s")))
MOST_OF_HELM = re.compile(r"\{\{-? ?(.*?) ?\}\}")


def test_every_file_is_of_a_part_and_nothing_is_left_to_fill_in():
    assert {part_of(place) for place in FILES} == set(PARTS)
    assert [place for place, text in FILES.items() if "<<" in text] == []


def test_the_settings_are_read_back(tmp_path: Path):
    (tmp_path / "whystall.toml").write_text(FILES["whystall.toml"], encoding="utf-8")
    settings = load_settings(tmp_path / "whystall.toml")
    assert settings.targets["local"].url == "http://127.0.0.1:8000"
    assert settings.targets["gpu1"].url == "https://gpu1.example:443/base"
    assert settings.slo == "ttft_p95=1s"


def test_every_key_in_a_comment_is_a_key(tmp_path: Path):
    text = re.sub(r"^# (\[|\w+ = )", r"\1", FILES["whystall.toml"], flags=re.MULTILINE)
    (tmp_path / "whystall.toml").write_text(text, encoding="utf-8")
    settings = load_settings(tmp_path / "whystall.toml")
    assert settings.protected == ("prod",)
    assert settings.targets["gpu1"].server_args
    assert settings.targets["gpu1"].kernel_log == "/dev/kmsg"
    assert set(settings.targets) == {"local", "gpu1", "fleet", "llm", "ray"}
    assert settings.watch.listen == "127.0.0.1:9400"
    assert [notice.kind for notice in settings.watch.notices] == ["alertmanager", "slack"]
    assert settings.watch.silences[0].targets == ("lab*",)
    assert settings.watch.otlp is not None
    assert settings.watch.otlp.endpoint == "http://127.0.0.1:4318"
    assert settings.watch.report is not None
    assert settings.watch.report.every == "1d"


def test_every_key_of_the_watch_and_of_a_target_is_shown():
    text = FILES["whystall.toml"]
    told_elsewhere = {"headers", "cert", "key", "slo", "actuator", "notices", "silences", "otlp", "report"}
    for name in {*WatchSettings.__struct_fields__, *TargetEntry.__struct_fields__} - told_elsewhere:
        assert re.search(rf"^(# )?{name} = ", text, flags=re.MULTILINE), name


@pytest.mark.parametrize("target", ['http://a"b:1', "http://a\\b:1"])
def test_what_would_break_out_of_a_text_is_no_address(target: str):
    with pytest.raises(UsageError, match="is not a host's name"):
        setup_files(SetupAsked((target, "http://a:1")))


@pytest.mark.parametrize("target", ['http://a:1/b"c', "http://a:1/b\\c", "http://[::1]:8000", "10.0.0.7:8000"])
def test_an_odd_address_stays_text(target: str):
    made = setup_files(SetupAsked((target, "http://a:1")))
    tables = tomllib.loads(made["whystall.toml"])["targets"]
    assert Address.parse(target).base in {table["url"] for table in tables.values()}
    groups = yaml.safe_load(made["prometheus/prometheus.yml"])["scrape_configs"][0]["static_configs"]
    assert len(groups) == 2


def test_servers_behind_one_name_have_names_of_their_own():
    made = setup_files(SetupAsked(("http://a:1", "http://a:2", "http://a.example:2")))
    assert len(tomllib.loads(made["whystall.toml"])["targets"]) == 3


def test_the_scrape_configuration_has_scheme_and_path():
    groups = yaml.safe_load(FILES["prometheus/prometheus.yml"])["scrape_configs"][0]["static_configs"]
    assert groups[0] == {"targets": ["127.0.0.1:8000"]}
    assert groups[1]["labels"] == {"__scheme__": "https", "__metrics_path__": "/base/metrics"}


def test_the_compose_file_follows_the_compose_specification():
    schema = json.loads((DATA / "schemas" / "compose-spec.json").read_text("utf-8"))
    document = yaml.safe_load(FILES["compose.yaml"])
    jsonschema.Draft7Validator(schema).validate(document)
    mounted = [one.split(":")[0] for service in document["services"].values() for one in service.get("volumes", [])]
    for source in mounted:
        there = source in document["volumes"] or any(place.startswith(source.removeprefix("./")) for place in FILES)
        assert there, source


@pytest.mark.parametrize(
    "document", list(yaml.safe_load_all(FILES["kubernetes/whystall.yaml"])), ids=lambda d: d["kind"]
)
def test_a_manifest_is_what_kubernetes_takes(document: dict):
    kubernetes_validate.validate(document, "1.31", strict=True)


def rendered(text: str, values: dict, name: str = "blue") -> str:
    """The chart's few expressions as Helm fills them in; any other one is an error here."""

    def filled(found: re.Match[str]) -> str:
        path, *pipes = [part.strip() for part in found[1].split("|")]
        value = name if path == ".Release.Name" else None
        if value is None:
            assert path.startswith(".Values."), found[0]
            value = values
            for key in path.removeprefix(".Values.").split("."):
                value = value[key]
        for pipe in pipes:
            if pipe == "quote":
                value = json.dumps(value)
            elif pipe == "toYaml":
                value = yaml.safe_dump(value).rstrip()
            else:
                indent = int(re.fullmatch(r"nindent (\d+)", pipe)[1])
                value = "\n" + "\n".join(" " * indent + line for line in str(value).splitlines())
        return str(value)

    return MOST_OF_HELM.sub(filled, re.sub(r"\s+\{\{-", "{{-", text))


def test_the_chart_makes_manifests_that_kubernetes_takes():
    values = yaml.safe_load(FILES["helm/whystall/values.yaml"])
    jsonschema.Draft7Validator(json.loads(FILES["helm/whystall/values.schema.json"])).validate(values)
    templates = [text for place, text in FILES.items() if "/templates/" in place]
    documents = [yaml.safe_load(rendered(text, values)) for text in templates]
    for document in documents:
        kubernetes_validate.validate(document, "1.31", strict=True)
        assert document["metadata"]["name"] == "blue"
    kinds = {document["kind"]: document for document in documents}
    assert set(kinds) == {"ServiceAccount", "PersistentVolumeClaim", "Service", "ConfigMap", "Deployment"}
    assert tomllib.loads(kinds["ConfigMap"]["data"]["whystall.toml"]) == tomllib.loads(FILES["whystall.toml"])
    pod = kinds["Deployment"]["spec"]["template"]
    assert kinds["Service"]["spec"]["selector"].items() <= pod["metadata"]["labels"].items()


def test_the_chart_says_what_helm_wants():
    chart = yaml.safe_load(FILES["helm/whystall/Chart.yaml"])
    assert chart["apiVersion"] == "v2"
    assert re.fullmatch(r"[a-z][a-z0-9-]*", chart["name"])
    assert re.fullmatch(r"\d+\.\d+\.\d+", chart["version"])
    assert isinstance(chart["appVersion"], str)


def test_grafana_finds_its_boards_where_compose_puts_them():
    provider = yaml.safe_load(FILES["grafana/provisioning/dashboards/whystall.yml"])["providers"][0]
    volumes = yaml.safe_load(FILES["compose.yaml"])["services"]["grafana"]["volumes"]
    assert any(volume.split(":")[1] == provider["options"]["path"] for volume in volumes)
    assert json.loads(FILES["grafana/dashboards/whystall-fleet.json"])["uid"] == "whystall-fleet"


def test_the_commands_of_the_files_are_ones_of_whystall():
    from whystall.cli.verbs import VERBS

    services = yaml.safe_load(FILES["compose.yaml"])["services"]
    assert {services["emulator"]["command"][0], services["whystall"]["command"][0]} <= set(VERBS)
    assert "Type=notify" in FILES["systemd/whystall.service"]
