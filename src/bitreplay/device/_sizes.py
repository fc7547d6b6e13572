"""The size of a model on a device: in flash and RAM, part by part, before anything is written."""

from __future__ import annotations

from dataclasses import dataclass

from bitreplay.device._model import DeviceModel


@dataclass(frozen=True)
class Part:
    """A part of a model on a device."""

    name: str
    place: str  # flash or RAM
    bits: int

    @property
    def nbytes(self) -> int:
        """Whole bytes."""
        return -(-self.bits // 8)


def memory_words(model: DeviceModel, room: int) -> int:
    """32-bit words of a memory in RAM for `room` classes of up to K prototypes.

    If that is at least as many as are shipped, these fit too, also those of more prototypes: a classifier that was
    merged with another may have such. Room for fewer is for a device that leaves them in flash.

    Examples
    --------
    >>> from bitreplay.device import DeviceMemory, Layout
    >>> memory = DeviceMemory(Layout(features=32, bits=1, prototypes=2))
    >>> memory.enrol(0, [[0, 1] * 16] * 40)
    >>> model = DeviceModel(memory, ("stripes",))
    >>> [memory_words(model, room) for room in (1, 2)]
    [6, 12]
    """
    layout, shipped = model.memory.layout, model.memory.records
    usual = layout.class_words(layout.prototypes)
    if room < len(shipped):
        return room * usual
    larger = (layout.class_words(len(record.weights)) - usual for record in shipped)
    return room * usual + sum(words for words in larger if words > 0)


def sizes(model: DeviceModel, room: int, samples: int) -> list[Part]:
    """The parts of a model, with RAM for `room` classes, and for enrolling up to `samples` of a class.

    Examples
    --------
    >>> from bitreplay.device import DeviceMemory, Layout
    >>> memory = DeviceMemory(Layout(features=256))
    >>> memory.enrol(0, [[0, 1] * 128] * 40)
    >>> for part in sizes(DeviceModel(memory, ("stripes",)), room=10, samples=120):
    ...     print(part.name, part.place, part.nbytes)
    memory: 1 classes, K up to 8, q = 3, D = 256 flash 796
    table of logarithms flash 16
    memory for 10 classes RAM 7960
    scratch to enrol up to 120 samples RAM 5088
    a slot for a block of 10 classes, two are needed flash 7996
    """
    layout = model.memory.layout
    d, q, k = layout.features, layout.bits, layout.prototypes
    held = max([0, *(len(record.weights) for record in model.memory.records)])
    parts = [
        Part(
            f"memory: {len(model.memory)} classes, K up to {held}, q = {q}, D = {d}", "flash", 8 * model.memory.nbytes
        ),
        Part("table of logarithms", "flash", 16 * 2**q),
    ]
    if model.thresholds is not None:
        name = f"thresholds: {model.thresholds.values.size} for {model.thresholds.feature_type} features"
        parts.append(Part(name, "flash", model.thresholds.size_bits))
    if model.head is not None:
        rows = f"{model.head.n_classes} x {1 + model.head.squares} rows"
        name = f"head: {rows} of {model.head.weight_bits}-bit weights"
        parts.append(Part(name, "flash", model.head.size_bits))
    if model.network is not None:
        parts.append(Part(f"network: {len(model.network.layers)} layers", "flash", model.network.size_bits))
        parts.append(Part("scratch of the network", "RAM", 32 * model.network.scratch_words))
    words = memory_words(model, room)
    return [
        *parts,
        Part(f"memory for {room} classes", "RAM", 32 * words),
        Part(f"scratch to enrol up to {samples} samples", "RAM", 32 * (d + 3 * k) + 16 * samples * k + 8 * k * d),
        Part(f"a slot for a block of {room} classes, two are needed", "flash", 32 * (words + 9)),
    ]


def sizes_table(parts: list[Part]) -> str:
    """The parts as text.

    Examples
    --------
    >>> print(sizes_table([Part("memory", "flash", 6144), Part("scratch", "RAM", 80)]))
    part     place   bits  bytes
    memory   flash  6,144    768
    scratch  RAM       80     10
    """
    rows = [("part", "place", "bits", "bytes")]
    rows += [(part.name, part.place, f"{part.bits:,}", f"{part.nbytes:,}") for part in parts]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        f"{name:<{widths[0]}}  {place:<{widths[1]}}  {bits:>{widths[2]}}  {size:>{widths[3]}}"
        for name, place, bits, size in rows
    )
