"""Data: labelled images from any source, and scenarios in which their classes arrive task by task."""

from bitreplay.data._available import Available as Available
from bitreplay.data._available import available
from bitreplay.data._dataset import ImageDataset, Samples, from_arrays
from bitreplay.data._dataset import Split as Split
from bitreplay.data._folder import images_below as images_below
from bitreplay.data._folder import images_by_class as images_by_class
from bitreplay.data._images import Encoded as Encoded
from bitreplay.data._images import Named as Named
from bitreplay.data._images import decode_within as decode_within
from bitreplay.data._images import need_pillow as need_pillow
from bitreplay.data._known import advice as advice
from bitreplay.data._known import local_folder as local_folder
from bitreplay.data._load import load_dataset
from bitreplay.data._scenario import Scenario, Task, make_scenario
from bitreplay.data._sizes import describe_sizes as describe_sizes
from bitreplay.data._stream import Stream as Stream
from bitreplay.data._stream import as_stream
from bitreplay.data._torch_dataset import from_torch

__all__ = [
    "ImageDataset",
    "Samples",
    "Scenario",
    "Task",
    "as_stream",
    "available",
    "from_arrays",
    "from_torch",
    "load_dataset",
    "make_scenario",
]
