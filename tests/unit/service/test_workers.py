import asyncio
import os
import signal

import psutil

from watched_pages import Emulated
from whystall.service.look import Job
from whystall.service.workers import Workers


def job() -> Job:
    emulated = Emulated("kv_capacity", at=60, until=900)
    emulated.run(120)
    server = emulated.lookout.servers["a"]
    return Job("a", emulated.now, server._recording(0.0))


async def test_a_worker_looks_and_one_that_is_killed_is_replaced():
    asked = job()
    with Workers(1) as workers:
        assert (await workers.look(asked)).full["0"].diagnosis.causes[0].id == "kv_capacity"
        (process,) = workers._pool._processes.values()
        os.kill(process.pid, signal.SIGKILL)
        psutil.wait_procs([psutil.Process(process.pid)] if psutil.pid_exists(process.pid) else [])
        assert "killed" in (await workers.look(asked)).error
        assert (await workers.look(asked)).full["0"].diagnosis.verdict == "bottleneck"


async def test_ctrl_c_and_the_end_of_a_unit_do_not_cut_a_look_off():
    """Both go to the whole group of processes, and may come while the worker still loads."""
    with Workers(1) as workers:
        doing = asyncio.ensure_future(workers.look(job()))
        await asyncio.sleep(0)
        (process,) = workers._pool._processes.values()
        for number in (signal.SIGINT, signal.SIGTERM):
            os.kill(process.pid, number)
        assert (await doing).full["0"].diagnosis.verdict == "bottleneck"
        assert process.is_alive()
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


async def test_without_processes_it_looks_here():
    assert (await Workers(0).look(job())).full["0"].diagnosis.verdict == "bottleneck"
