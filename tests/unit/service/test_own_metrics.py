from prometheus_client.openmetrics.parser import text_string_to_metric_families

from watched_pages import Emulated
from whystall.service.events import Events
from whystall.service.ledger import Ledger
from whystall.service.log import Log
from whystall.service.own_metrics import page
from whystall.service.server import Watching
from whystall.service.watcher import Watcher
from whystall.service.workers import Workers


def test_the_reference_parser_reads_the_page():
    emulated = Emulated("kv_capacity", at=300, until=900, name='a"b\\')
    emulated.run(400)
    watcher = Watcher(Watching(), Ledger(), Workers(0), Log())
    watcher.lookout = emulated.lookout
    watcher.events = Events()
    families = {f.name: f for f in text_string_to_metric_families(page(watcher))}
    (sample,) = families["whystall_incident"].samples
    assert sample.labels["cause"] == "kv_capacity"
    assert sample.labels["target"] == 'a"b\\'
    assert families["whystall_healthy"].samples[0].value == 0
