"""Would a real vLLM start so? Run by its own Python: MODEL, then a JSON list of argument lists on standard input.

Prints a JSON list: "" where the parser and the configuration take the arguments, else what was said against them.
The engine itself is not started, so that nothing is said of memory.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys

from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.entrypoints.launchers.cli_args import make_arg_parser
from vllm.usage.usage_lib import UsageContext
from vllm.utils.argparse_utils import FlexibleArgumentParser


def refusal(model: str, arguments: list[str]) -> str:
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            parser = make_arg_parser(FlexibleArgumentParser())
            parsed = parser.parse_args(["--model", model, "--dtype", "bfloat16", *arguments])
            AsyncEngineArgs.from_cli_args(parsed).create_engine_config(UsageContext.OPENAI_API_SERVER)
    except SystemExit:
        return said.getvalue().strip()[-300:] or "exit"
    except (ValueError, TypeError, NotImplementedError) as error:
        return f"{type(error).__name__}: {error}"[:300]
    return ""


def main() -> None:
    wanted = json.load(sys.stdin)
    answers = [refusal(sys.argv[1], arguments) for arguments in wanted]
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
