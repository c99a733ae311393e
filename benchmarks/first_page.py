"""A visitor without a browser: opens Streamlit's WebSocket, asks for the start page, reads what arrives."""

from __future__ import annotations

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

ANSWER_TIMEOUT_S = 60


def receive_first_page(address: str, last_heading: str) -> int:
    """Ask the server at `address` for its start page; the number of elements up to the heading called so."""
    url = address.replace("http://", "ws://") + "/_stcore/stream"
    with connect(url, origin=Origin(address), subprotocols=[Subprotocol("streamlit")], max_size=None) as socket:
        ask = BackMsg()
        ask.rerun_script.query_string = ""
        socket.send(ask.SerializeToString())
        return _elements_until(socket, last_heading)


def _elements_until(socket: ClientConnection, last_heading: str) -> int:
    elements = 0
    while True:
        message = ForwardMsg()
        message.ParseFromString(socket.recv(ANSWER_TIMEOUT_S, decode=False))
        kind = message.WhichOneof("type")
        elements += kind == "delta"
        if kind == "delta" and message.delta.new_element.heading.body == last_heading:
            return elements
        if kind == "script_finished":
            raise RuntimeError(f"The start page ended without the heading {last_heading!r}.")
