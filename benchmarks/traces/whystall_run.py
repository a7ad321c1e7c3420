"""Our kernel breakdown, idle time and overlap of one file, as ``hta_run.py`` asks HTA for them."""

import json
import sys
from pathlib import Path

import msgspec

from whystall.profiles.idle import find_gaps, idle_time
from whystall.profiles.kineto import read_kineto
from whystall.profiles.linked import link
from whystall.profiles.shares import class_times, communication, kernel_times

linked = link(read_kineto(Path(sys.argv[1]), memory=False))
found = {
    "classes": class_times(linked),
    "kernels": kernel_times(linked, 10),
    "idle": idle_time(find_gaps(linked)),
    "overlap": communication(linked),
}
print(json.dumps(msgspec.to_builtins(found)))
