"""Whether the tensors of a collective fit each other and the group, with words for those that do not."""

from __future__ import annotations

from torch import Tensor


def nbytes(tensor) -> int:
    """Size of the tensor of a collective."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"a collective takes tensors, not {type(tensor).__name__}")
    return tensor.nbytes


def tensors(io):
    """All tensors among what a rank brings to a call."""
    for item in io:
        if isinstance(item, Tensor):
            yield item
        elif item is not None:
            yield from item


def same_dtype(name, a, b) -> None:
    for tensor in (a, b):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name} takes tensors, not {type(tensor).__name__}")
    if a.dtype is not b.dtype:
        raise ValueError(f"{name}: output and input have different dtypes, {a.dtype} and {b.dtype}")


def times(name, large, small, n) -> None:
    """The large tensor must hold n times the small one."""
    same_dtype(name, large, small)
    if large.numel() != n * small.numel():
        raise ValueError(
            f"{name}: the larger tensor must hold {n} x {small.numel()} = {n * small.numel()} elements, one part for "
            f"each of {n} ranks, but it holds {large.numel()}"
        )


def one_each(name, tensors, own, n) -> None:
    """A list must hold a tensor like `own` for each of n ranks."""
    if not isinstance(tensors, (list, tuple)) or len(tensors) != n:
        count = "none" if tensors is None else len(tensors) if isinstance(tensors, (list, tuple)) else "no list"
        raise ValueError(f"{name}: the list must hold one tensor for each of {n} ranks, not {count}")
    for tensor in tensors:
        same_dtype(name, tensor, own)
        if tensor.numel() != own.numel():
            raise ValueError(
                f"{name}: a tensor in the list has {tensor.numel()} elements, the single tensor {own.numel()}"
            )


def parts(name, which, tensor, sizes, n):
    """A tensor's rows for each of n ranks: equally many, or as `sizes` says."""
    if sizes:
        if len(sizes) != n or sum(sizes) != tensor.shape[0]:
            raise ValueError(
                f"{name}: {which}_split_sizes must hold {n} numbers with the sum {tensor.shape[0]}, not {list(sizes)}"
            )
        return tensor.detach().split(list(sizes))
    rows = tensor.shape[0] if tensor.dim() else 0
    if rows % n:
        raise ValueError(f"{name}: {rows} rows of {which} do not divide by {n} ranks; give {which}_split_sizes")
    return tensor.detach().split([rows // n] * n)


def equal_parts(name, tensor, n):
    """n views of a tensor that divides by n: along its elements, or along its rows where it is not contiguous."""
    tensor = tensor.detach()
    if not tensor.numel():
        return [tensor.flatten()] * n
    if tensor.is_contiguous():
        return tensor.view(-1).chunk(n)
    if tensor.shape[0] % n:
        raise ValueError(f"{name}: the output must be contiguous, or its {tensor.shape[0]} rows divide by {n} ranks")
    return tensor.chunk(n)


# ---- where the elements lie in memory


def layout(name: str, io: tuple) -> tuple | None:
    """Check how the tensors of a call lie in memory, as gloo of torch 2.13 needs it.

    gloo copies memory, not elements. Where it gives wrong numbers without a word, virtual ranks refuse.

    Returns
    -------
    tuple or None
        What all ranks must agree on: shape and strides of tensors that are not contiguous.

    Raises
    ------
    ValueError
        For a layout that does not work in this collective.
    """
    if name in _COPIED:
        return None
    found = {None if t.is_contiguous() else (tuple(t.shape), t.stride()) for t in tensors(io)}
    if not found or found == {None}:
        return None
    if name not in _IN_MEMORY_ORDER:
        raise ValueError(f"{name}: tensors must be contiguous; use tensor.contiguous()")
    if len(found) > 1:
        raise ValueError(f"{name}: the tensors lie in memory in different orders; use tensor.contiguous() for all")
    (own,) = found
    if not _is_dense(*own):
        raise ValueError(
            f"{name}: the elements of this tensor do not lie side by side in memory (it is a slice or an expanded view "
            "of another). Real ranks would mix up its numbers silently. Use tensor.contiguous(), then copy the result "
            "back into the slice"
        )
    return own


_COPIED = ("barrier", "all_gather", "all_gather_into_tensor", "gather", "reduce_scatter_tensor")
_IN_MEMORY_ORDER = ("broadcast", "reduce", "all_reduce", "scatter")


def _is_dense(shape, strides) -> bool:
    """Whether some order of the dimensions makes a tensor contiguous (as transposing does)."""
    expected = 1
    for stride, length in sorted((stride, length) for stride, length in zip(strides, shape) if length != 1):
        if stride != expected:
            return False
        expected *= length
    return True
