"""The service: a model over HTTP, and the page on which anybody teaches it classes.

It is what `bitreplay serve` and `bitreplay studio` run.
"""

from bitreplay.service._app import make_app
from bitreplay.service._guard import is_loopback as is_loopback
from bitreplay.service._limits import Limits
from bitreplay.service._served import ServedModel
from bitreplay.service._server import bound_socket as bound_socket
from bitreplay.service._server import run_server as run_server
from bitreplay.service._server import url_of as url_of

__all__ = ["Limits", "ServedModel", "make_app"]
