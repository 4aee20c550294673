"""Blocks and threads over the pixels of an image, as the launch changes."""

from __future__ import annotations


def explore_grid():
    """Sliders for blocks, threads and pixels: which threads fall outside, which pixels nobody has.

    Returns
    -------
    labs.kit.draw.Explorer
    """
    from labs.kit.draw import explore, grid_of_blocks

    def picture(blocks, threads, pixels):
        return grid_of_blocks(blocks, threads, pixels, name="A launch")

    return explore(
        picture,
        label="Blocks and threads over pixels",
        blocks=(1, 8, 1, 4),
        threads=[32, 64, 96, 128, 256],
        pixels=(1, 1000, 1, 250),
        frames=[
            {"threads": 64},
            {"threads": 64, "pixels": 256},
            {"threads": 64, "pixels": 300},
            {"threads": 32, "blocks": 8, "pixels": 250},
            {"blocks": 1, "threads": 256, "pixels": 250},
            {"pixels": 1, "threads": 32, "blocks": 1},
        ],
    )
