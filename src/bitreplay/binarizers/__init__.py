"""Binarizers: from the features of any encoder to bits, and from bits to what the classifier sees.

In the flow images → features → **bits** → memory/head → class they directly follow the encoder. They are torch
modules: called in a network, they return what G sees with a straight-through gradient, so that the encoder can be
trained with them; and they turn arrays into packed bits.
"""

from bitreplay.binarizers._binarizer import Binarizer
from bitreplay.binarizers._heaviside import Heaviside
from bitreplay.binarizers._make import KINDS as KINDS
from bitreplay.binarizers._make import BinarizerName
from bitreplay.binarizers._make import calibrated_binarizer as calibrated_binarizer
from bitreplay.binarizers._make import rebuild as rebuild
from bitreplay.binarizers._natural import Identity, Native
from bitreplay.binarizers._thermometer import Thermometer

__all__ = [
    "Binarizer",
    "BinarizerName",
    "Heaviside",
    "Identity",
    "Native",
    "Thermometer",
]
