"""CORe50 (Lomonaco and Maltoni 2017) from its official folders, at category level.

Fifty objects of ten categories were filmed in eleven sessions: `s1..s11/o1..o50/C_ss_oo_fff.png`. Everything is in
these names.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from bitreplay.data._decoded import EncodedDataset, EncodedSplit
from bitreplay.data._split import classes_in_both
from bitreplay.errors import InputError

CATEGORIES = (  # five objects each, in the order of the objects' numbers
    "plug_adapter",
    "mobile_phone",
    "scissor",
    "light_bulb",
    "can",
    "glass",
    "ball",
    "marker",
    "cup",
    "remote_control",
)
OBJECTS_PER_CATEGORY = 5
TEST_SESSIONS = (3, 7, 10)  # of the data set's authors; the other eight are for training
ARCHIVE = "core50_128x128"  # the folder that the official archive unpacks to


def core50_root(folder: Path) -> Path | None:
    """The folder that holds `s1..s11`: this one, or a subfolder made by the archive; None if there is none."""
    for root in (folder, folder / ARCHIVE):
        if any(root.glob("s*/o*/C_*_*_*.png")):
            return root
    return None


def core50_frames(root: Path, every: int = 1) -> list[tuple[int, int, Path]]:
    """Session, object and file of the frames to use, in this order; neighbouring frames of a video are very similar."""
    frames = []
    for session in range(1, 12):
        for thing in range(1, len(CATEGORIES) * OBJECTS_PER_CATEGORY + 1):
            pattern = re.compile(rf"C_{session:02d}_{thing:02d}_\d+\.png")
            files = sorted(root.glob(f"s{session}/o{thing}/*.png"))
            frames += [(session, thing, file) for file in files if pattern.fullmatch(file.name)][::every]
    return frames


def encoded_core50(root: Path, frames: list[tuple[int, int, Path]], every: int) -> EncodedDataset:
    """`frames` in training and test sessions, labelled with their category; groups are the sessions."""
    sessions = np.array([session for session, _, _ in frames], dtype=np.int64)
    labels = np.array([(thing - 1) // OBJECTS_PER_CATEGORY for _, thing, _ in frames], dtype=np.int64)
    testing = np.isin(sessions, TEST_SESSIONS)
    for what, some in (("training", ~testing), ("test", testing)):
        if not some.any():
            raise InputError(
                f"no frames of the {what} sessions in {root}: expected files s1..s11/o1..o50/C_ss_oo_fff.png"
            )
    numbered = np.full(len(frames), -1, dtype=np.int64)
    numbered[~testing], numbered[testing], names, remark = classes_in_both(
        labels[~testing], labels[testing], CATEGORIES
    )
    remarks = [remark, f"1 frame in {every}" if every > 1 else "", _missing(sessions)]
    said = ", ".join(text for text in remarks if text)
    train, test = (
        EncodedSplit.of_files([frames[row][2] for row in rows], numbered[rows], sessions[rows])
        for rows in (np.flatnonzero(part & (numbered >= 0)) for part in (~testing, testing))
    )
    return EncodedDataset(
        train,
        test,
        names,
        f"{root} ({said})" if said else str(root),
    )


def _missing(sessions: np.typing.NDArray[np.int64]) -> str:
    missing = sorted(set(range(1, 12)) - set(sessions.tolist()))
    return f"without sessions {', '.join(map(str, missing))}" if missing else ""
