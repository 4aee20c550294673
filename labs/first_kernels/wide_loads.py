"""How wide are the loads? The machine code of the lesson's two divisions, made here or stored with the lesson."""

from __future__ import annotations

from pathlib import Path

LISTINGS = Path(__file__).parent / "listings"
ASKED = [
    (name, target, form) for name in ("divide", "divide8") for target, form in (("sm_80", "ptx"), ("sm_80", "sass"))
]


def listing(name, format="ptx", target="sm_80"):
    """The machine code of one of the lesson's own kernels.

    Parameters
    ----------
    name : {"divide", "divide8", "block_sum", "tiled_product"}
    format : {"ptx", "sass"}
    target : str

    Returns
    -------
    labs.kit.gpu.inspect.Listing
        Stored with the lesson where the compiler is missing.
    """
    from labs.first_kernels import kernels
    from labs.kit.gpu import machine_code

    return machine_code(
        getattr(kernels, name), target, format=format, signature=kernels.SIGNATURES[name], stored=LISTINGS
    )


def instructions(name, format="ptx"):
    """The different loads from global memory and stores to it, in the order of the listing.

    Returns
    -------
    list of str
    """
    kinds = ("global load", "global store")
    return list(dict.fromkeys(one.opcode for one in listing(name, format).instructions if one.kind in kinds))


def wide_loads():
    """A table: loads and stores of divide and divide8, as PTX and as SASS for sm_80.

    Returns
    -------
    labs.kit.gpu.inspect.Comparison
    """
    from labs.kit.gpu.inspect import compare

    rows = {f"{name}, {form.upper()}": listing(name, form) for name, _, form in ASKED}
    return compare(rows, kinds=("global load", "global store"))


def store():
    """Make the stored listings anew: ``python -m labs.first_kernels.wide_loads``."""
    from labs.first_kernels import kernels
    from labs.kit.gpu.inspect import stored
    from labs.kit.gpu.inspect.devices import target as target_of
    from labs.kit.gpu.inspect.microscope import compiled
    from labs.kit.gpu.inspect.request import request

    for name, target, form in ASKED:
        wanted = request(getattr(kernels, name), target_of(target, form), kernels.SIGNATURES[name])
        stored.keep(wanted, compiled(wanted), LISTINGS)


if __name__ == "__main__":
    store()
