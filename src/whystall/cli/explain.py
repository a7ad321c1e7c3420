"""``whystall explain``: what a cause, a knob or a metric is."""

from __future__ import annotations

import click

from whystall.remedies.explanation import explain as explained
from whystall.reports.explanation import EXPLANATION_FORMATS, render_explanation

from .options import output_options
from .output import Output


# So that a flag may be asked for as it is written: whystall explain --max-num-seqs.
@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("word", metavar="CAUSE|KNOB|METRIC")
@output_options(EXPLANATION_FORMATS)
def explain(word: str, output: Output) -> int:
    """Say what a cause, a flag of the server or a metric is.

    Takes the id of a cause (kv_capacity), a flag of vllm serve (max_num_seqs), the name of a metric in any version
    (vllm:gpu_cache_usage_perc) or a short name (ttft). A word that is none of them is answered with the nearest, exit code 2.
    """
    output.write(render_explanation(explained(word), output.format, output.lang, output.width, output.colour))
    return 0
