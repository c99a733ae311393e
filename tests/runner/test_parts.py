"""The parts by themselves: frames, spec names, cache, tickets, faults."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from types import SimpleNamespace
from typing import get_args

import pytest

from engine.runner import faults, wire, worker
from engine.runner.cache import OBJECTS_PER_ENCODED_BYTE, ResultCache
from engine.runner.contract import Result
from engine.runner.faults import Fault, FaultKind, FaultReport
from engine.runner.start_method import START_METHOD, choose_backend
from engine.runner.turn import Ticket
from tests.runner.misbehaving import spec as misbehaving

CAPS = {wire.PROGRESS: 100, wire.RESULT: 1 << 24}


@pytest.fixture
def pipe():
    read_fd, write_fd = os.pipe()
    yield read_fd, write_fd
    for fd in (read_fd, write_fd):
        try:
            os.close(fd)
        except OSError:
            continue


@pytest.mark.parametrize("length", [0, 1, 100, 1 << 20, (1 << 20) + 1, 5_000_000])
def test_a_frame_comes_back_whole(pipe, length):
    data = os.urandom(length)
    writer = threading.Thread(target=wire.write_frame, args=(pipe[1], wire.RESULT, data))
    writer.start()
    assert wire.read_frame(pipe[0], CAPS) == (wire.RESULT, data)
    writer.join()


@pytest.mark.parametrize("sent", [b"", b"R", b"R\0\0\0", b"R\0\0\0\5abc"])
def test_a_frame_cut_short_is_the_end_of_the_stream(pipe, sent):
    os.write(pipe[1], sent)
    os.close(pipe[1])
    assert wire.read_frame(pipe[0], CAPS) is None


def test_a_frame_above_its_cap_is_refused_before_its_data_is_read(pipe):
    os.write(pipe[1], b"P\0\0\0\x65")
    with pytest.raises(wire.FrameTooBig) as caught:
        wire.read_frame(pipe[0], CAPS)
    assert caught.value.announced_bytes == 101


def test_an_unknown_kind_of_frame_is_an_error(pipe):
    os.write(pipe[1], b"X\0\0\0\0")
    with pytest.raises(ValueError, match="unknown frame"):
        wire.read_frame(pipe[0], CAPS)


@pytest.mark.parametrize(
    "name",
    [
        "os.path",
        "engine.spec.GraphSpec",
        "engine.graph.experiment.GraphSpec",
        "engine.graph.spec.ModelSpec",  # imported there, not a spec of it
        "engine.graph.spec.Graph",
        "engine.graph.spec.Missing",
        "engine..spec.GraphSpec",
        "engine.graph.spec.os.GraphSpec",
        "tests.runner.misbehaving.spec.EchoSpec",
        "",
    ],
)
def test_only_specs_of_the_engine_have_a_name_on_the_wire(name):
    with pytest.raises(ValueError, match="spec"):
        wire.find_spec_class(name)


def test_a_spec_is_found_by_its_name():
    from engine.machine.spec import MachineSpec

    assert wire.find_spec_class(wire.spec_name(MachineSpec)) is MachineSpec
    extra = frozenset({misbehaving.__name__})
    assert wire.find_spec_class(wire.spec_name(misbehaving.EchoSpec), extra) is misbehaving.EchoSpec


def test_the_cache_forgets_the_least_recently_used():
    cache = ResultCache(capacity_bytes=3 * 10 * OBJECTS_PER_ENCODED_BYTE)
    results = {name: Result() for name in "abcd"}
    for name in "abc":
        cache.put((name, b""), results[name], 10)
    assert cache.get(("a", b"")) is results["a"]
    cache.put(("d", b""), results["d"], 10)
    assert cache.get(("b", b"")) is None
    assert all(cache.get((name, b"")) is results[name] for name in "acd")
    cache.put(("e", b""), Result(), 31)  # larger than the whole cache
    assert cache.get(("e", b"")) is None
    assert cache.get(("a", b"")) is results["a"]
    cache.put(("a", b""), results["b"], 30)  # replaces, and pushes the others out
    assert cache.get(("a", b"")) is results["b"]
    assert cache.get(("d", b"")) is None


def test_tickets_are_first_in_first_out(tmp_path):
    tickets = [Ticket(tmp_path) for _ in range(3)]
    assert [ticket.ahead() for ticket in tickets] == [0, 1, 2]
    tickets[1].give_back()
    tickets[1].give_back()
    assert [tickets[0].ahead(), tickets[2].ahead()] == [0, 1]
    tickets[0].give_back()
    assert tickets[2].ahead() == 0
    late = Ticket(tmp_path)
    assert late.ahead() == 1
    for ticket in (tickets[2], late):
        ticket.give_back()


@pytest.mark.skipif(sys.platform == "win32", reason="tickets of other processes are locked with flock")
def test_the_ticket_of_a_killed_process_does_not_count(tmp_path):
    program = (
        f"import sys, time; from pathlib import Path; from engine.runner.turn import Ticket\n"
        f"ticket = Ticket(Path({str(tmp_path)!r})); print(ticket.ahead(), flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "0\n"
        ours = Ticket(tmp_path)
        assert ours.ahead() == 1
        other.kill()
        other.wait()
        assert ours.ahead() == 0
        ours.give_back()


def _every_report():
    return [
        faults.refused(5 << 30, 4 << 30, "weights and activations"),
        faults.invalid("Mlp.layers must be between 1 and 500; received 0."),
        faults.timeout(60.0),
        faults.cpu(120),
        faults.memory(4 << 30, "std::bad_alloc"),
        faults.crash_signal(11, "Fatal Python error"),
        faults.crash_exit(0, ""),
        faults.too_big(50 << 20, 48 << 20),
        faults.too_much("200,000 events; the limit is 100,000.", "Record less."),
        faults.cancelled(),
        faults.torch_error(RuntimeError("text")),
        faults.queue_full(64),
        faults.engine_down("it ended"),
    ]


def test_every_kind_has_words_and_a_remedy():
    reports = _every_report()
    assert {report.kind for report in reports} == set(get_args(FaultKind))
    for report in reports:
        assert report.what.endswith(".")
        assert report.remedy.endswith(".")
        assert report.remedy in str(Fault(report))


def test_a_fault_survives_pickling_and_copying():
    report = faults.timeout(2.5)
    assert pickle.loads(pickle.dumps(Fault(report))).report == report
    assert "2.5 s" in report.what


def test_texts_say_the_numbers():
    assert "5.0 GiB" in faults.refused(5 << 30, 4 << 30, "x").what
    assert "4.0 GiB" in faults.refused(5 << 30, 4 << 30, "x").what
    assert "SIGSEGV" in faults.crash_signal(11, "").what
    assert "signal 250" in faults.crash_signal(250, "").what
    assert "64 jobs" in faults.queue_full(64).what
    assert [faults.size(n) for n in (0, 1023, 1024, 1536, 1 << 30)] == [
        "0 B",
        "1023 B",
        "1.0 KiB",
        "1.5 KiB",
        "1.0 GiB",
    ]


def test_an_unknown_start_method_is_refused(monkeypatch):
    monkeypatch.setenv(START_METHOD, "thread")
    with pytest.raises(ValueError, match=r"'spawn'.*received 'thread'"):
        choose_backend()


def test_reports_are_plain_data():
    import msgspec

    for report in _every_report():
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(report), type=FaultReport) == report


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), True),
        (OSError(12, "Cannot allocate memory"), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 40 bytes."), True),
        (RuntimeError("std::bad_alloc"), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("can't allocate memory"), False),
        (OSError(2, "No such file"), False),
    ],
)
def test_memory_errors_are_told_from_others(error, expected):
    assert faults.is_memory_error(error) is expected


def test_every_experiment_is_warmed_and_one_that_is_not_ready_is_told(monkeypatch, capsys):
    warmed = []

    def fail():
        raise RuntimeError("no such operator")

    found = {"broken": SimpleNamespace(warm=fail), "cold": SimpleNamespace(), "sound": SimpleNamespace()}
    found["sound"].warm = lambda: warmed.append(threading.current_thread())
    monkeypatch.setattr(worker, "experiment_modules", lambda: ["broken", "missing", "cold", "sound"])
    monkeypatch.setattr(worker, "import_module", found.__getitem__)
    for name, module in found.items():
        monkeypatch.setitem(sys.modules, name, module)
    worker.preload()
    told = capsys.readouterr().err
    assert "broken is not ready: no such operator" in told
    assert "missing is not ready" in told
    assert "sound" not in told
    assert "cold" not in told
    assert len(warmed) == 1
    assert not warmed[0].is_alive()
