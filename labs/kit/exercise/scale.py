"""A small picture of a prediction beside the right value: one axis, two kinds of mark."""

import math

from labs.kit.exercise.markup import escape

_WIDTH, _LEFT, _RIGHT, _AXIS = 640, 30, 30, 36
_ROW, _APART = 18, 120  # px: height of a row of labels, and the least distance of two labels in a row


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

    parts = [f'<path d="M{_LEFT} {_AXIS}H{_WIDTH - _RIGHT}" stroke="currentColor" stroke-width="1.5" opacity=".6"/>']
    for tick in ticks(start, end, log):
        parts.append(f'<path d="M{x(tick):.1f} {_AXIS}v5" stroke="currentColor" opacity=".6"/>')
        parts.append(_label(x(tick), _AXIS + _ROW, f"{tick:.4g}", 'font-size="12" opacity=".75"', "middle"))
    at = x(guess)
    parts.append(f'<circle cx="{at:.1f}" cy="{_AXIS}" r="6.5" fill="none" stroke="currentColor" stroke-width="2.5"/>')
    parts.append(_label(at, _AXIS - 16, f"you: {with_unit(guess, unit)}"))
    row, before = 0, -math.inf
    for right in sorted(rights):
        at = x(right)
        row = row + 1 if at - before < _APART else 0
        before = at
        foot = _AXIS + _ROW * (row + 2) + 4
        parts.append(f'<path d="M{at:.1f} {_AXIS}V{foot - 13}" stroke="var(--ok)" opacity=".6"/>')
        parts.append(f'<path d="M{at:.1f} {_AXIS - 7}l7 7-7 7-7-7z" fill="var(--ok)"/>')
        parts.append(_label(at, foot, f"right: {with_unit(right, unit)}", 'font-weight="600"'))
    height = _AXIS + _ROW * (len(rights) + 1) + 12
    return (
        f'<svg class="lk-scale" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" role="img"'
        f' aria-label="{escape(words)}" font-family="inherit" font-size="13">{"".join(parts)}</svg>'
    )


def ticks(start, end, log) -> list[float]:
    """Round values between the ends: powers of ten, or steps of 1, 2 or 5."""
    if log:
        return [10.0**power for power in range(math.ceil(math.log10(start)), math.floor(math.log10(end)) + 1)]
    rough = (end - start) / 8
    base = 10.0 ** math.floor(math.log10(rough))
    step = next(base * factor for factor in (1, 2, 5, 10) if base * factor >= rough * (1 - 1e-9))
    return [step * k for k in range(math.ceil(start / step - 1e-9), math.floor(end / step + 1e-9) + 1)]


def with_unit(value, unit) -> str:
    """`value` with up to four digits and its unit."""
    number = f"{value:,.0f}" if 1000 <= abs(value) < 1e7 and float(value).is_integer() else f"{value:.4g}"
    return f"{number} {unit}".strip()


def _label(at, y, text, look="", anchor=None):
    anchor = anchor or ("start" if at < 70 else "end" if at > _WIDTH - 70 else "middle")
    return f'<text x="{at:.1f}" y="{y}" text-anchor="{anchor}" fill="currentColor" {look}>{escape(text)}</text>'
