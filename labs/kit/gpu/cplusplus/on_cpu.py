"""Kernels on the CPU: compiled by g++, run in the warm child."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from labs.kit.gpu.cplusplus import scanning
from labs.kit.gpu.cplusplus.arguments import PAGE, Layout, check_count, described, lay_out
from labs.kit.gpu.cplusplus.building import Library, build_library
from labs.kit.gpu.cplusplus.child import NURSERY, show_printed
from labs.kit.gpu.cplusplus.explaining import Launched, failure
from labs.kit.gpu.cplusplus.options import Options

MOST_THREADS, MOST_DYNAMIC = 1024, 232448


@dataclass(frozen=True)
class OnCpu:
    """A compiled text on the CPU.

    Parameters
    ----------
    library : Library
    declared : dict of str to Declared
        The kernels as the text declares them, by their names without template arguments.
    options : Options
    """

    library: Library
    declared: dict
    options: Options

    where = "cpu"

    def launch(self, kernel: str, grid, block, shared: int, stream, arguments: tuple, constants: dict) -> None:
        """Run a kernel and wait for it.

        Parameters
        ----------
        kernel : str
            With its template arguments.
        grid, block : tuple of int
            Three sizes each.
        shared : int
            Bytes of dynamic shared memory.
        stream : object
            Not used: nothing runs at the same time here.
        arguments : tuple
        constants : dict of str to numpy.ndarray
            Values for `__constant__` variables.

        Raises
        ------
        KernelFailure
            Arrays are then unchanged.
        """
        problem = sizes_problem(grid, block, shared)
        if problem:
            from labs.kit.gpu.cplusplus.failures import LaunchFailed

            raise LaunchFailed(f"{kernel}: {problem}")
        with NURSERY.lock:
            child = NURSERY.child()
            number, signatures, sizes = child.load(self.library)
            parameters = described(self.declared[base_name(kernel)].parameters, signatures[kernel])
            constant_words, begin = self._put_constants(constants, sizes)
            layout = self._lay_out(kernel, parameters, arguments, begin)
            memory = NURSERY.arena.memory
            for slot in layout.slots:
                view_of(memory, slot.array, slot.offset)[...] = slot.array
            token = int.from_bytes(os.urandom(6), "little")
            options = self.options
            words = [
                "LAUNCH", token, number, self.library.kernels.index(kernel), *grid, *block, shared,
                int(options.timeout * 1000), int(options.strict) + 2 * int(options.races), len(constants),
                *constant_words, len(layout.words), *layout.words,
            ]  # fmt: skip
            lines, gone = child.ask(" ".join(map(str, words)) + "\n", 3 * options.timeout + 10)
            show_printed(child)
            if not gone and lines and lines[0].startswith(f"DONE {token} "):
                for slot in layout.slots:
                    if not slot.constant:
                        slot.array[...] = view_of(memory, slot.array, slot.offset)
                return
            if not gone:  # the kernel wrote to the channel of replies
                child.kill()
                lines = []
            launched = Launched(self.library, kernel, parameters, layout.arrays, options.timeout)
            raise failure(lines, child.process.returncode, launched)

    def check(self, kernel: str, arguments: tuple) -> None:
        """Raise `TypeError` unless the number of arguments fits."""
        check_count(kernel, self.declared[base_name(kernel)].parameters, arguments)

    def _lay_out(self, kernel, parameters, arguments, begin) -> Layout:
        try:
            return lay_out(kernel, parameters, arguments, NURSERY.arena.size, begin)
        except TypeError as error:
            from labs.kit.gpu.cplusplus.failures import WrongType

            raise WrongType(str(error)) from None
        except MemoryError as error:
            from labs.kit.gpu.cplusplus.failures import LaunchFailed

            raise LaunchFailed(str(error)) from None

    def _put_constants(self, constants, sizes):
        """Write constants into the shared memory; words for the worker, and the first free byte."""
        words, offset = [], PAGE
        for name, value in constants.items():
            raw, size = value.tobytes(), sizes[name]
            if len(raw) != size:
                from labs.kit.gpu.cplusplus.failures import WrongType

                raise WrongType(f"__constant__ {name} has {size} bytes, but the value has {len(raw)}")
            NURSERY.arena.memory[offset : offset + len(raw)] = raw
            words += [self.library.constants.index(name), offset, len(raw)]
            offset += -(-max(len(raw), 1) // PAGE) * PAGE
        return words, offset + PAGE


def view_of(memory, array: np.ndarray, offset: int) -> np.ndarray:
    """An array of the same shape and dtype in the shared memory."""
    return np.frombuffer(memory, array.dtype, array.size, offset).reshape(array.shape)


def base_name(kernel: str) -> str:
    """``"tile<16>"`` without its template arguments."""
    return kernel.partition("<")[0].strip()


def sizes_problem(grid, block, shared: int) -> str:
    """What is wrong with the sizes of a launch, or an empty text."""
    if min(grid) < 1 or min(block) < 1:
        return (
            f"grid {grid} and block {block} must be at least 1 in every direction (for an empty array, do not launch)"
        )
    if grid[0] >= 1 << 31 or max(grid[1:]) > 65535:
        return f"a grid has at most 2147483647 x 65535 x 65535 blocks, not {grid}"
    threads = block[0] * block[1] * block[2]
    if threads > MOST_THREADS:
        return f"a block has at most {MOST_THREADS} threads, and {block} are {threads}"
    if block[2] > 64:
        return f"a block is at most 64 threads deep (its third size), not {block[2]}"
    if not 0 <= shared <= MOST_DYNAMIC:
        return f"a block has at most {MOST_DYNAMIC} bytes of dynamic shared memory, not {shared}"
    return ""


def compile_on_cpu(text: str, names: tuple[str, ...], label: str, options: Options) -> OnCpu:
    """Compile a text for the CPU."""
    library = build_library(text, names, checked=options.checked, label=label)
    return OnCpu(library, scanning.kernels(text), options)
