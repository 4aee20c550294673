"""A small picture of a prediction beside the right value: one axis, two kinds of mark."""

import math

from labs.kit.exercise.markup import escape

_WIDTH, _LEFT, _RIGHT, _HEIGHT, _AXIS = 640, 24, 24, 92, 50


def scale(low, high, guess, rights, unit, log, words) -> str:
    """Inline SVG of an axis from `low` to `high` (or wider), with the guess and the right values on it.

    Parameters
    ----------
    low, high : float
    guess : float
    rights : sequence of float
    unit : str
    log : bool
        Logarithmic axis; linear all the same when a value is not above 0.
    words : str
        The text alternative.

    Returns
    -------
    str
        An ``<svg>`` with ``role=img``, in the page's own text colour. The guess is a ring above the axis, a right value
        a filled diamond below it: the shapes and the words differ, not only the place.
    """
    values = [low, high, guess, *rights]
    log = log and min(values) > 0
    start, end = min(values), max(values)

    def x(value):
        a, b, v = (math.log(n) for n in (start, end, value)) if log else (start, end, value)
        return _LEFT + (v - a) / (b - a) * (_WIDTH - _LEFT - _RIGHT)

    parts = [_line(_LEFT, _WIDTH - _RIGHT, _AXIS)]
    for tick in ticks(start, end, log):
        parts.append(f'<path d="M{x(tick):.1f} {_AXIS - 3}v6" stroke="currentColor" opacity=".7"/>')
    at = x(guess)
    parts.append(f'<circle cx="{at:.1f}" cy="{_AXIS}" r="6.5" fill="none" stroke="currentColor" stroke-width="2.5"/>')
    parts.append(_label(at, _AXIS - 16, f"you: {_number(guess, unit)}"))
    for right in rights:
        at = x(right)
        parts.append(f'<path class="lk-mark" d="M{at:.1f} {_AXIS - 7}l7 7-7 7-7-7z" fill="var(--ok)"/>')
        parts.append(_label(at, _AXIS + 26, f"right: {_number(right, unit)}", bold=True))
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img" aria-label="{escape(words)}"'
        f' font-family="inherit" font-size="13">{"".join(parts)}</svg>'
    )


def ticks(start, end, log) -> list[float]:
    """Round values between the ends: powers of ten, or steps of 1, 2 or 5."""
    if log:
        return [10.0**power for power in range(math.ceil(math.log10(start)), math.floor(math.log10(end)) + 1)]
    rough = (end - start) / 8
    base = 10.0 ** math.floor(math.log10(rough))
    step = next(base * factor for factor in (1, 2, 5, 10) if base * factor >= rough * (1 - 1e-9))
    return [step * k for k in range(math.ceil(start / step - 1e-9), math.floor(end / step + 1e-9) + 1)]


def _number(value, unit):
    return f"{value:.4g} {unit}".strip()


def _line(start, end, y):
    return f'<path d="M{start} {y}H{end}" stroke="currentColor" stroke-width="1.5" opacity=".7"/>'


def _label(at, y, text, bold=False):
    anchor = "start" if at < 70 else "end" if at > _WIDTH - 70 else "middle"
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{at:.1f}" y="{y}" text-anchor="{anchor}" fill="currentColor"{weight}>{escape(text)}</text>'
