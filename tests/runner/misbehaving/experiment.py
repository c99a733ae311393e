"""Verbs that misbehave in every way a worker must survive."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy
import torch

from engine.graph.experiment import trace_model
from engine.runner.confine import applied_features
from engine.runner.contract import Price, Result, hand_over
from engine.runner.faults import Fault, too_much
from tests.runner.misbehaving.spec import PricedSpec, Said, TightGraphSpec

__all__ = ["trace_model"]


def price(spec):
    if isinstance(spec, PricedSpec):
        return Price(predicted_bytes=spec.price_bytes, what="as the test says")
    return Price(predicted_bytes=1 << 20, what="too little") if isinstance(spec, TightGraphSpec) else None


def echo(spec, progress):
    return Said(text=spec.text)


def echo_priced(spec, progress):
    return Said(text="ran")


def report_progress(spec, progress):
    for step in range(spec.steps):
        progress(f"step {step}", step / spec.steps)
        if spec.gates:
            _wait_for(Path(spec.gates, f"step {step}"))
    return Said(text="done")


def _wait_for(file):
    while not file.exists():
        time.sleep(0.002)


def wait_at_gate(spec, progress):
    progress("at the gate", 0.5)
    _wait_for(Path(spec.gate))
    return Said(numbers=(time.monotonic(),))


def say_in_two_parts(spec, progress):
    part = Said(text="part", data=bytes(2 << 20) if spec.ends == "too_big_part" else b"")
    if not spec.whole:
        return part
    hand_over(progress, lambda: part)
    time.sleep(spec.seconds)
    if spec.ends == "raising":
        raise RuntimeError("the rest")
    return Said(text="whole")


def sleep(spec, progress):
    progress("sleeping", 0.5)
    time.sleep(spec.seconds)
    return Said(numbers=(time.monotonic(),))


def burn(spec, progress):
    while True:
        pass


def get_stuck(spec, progress):
    {
        "python_loop": _loop,
        "torch_loop": _torch_loop,
        "one_torch_call": _one_torch_call,
        "ignores_sigterm": _ignore_everything,
        "leaves_its_group": _leave_group,
    }[spec.how]()


def _loop():
    while True:
        pass


def _torch_loop():
    a = torch.ones(300, 300)
    while True:
        a = a @ a


def _one_torch_call():
    torch.linalg.svd(torch.rand(6000, 6000))  # minutes inside one C++ call


def _ignore_everything():
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    _loop()


def _leave_group():
    pid = os.fork()
    if pid == 0:
        os.setsid()
        Path(os.environ["TMPDIR"], "escaped").write_text(str(os.getpid()))
    _loop()


def end(spec, progress):
    progress("about to end", 0.5)
    {
        "segfault": lambda: ctypes.string_at(0),
        "abort": os.abort,
        "exit_0": lambda: os._exit(0),
        "exit_3": lambda: os._exit(3),
        "sigkill": lambda: os.kill(os.getpid(), signal.SIGKILL),
        "segfault_when_full": lambda: ctypes.string_at(len(bytearray(b"x" * (110 << 20))) * 0),
        "cpp_terminate": lambda: os.kill(os.getpid(), signal.SIGILL),
    }[spec.how]()


class _StrRaises(Exception):
    def __str__(self):
        raise RuntimeError("no text")

    def __reduce__(self):
        raise TypeError("cannot be pickled")


class _Odd(BaseException):
    pass


def raise_it(spec, progress):
    if spec.how == "torch":
        torch.ones(2, 3) @ torch.ones(2, 3)
    raise {
        "str_raises": _StrRaises(lambda: None),
        "system_exit": SystemExit(5),
        "keyboard_interrupt": KeyboardInterrupt(),
        "base_exception": _Odd("odd"),
        "long_text": RuntimeError("x" * 10_000_000),
        "surrogates": RuntimeError("bad \udc80 text"),
        "value_error": ValueError("of the verb, not of the spec"),
        "fault": Fault(too_much("200,000 events; the limit is 100,000.", "Record less.")),
    }[spec.how]


def hoard(spec, progress):
    progress("hoarding", 0.1)
    if spec.how == "torch_tensor":
        kept = torch.ones(spec.size_bytes // 4)
    elif spec.how == "python_bytes":
        kept = bytearray(spec.size_bytes)
    elif spec.how == "numpy_array":
        kept = numpy.ones(spec.size_bytes // 8)
    else:
        kept = [torch.ones(1 << 18) for _ in range(spec.size_bytes >> 20)]
    return Said(text=str(len(kept)))


class _Other(Result, frozen=True, kw_only=True):
    pass


def answer(spec, progress):
    if spec.how == "large_file":
        Path(os.environ["TMPDIR"], "large").write_bytes(bytes(spec.limits.file_bytes + 1))
    if spec.how.endswith("_frame"):
        _write_to_every_socket({"garbage_frame": b"\xc1" * 64, "huge_frame": b"R\xff\xff\xff\xff"}[spec.how])
    return {
        "none": lambda: None,
        "tensor": lambda: Said(text=torch.ones(1)),
        "lambda": lambda: Said(text=lambda: None),
        "other_result": _Other,
        "too_big": lambda: Said(data=bytes(spec.limits.result_bytes + 1)),
    }.get(spec.how, Said)()


def _write_to_every_socket(data):
    for fd in range(3, 64):
        try:
            if os.readlink(f"/proc/self/fd/{fd}").startswith(("socket:", "pipe:")):
                os.write(fd, data)
        except OSError:
            continue


def be_noisy(spec, progress):
    torch.manual_seed(spec.seed)
    torch.set_default_dtype(getattr(torch, spec.dtype))
    torch.autograd.set_detect_anomaly(spec.anomaly)
    drawn = []
    for _ in range(4):
        time.sleep(spec.pause_s / 4)
        x = torch.rand(64, 64, requires_grad=True)
        (x @ x).sin().sum().backward()
        drawn += [x.sum().item(), x.grad.sum().item()]
    return Said(text=f"{torch.get_default_dtype()} {torch.is_anomaly_enabled()}", numbers=tuple(drawn))


def read_state(spec, progress):
    modes = (
        torch.get_default_dtype(),
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.is_anomaly_enabled(),
        torch.are_deterministic_algorithms_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch.get_num_threads(),
        torch.get_float32_matmul_precision(),
    )
    torch.manual_seed(3)
    return Said(text=str(modes), numbers=tuple(torch.rand(3).tolist()))


def multiply_with_threads(spec, progress):
    a = torch.ones(1000, 1000)
    product = a @ a
    (a * a).sum()
    return Said(numbers=(float(torch.get_num_threads()), product.sum().item()))


def attempt(spec, progress):
    try:
        return Said(text=f"done {_ATTEMPTS[spec.what](spec.target) or ''}".strip())
    except OSError as error:
        return Said(text=f"denied {type(error).__name__}")


def _fork(target):
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _thread(target):
    ran = []
    thread = threading.Thread(target=lambda: ran.append(1))
    thread.start()
    thread.join()
    return len(ran)


def _torch_compile(target):
    x = torch.linspace(0, 1, 100)
    compiled = torch.compile(lambda x: (x.sin() * 2).sum())
    return torch.allclose(compiled(x), (x.sin() * 2).sum())


_ATTEMPTS = {
    "torch_compile": _torch_compile,
    "write_outside": lambda target: Path(target).write_text("x"),
    "remove_outside": lambda target: Path(target).unlink(),
    "write_inside": lambda target: Path(os.environ["TMPDIR"], "file").write_text("x"),
    "temporary_file": lambda target: len(tempfile.mkdtemp()) > 0,
    "tcp_connect": lambda target: socket.create_connection(("127.0.0.1", int(target)), timeout=2).close(),
    "udp": lambda target: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close(),
    "fork": _fork,
    "exec": lambda target: subprocess.run([sys.executable, "-c", ""], check=True).returncode,
    "thread": _thread,
    "signal_parent": lambda target: os.kill(int(target), 0),
}


def read_sandbox(spec, progress):
    return Said(text="|".join(f"{name}={applied}" for name, applied, _ in applied_features()))


def autocast_twice(spec, progress):
    weight, products = torch.ones(1, 2, requires_grad=True), []
    for value in (1.0, 3.0):
        weight.data.fill_(value)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            products.append(torch.nn.functional.linear(torch.ones(1, 2), weight).item())
    return Said(numbers=tuple(products))
