"""Exercise split_rows: the rows of an image over several devices, none lost, none idle."""

from __future__ import annotations

import numpy as np

from labs.first_kernels.evidence import elements
from labs.kit.exercise import Case, Exercise, Wrong, completed, short

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(height, width, devices, part="correct", said="", divisor=3):
        image = rng.integers(0, 256, (height, width)).astype(np.uint8)
        title = f"{height} x {width} on {devices} device{'s' if devices > 1 else ''}{said}"
        return Case(title, {"image": image, "devices": devices, "divisor": divisor}, part)

    return [
        case(8, 32, 2),
        case(10, 33, 4, said=": 10 rows are no multiple of 4"),
        case(7, 31, 3, divisor=7),
        case(9, 16, 1, "edge"),
        case(1, 257, 1, "edge"),
        case(3, 5, 8, "edge", ": more devices than rows"),
        case(0, 5, 2, "edge", ": no rows"),
        case(64, 64, 4, "budget", ": do the devices work side by side?"),
        case(67, 40, 8, "budget", ": does every device get its share?"),
    ]


def run(answers, inputs):
    from labs.kit.gpu import cuda, is_virtual, outcome
    from labs.kit.hardware import uniform

    image, devices = inputs["image"], inputs["devices"]
    if not is_virtual() and devices > len(cuda.gpus):
        return {"skipped": len(cuda.gpus)}
    try:
        return outcome(answers[0], image, inputs["divisor"], devices, topology=uniform(devices), hazards="report")
    finally:
        if not is_virtual():
            cuda.select_device(0)


def verify(case, output):
    if isinstance(output, dict) and "skipped" in output:
        return
    image, devices = case.inputs["image"], case.inputs["devices"]
    right = image // case.inputs["divisor"]
    completed(
        output,
        launch=(
            "no_rows",
            f"{len(image)} rows on {devices} devices: some have nothing to do, and a launch with no block is refused. What"
            " should such a device do?",
            "Nothing at all: no copy, no launch.",
            "if rows == 0: continue",
        )
        if devices > len(image)
        else (
            "wrong_device",
            "A launch does not fit the device that is selected. Which device holds the array, and which one is selected?",
            "cuda.select_device(d) first. What you allocate and launch after it belongs to device d.",
        ),
    )
    got = output["result"]

    def wrong(hint, question, *then, evidence="", picture=None):
        raise Wrong(hint, question + evidence, picture=picture, then=then)

    if not isinstance(got, np.ndarray):
        wrong("nothing_returned", f"A picture of {right.shape[0]} x {right.shape[1]} was due, and {short(got)} came back. What do you return?",
              "One NumPy array with all rows, in their order.")  # fmt: skip
    if got.shape != right.shape:
        lost = len(right) - len(got) if got.ndim == 2 else 0
        if lost > 0:
            wrong("rows_lost", f"{len(image)} rows went in and {len(got)} came out. Who has the remaining {lost}?",
                  f"{len(image)} // {devices} is {len(image) // devices}, and {len(image) % devices} rows remain.",
                  "The first len(image) % devices devices take one row more.")  # fmt: skip
        wrong(
            "shape",
            f"The result has the shape {got.shape}, the image {image.shape}. Where do the other rows come from?",
        )
    if not np.array_equal(got, right):
        rows = (got != right).any(1)
        picture = elements(got, right, "Pixels of the result")
        if sorted(map(bytes, got)) == sorted(map(bytes, right)):
            wrong("wrong_order", f"All rows are there, but row {int(np.argmax(rows))} is another one. In which order do the parts belong?",
                  "Device d's rows come after those of device d - 1.", picture=picture)  # fmt: skip
        wrong("rows_left", f"{int(rows.sum())} of {len(image)} rows are wrong, row {int(np.argmax(rows))} first. Which device had it?",
              f"{len(image)} // {devices} is {len(image) // devices}, and {len(image) % devices} rows remain. Where do they go?",
              "start = d * base + min(d, extra), with base, extra = divmod(len(image), devices)", picture=picture)  # fmt: skip
    if got.dtype != image.dtype:
        wrong("dtype", f"Pixels are uint8, yours came back as {got.dtype}. Where did they change?")
    if case.part == "budget" and output["virtual"]:
        _shares(image, devices, output, wrong)


def _shares(image, devices, output, wrong):
    back = [copy for copy in output["copies"] if copy["kind"] == "to_host"]
    rows = [sum(copy["nbytes"] for copy in back if copy["device"] == d) / image.shape[1] for d in range(devices)]
    shown = f"\nrows by device: {', '.join(f'{n:g}' for n in rows)}"
    launches = output["launches"]
    if not launches or not back:
        wrong("no_device", "The picture is right, but no device has worked. Which call launches a kernel?",
              "divide_rows[grid, block](image, out, divisor), on the device that is selected.")  # fmt: skip
    if len({launch["device"] for launch in launches}) == 1 and devices > 1:
        wrong("all_on_one", f"The picture is right, but only device {launches[0]['device']} has worked. Which call makes the others work?",
              "cuda.select_device(d): what follows belongs to device d.", evidence=shown)  # fmt: skip
    if max(rows) - min(rows) > 1:
        wrong("unequal", f"One device has {max(rows):g} rows, another one {min(rows):g}. All wait for the slowest: how close can they be?",
              f"{len(image)} rows on {devices} devices: {len(image) // devices} each, and {len(image) % devices} devices take one more.",
              "start = d * base + min(d, extra), with base, extra = divmod(len(image), devices)", evidence=shown)  # fmt: skip
    first_back = min(copy["start"] for copy in back)
    last_launch = max(launch["start"] for launch in launches)
    if first_back < last_launch:
        late = sum(launch["start"] > first_back for launch in launches)
        wrong("one_after_another", f"The picture is right, but {late} of {devices} devices began only after the first result had been fetched. Who waited,"
              " and for what?", "copy_to_host waits for the kernel. A launch does not wait.",
              "One loop that copies in and launches on every device, and a second one that fetches.")  # fmt: skip
    begun = [(item["device"], item["start"]) for item in launches + output["copies"] if item.get("kind") != "to_host"]
    for launch in launches:  # what the host did next for another device
        after = [start for device, start in begun if device != launch["device"] and start >= launch["start"]]
        if after and min(after) >= launch["end"]:
            wrong("waited", f"The picture is right, but device {launch['device']} was done before you sent the next one its rows. Who waited?",
                  "cuda.synchronize() and stream.synchronize() wait for the kernel. Fetching the result waits by itself.",
                  "Launch on every device first; wait, or fetch, in a second loop.")  # fmt: skip


def achieved(outcomes):
    if any("skipped" in output for _, output in outcomes):
        have = next(output["skipped"] for _, output in outcomes if "skipped" in output)
        return f"You have {have} GPU: cases with more devices were left out (LABS_GPU=virtual checks them all)."
    if not outcomes[-1][1]["virtual"]:
        return "Values checked on your GPUs. Who worked when is seen on the virtual device only."
    case, _ = outcomes[-1]
    return f"{len(case.inputs['image'])} rows on {case.inputs['devices']} devices, none has more than one row more than another"


split_rows = Exercise(
    "split_rows", "An image over several devices", 1.5, cases, run, verify, core=False, achieved=achieved
)
