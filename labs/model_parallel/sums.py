"""Arithmetic on plans: a plan says how many layers each device takes, in order."""

from __future__ import annotations


def equal_counts(layers, devices):
    """As many layers on each device as on any other, the first ones one more: the plan that looks at nothing.

    Returns
    -------
    list of int
    """
    return [layers // devices + (device < layers % devices) for device in range(devices)]


def sums(values, counts):
    """Sum of `values` over each device's layers.

    Parameters
    ----------
    values : sequence of float
        By layer.
    counts : sequence of int
        Layers of each device.

    Returns
    -------
    list of float
    """
    found, first = [], 0
    for count in counts:
        found.append(sum(values[first : first + count]))
        first += count
    return found
