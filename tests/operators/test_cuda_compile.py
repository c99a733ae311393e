"""Every .cu compiled by nvcc against this PyTorch's headers, what its kernels take, and whether it all links."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import msgspec
import pytest
import torch

from engine.operators.library import SOURCES, find_nvcc, schemas
from engine.operators.resources import (
    ARCHITECTURES,
    FLAGS,
    KernelResources,
    _code_for,
    _readable,
    built_resources,
    kernel_files,
    kernel_resources,
    parse_report,
    short_name,
)
from tests.operators.host import HERE, host_compiler, implemented

MOST_REGISTERS = 128
"""Of a thread, so that a block of 512 finds room on a multiprocessor of 65536."""
ONLY_WITH_CUDA = {"aoti_torch_get_current_cuda_stream"}
"""What a PyTorch built for CUDA adds to the interface the operators call."""

TORCH = Path(torch.__file__).parent
HEADERS = (f"-I{SOURCES}", f"-I{TORCH / 'include'}")

pytestmark = pytest.mark.timeout(600)  # half a minute of CPU for all files
with_nvcc = pytest.mark.skipif(find_nvcc() is None, reason="no nvcc on this machine")


def test_a_report_is_read():
    report = """
ptxas info    : Compiling entry function 'void atlas::cuda::sums<c10::Half, 8>(c10::Half const*, long)' for 'sm_90'
ptxas info    : Function properties for void atlas::cuda::sums<c10::Half, 8>(c10::Half const*, long)
    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 27136 bytes smem, 440 bytes cmem[0]
ptxas info    : Compiling entry function '_Z5plainPf' for 'sm_80'
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 7 registers, 360 bytes cmem[0]
"""
    first, second = parse_report(report, "sums.cu")
    assert first == KernelResources(
        source="sums.cu",
        kernel="sums<Half, 8>",
        architecture="sm_90",
        registers=64,
        shared_bytes=27136,
        stack_bytes=8,
        spilled_bytes=16,
    )
    assert (second.kernel, second.registers, second.shared_bytes, second.spilled_bytes) == ("_Z5plainPf", 7, 0, 0)


@pytest.mark.parametrize(
    ("signature", "name"),
    [
        (
            "void atlas::cuda::map_kernel<float, atlas::cuda::Gelu, float>(atlas::cuda::Gelu, float*)",
            "map_kernel<float, Gelu, float>",
        ),
        ("atlas::cuda::plain(int (*)(float), long)", "plain"),
        ("_Z5plainPf", "_Z5plainPf"),
    ],
)
def test_a_kernel_is_named_shortly(signature: str, name: str):
    assert short_name(signature) == name


def test_every_operator_of_the_table_is_there_for_cuda():
    on_cpu = {name for path in SOURCES.rglob("cpu/*.cpp") for name in re.findall(r'm\.impl\("(\w+)"', path.read_text())}
    without_device = {"instruction_set", "fma_rate"}
    assert on_cpu - without_device <= implemented() <= set(schemas())


@pytest.fixture(scope="module")
def compiled(tmp_path_factory) -> tuple[Path, tuple[KernelResources, ...]]:
    """Every .cu as one file, object and report: to read PyTorch's headers takes most of the time of each."""
    folder = tmp_path_factory.mktemp("cuda")
    source, target = folder / "every.cu", folder / "every.o"
    source.write_text("".join(f'#include "cuda/{path.name}"\n' for path in kernel_files()))
    command = [find_nvcc(), "-c", str(source), "-o", str(target), *FLAGS, *HEADERS, "--resource-usage"]
    done = subprocess.run([*command, *_code_for(ARCHITECTURES)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target, tuple(parse_report(_readable(done.stderr + done.stdout), source.name))


@with_nvcc
@pytest.mark.slow
def test_every_kernel_compiles_for_every_architecture(compiled, capsys):
    _, rows = compiled
    by_architecture = [{row.kernel for row in rows if row.architecture == one} for one in ARCHITECTURES]
    assert by_architecture[0] == by_architecture[1]
    assert len(rows) == sum(map(len, by_architecture)) > len(implemented())
    with capsys.disabled():
        print("\nregisters  shared B  spilled B  kernel")
        for row in sorted(rows, key=lambda row: -row.registers):
            print(f"{row.registers:9d} {row.shared_bytes:9d} {row.spilled_bytes:10d}  {row.architecture} {row.kernel}")


@with_nvcc
@pytest.mark.slow
def test_a_table_is_made_of_the_files_and_kept(compiled, monkeypatch):
    smallest = min(kernel_files(), key=lambda path: path.stat().st_size)
    monkeypatch.setattr("engine.operators.resources.kernel_files", lambda: (smallest,))
    said: list[str] = []
    rows = kernel_resources(said.append)
    assert said == [f"1 of 1: {smallest.name}"]
    assert built_resources() == rows
    assert {(row.source, row.architecture) for row in rows} == {(smallest.name, one) for one in ARCHITECTURES}
    assert {msgspec.structs.replace(row, source="every.cu") for row in rows} <= set(compiled[1])


@pytest.mark.slow
@pytest.mark.parametrize("path", kernel_files(), ids=lambda path: path.name)
def test_a_file_includes_what_it_needs(path: Path):
    """On its own, as a machine with a GPU compiles it; over the launcher of the tests, whose headers are few."""
    compiler = host_compiler()
    command = [compiler, "-fsyntax-only", "-w", "-std=c++20", "-x", "c++", f"-I{HERE}", *FLAGS[-1:], *HEADERS]
    done = subprocess.run([*command, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@with_nvcc
@pytest.mark.slow
def test_no_kernel_spills_and_a_block_finds_room(compiled):
    _, rows = compiled
    assert [row for row in rows if row.spilled_bytes > 0] == []
    assert [row for row in rows if row.registers > MOST_REGISTERS or row.shared_bytes > 48 * 1024] == []


@with_nvcc
@pytest.mark.slow
def test_the_library_would_link(compiled, tmp_path: Path):
    """Against this PyTorch nothing is missing but what only a PyTorch built for CUDA has."""
    nvcc, objects = str(find_nvcc()), [compiled[0]]
    for path in SOURCES.glob("*.cpp"):
        objects.append(tmp_path / f"{path.stem}.o")
        subprocess.run([nvcc, "-c", str(path), "-o", str(objects[-1]), *FLAGS, *HEADERS], check=True)
    command = [nvcc, "-shared", "-o", str(tmp_path / "operators.so"), *map(str, objects)]
    command += ["-Xlinker", "--no-undefined", f"-L{TORCH / 'lib'}", "-ltorch_cpu", "-lc10"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    missing = set(re.findall(r"undefined reference to [`']([^`']+)'", said))
    assert missing == ONLY_WITH_CUDA, said
    assert re.findall(r"^(?!collect2).*\berror: .*", said, re.M) == []
