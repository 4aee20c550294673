"""The widget of lesson 06 that shows which lane holds which element of a tile."""

from __future__ import annotations

INSTRUCTIONS = {
    "NVIDIA mma.sync.m16n8k16": "mma.sync.m16n8k16",
    "AMD v_mfma_f32_16x16x16_f16": "v_mfma_f32_16x16x16_f16",
}


def held(unit, operand, lane):
    """The tile of an operand with the elements of one lane pointed at.

    Parameters
    ----------
    unit : str
        A key of `INSTRUCTIONS`.
    operand : {"A", "B", "C"}
    lane : int
        From -1 (all lanes) to 63; a warp has no lanes above 31.

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.kit.draw import fragment_lanes
    from labs.kit.gpu.fragments import fragment

    found = fragment(operand, INSTRUCTIONS[unit])
    chosen = int(lane) if 0 <= lane < found.lanes else None
    note = f" (a warp has no lane {int(lane)})" if lane >= found.lanes else ""
    letter = {"A": "a", "B": "b", "C": "c"}[operand]
    lanes, slots = found.tables
    name = f"{operand} of {found.instruction}{note}"
    return fragment_lanes(lanes.tolist(), slots.tolist(), lane=chosen, letter=letter, packed=found.packed, name=name)


def explore_lanes():
    """Choose a unit, an operand and a lane; -1 shows all lanes."""
    from labs.kit.draw import explore

    nvidia, amd = INSTRUCTIONS
    frames = [
        {"unit": nvidia, "operand": "C", "lane": -1},
        {"unit": nvidia, "operand": "C", "lane": 0},
        {"unit": nvidia, "operand": "C", "lane": 4},
        {"unit": nvidia, "operand": "A", "lane": 0},
        {"unit": amd, "operand": "C", "lane": 16},
    ]
    return explore(
        held,
        label="Which lane holds which element?",
        frames=frames,
        unit=[nvidia, amd],
        operand=["C", "A", "B"],
        lane=(-1, 63, 1, -1),
    )
