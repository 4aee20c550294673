"""Machine code for the lesson's cells: the learner's kernels where the compilers are, else listings that came along."""

from __future__ import annotations

TARGETS = ("sm_75", "sm_80", "sm_90", "sm_100")
TRITON_TARGETS = ("sm_75", "sm_80", "sm_90", "sm_100", "gfx90a", "gfx942", "gfx950", "gfx1100")


def listing_of(kernel, example, target):
    """The listing of `kernel`, or of the course's `example` when it is unsolved or there is no compiler; and why.

    Parameters
    ----------
    kernel : kernel of a %%cuda cell
    example : str
        Text of a kernel in `labs.kit.gpu.inspect.examples`, whose listings come with the course.
    target : str

    Returns
    -------
    (Listing, str)
        The sentence is empty for the learner's own kernel.
    """
    from labs.kit.gpu.inspect import CompileFailed, MissingPackage, NotInspectable, machine_code

    try:
        return machine_code(kernel, target), ""
    except NotInspectable:
        return machine_code(example, target), "Your kernel is not solved yet; these are listings of the course's."
    except CompileFailed as refused:
        return machine_code(example, target), f"{refused}\nThese are listings of the course's kernel."
    except MissingPackage as missing:
        return machine_code(example, target), str(missing)


def scalar_and_tensor(tiled, wmma):
    """A table: the learner's tiled kernel on sm_80, and their WMMA product on four generations."""
    from labs.kit.gpu.inspect import compare, examples

    rows, told = {}, {}
    rows["tiled, sm_80"], told["tiled"] = listing_of(tiled, examples.TILED, "sm_80")
    for target in TARGETS:
        rows[f"WMMA, {target}"], told["wmma"] = listing_of(wmma, examples.WMMA, target)
    _say(told)
    return compare(rows, kinds=("tensor", "fma", "global load", "shared load", "barrier"))


def triton():
    """A table: Triton's product for eight GPUs of two vendors."""
    from labs.kit.gpu.inspect import available, compare, examples, machine_code

    rows = {target: machine_code(examples.TRITON, target, signature=examples.TRITON_TYPES) for target in TRITON_TARGETS}
    if not available()["triton", "ptx"]:
        print("Triton is not installed here: pip install triton (Linux) lets you compile your own. These are stored.")
    return compare(rows, kinds=("tensor", "fma", "async copy", "barrier"))


def mfma(target="gfx942"):
    """AMD's product: C with a built-in function, and the instruction that it becomes."""
    from labs.kit.gpu.inspect import examples, machine_code

    return machine_code(examples.MFMA, target)


def wmma_listing(wmma, target="sm_80"):
    """The learner's WMMA product beside its machine code."""
    from labs.kit.gpu.inspect import examples

    found, why = listing_of(wmma, examples.WMMA, target)
    _say({"wmma": why})
    return found


def real_listings():
    """{title: text} of listings to count in: two NVIDIA kernels, Triton's on three GPUs, AMD's."""
    from labs.kit.gpu.inspect import examples, machine_code

    found = {"tiled, sm_80": machine_code(examples.TILED, "sm_80"), "WMMA, sm_80": machine_code(examples.WMMA, "sm_80")}
    for target in ("sm_75", "sm_80", "sm_90", "sm_100", "gfx942"):
        found[f"Triton's dot, {target}"] = machine_code(examples.TRITON, target, signature=examples.TRITON_TYPES)
    return {title: listing.text for title, listing in found.items()}


def _say(told):
    for sentence in dict.fromkeys(filter(None, told.values())):
        print(sentence)
