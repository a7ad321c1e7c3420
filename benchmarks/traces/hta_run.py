"""HolisticTraceAnalysis' kernel breakdown, idle time and overlap of one file. Runs in HTA's own environment."""

import json
import logging
import sys
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

from hta.trace_analysis import TraceAnalysis  # noqa: E402

analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="/")
kinds, _ = analysis.get_gpu_kernel_breakdown(visualize=False)
analysis.get_idle_time_breakdown(ranks=[0], visualize=False)
overlap = analysis.get_comm_comp_overlap(visualize=False)
print(json.dumps({"overlap": str(overlap.iloc[0].to_dict()), "kinds": kinds.to_dict(orient="records")}, default=str))
