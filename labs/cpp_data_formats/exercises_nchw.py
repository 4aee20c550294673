"""Exercise to_nchw (extension): from the bytes of a decoded picture to the tensor that a network expects."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, short

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, height, width, padding, part="correct", last=True):
        stride = 3 * width + padding
        rows = rng.integers(0, 256, (height, stride)).astype(np.uint8)
        rows[:, 3 * width :] = 170  # what stands in the padding is of no use to anybody
        flat = rows.ravel() if last else rows.ravel()[: height * stride - padding]
        return Case(title, {"pixels": flat.copy(), "height": height, "width": width, "stride": stride}, part)

    height, width = int(rng.integers(5, 8)), int(rng.integers(9, 13))
    return [
        case("2 rows of 3 pixels, rows without padding", 2, 3, 0),
        case("2 rows of 3 pixels, each row padded to 12 bytes", 2, 3, 3),
        case(f"{height} rows of {width} pixels, padded", height, width, int(rng.integers(1, 5))),
        case("one pixel", 1, 1, 1, "edge"),
        case("one row", 1, 5, 1, "edge"),
        case("one column", 5, 1, 1, "edge"),
        case("no padding behind the last row", 3, 5, 1, "edge", last=False),
        case("a picture without rows", 0, 4, 0, "edge"),
        case("64 x 48, padded", 48, 64, 64, "edge"),
    ]


def run(answers, inputs):
    pixels = inputs["pixels"].copy()
    tensor = answers[0](pixels, inputs["height"], inputs["width"], inputs["stride"])
    return {"tensor": tensor}


def pixels_of(flat, height, width, stride):
    """The bytes of a picture as (height, width, 3), without the padding."""
    whole = np.zeros(height * stride, np.uint8)
    whole[: len(flat)] = flat[: height * stride]
    return whole.reshape(height, stride)[:, : 3 * width].reshape(height, width, 3)


def _mistakes(flat, height, width, stride):
    """What the tensor holds after each mistake, by the hint that it deserves."""
    bgr = pixels_of(flat, height, width, stride)
    rgb = bgr[..., ::-1]
    tight = flat[: 3 * height * width].reshape(height, width, 3)
    scaled = lambda hwc: hwc.transpose(2, 0, 1) / 255
    return {
        "bgr": scaled(bgr),
        "not_scaled": rgb.transpose(2, 0, 1) * 1.0,
        "integer_division": scaled(rgb // 255 * 255),
        "left_nhwc": rgb / 255,
        "left_nhwc_bgr": bgr / 255,
        "padding": scaled(tight[..., ::-1]),
        "axes_swapped": rgb.transpose(2, 1, 0) / 255,
        "upside_down": scaled(rgb[::-1]),
    }


_WORDS = {
    "bgr": (
        "Your reds are the file's blues. In which order do the three bytes of a pixel stand?",
        "OpenCV and BMP files store blue, green, red. A network that was trained on red, green, blue still answers, worse.",
        "Channel c of the tensor is byte 2 - c of the pixel.",
    ),
    "not_scaled": (
        "Your numbers go up to 255. Which range did the task ask for?",
        "Divide by 255.0f, so that 255 becomes 1.",
    ),
    "integer_division": (
        "Every value below 255 became 0. What is 200 / 255 in C++?",
        "Both are integers, and so is the result: 0.",
        "Divide by 255.0f.",
    ),
    "left_nhwc": (
        "Right numbers in the order of pixels. Which numbers lie side by side in NCHW?",
        "NHWC: the three colours of a pixel side by side. NCHW: all reds first, row after row, then all greens, all blues.",
        "Channel c, row y, column x belongs at (c * height + y) * width + x.",
    ),
    "padding": (
        "The first row is right, the next ones are shifted. Where does the second row begin in the buffer?",
        "Not behind the last pixel of the first: decoders fill each row up to a multiple of 4 bytes or more.",
        "Row y begins at byte y * stride, and its pixel x at y * stride + 3 * x.",
    ),
    "axes_swapped": (
        "Each of your channels is turned round its diagonal. Which index moves fastest in memory, x or y?",
        "x. Channel c, row y, column x belongs at (c * height + y) * width + x.",
    ),
    "upside_down": ("Your picture stands on its head. Which row comes first?", "Row 0 is the top one here."),
}


def verify(case, output):
    flat, height, width, stride = (case.inputs[name] for name in ("pixels", "height", "width", "stride"))
    got = output["tensor"]
    wanted = pixels_of(flat, height, width, stride)[..., ::-1].transpose(2, 0, 1)[None] / 255
    if type(got) is not np.ndarray:
        raise Wrong("shape", f"An array is due. Is it {short(got, 60)}?")
    evidence = f"\nrow 0 of the buffer: {short(flat[:stride].tolist(), 70)} (blue, green, red, blue, ...)"
    if got.size != wanted.size:
        raise Wrong("shape", f"The shape {wanted.shape} is due. How did you get {got.shape}?{evidence}")
    same = lambda mistake: np.allclose(got.ravel(), mistake.ravel(), rtol=0, atol=1e-6)
    evidence += f"\nexpected {short(_told(wanted), 80)}\nyours    {short(_told(got), 80)}"
    if not same(wanted):
        for hint, mistake in _mistakes(flat, height, width, stride).items():
            if same(mistake):
                _raise(hint.removesuffix("_bgr"), evidence, got, wanted)
        raise Wrong(
            "values",
            "Some numbers are not where they belong. Which is the first?" + evidence,
            picture=_picture(got, wanted),
            then=("Channel c, row y, column x: byte y * stride + 3 * x + 2 - c, divided by 255.0f.",),
        )
    if got.shape != wanted.shape:
        raise Wrong("shape", f"Right numbers; but the shape {wanted.shape} is due, not {got.shape}.{evidence}")
    if got.dtype != np.float32:
        question = f"Right numbers; but they are {got.dtype}, and float32 is due. How many bytes are too many?"
        raise Wrong(
            "double", question, then=("The type stands in angle brackets: lab::zeros<float>(1, 3, height, width).",)
        )


def _raise(hint, evidence, got, wanted):
    question, *then = _WORDS[hint]
    raise Wrong(hint, question + evidence, picture=_picture(got, wanted), then=then)


def _told(tensor):
    return [float(f"{number:.3g}") for number in tensor.ravel()[:12]]


def _picture(got, wanted):
    if not 0 < wanted.size <= 400:
        return None

    def drawn():
        from labs.cpp_data_formats import mosaics

        shown = got.reshape(wanted.shape)
        return mosaics.picture({"expected": wanted[0], "yours": shown[0]}, name="The picture in the tensor")

    return drawn


def achieved(outputs):
    case, _ = outputs[1]
    return [("stride", f"{case.inputs['stride']} bytes a row, {3 * case.inputs['width']} of them used")]


to_nchw = Exercise("to_nchw", "From an image to NCHW", 2, cases, run, verify, core=False, achieved=achieved)
