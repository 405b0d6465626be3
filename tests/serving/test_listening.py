"""A server listens in a way that its answers are sent at once."""

from __future__ import annotations

import asyncio
import socket

from treemem.serving.listening import bound_socket


def test_an_answer_is_sent_at_once() -> None:
    """Without TCP_NODELAY, what follows the head of an answer waits for the client, which takes
    40 ms."""

    async def answer_once() -> int:
        asked: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            server_side = writer.get_extra_info("socket")
            asked.set_result(server_side.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        listener = bound_socket("127.0.0.1", 0)
        async with await asyncio.start_server(answer, sock=listener):
            _, writer = await asyncio.open_connection(*listener.getsockname())
            is_set = await asked
            writer.close()
        return is_set

    assert asyncio.run(answer_once())
