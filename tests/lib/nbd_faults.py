# SPDX-License-Identifier: Apache-2.0
"""An NBD server that misbehaves on purpose: what a client has to live with.

    with FaultyServer(content) as server:
        server.drop_after = 3        # every connection ends after three reads
        ... server.port ...
"""

import socket
import struct
import threading

OPTION_MAGIC = b"IHAVEOPT"
REPLY_MAGIC = 0x3e889045565a9
REQUEST_MAGIC = 0x25609513
STRUCTURED_MAGIC = 0x668e33ef
HOLE, ZERO = 1, 2
EIO, EINVAL = 5, 22


class FaultyServer:
    def __init__(self, content, host="127.0.0.1"):
        self.content = content
        self.sizes = []            # told to the first, second … connection in place of the real one
        self.multi_conn = True
        self.max_connections = 1000  # at once; others are hung up on
        self.block_sizes = None    # (minimum, preferred, maximum)
        self.drop_after = None     # reads of a connection before it breaks
        self.errors = {}           # offset: how often it fails with EIO
        self.stalls = 0            # so many reads are never answered
        self.trickles = False      # a byte a moment
        self.greets = True
        self.extents = None        # (offset, length) -> [(length, flags)]
        self.statuses = []         # questions that came
        self.reads = []            # (offset, length)
        self.connections = 0
        self.open = 0
        self.lock = threading.Lock()
        self.is_over = threading.Event()
        self.listener = socket.create_server((host, 0), backlog=64)
        self.port = self.listener.getsockname()[1]

    @property
    def uri(self):
        return f"nbd://127.0.0.1:{self.port}/disk"

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                self.connections += 1
                self.open += 1
                number, is_too_many = self.connections, self.open > self.max_connections
            threading.Thread(target=self._serve, args=(connection, number, is_too_many),
                             daemon=True).start()

    def _serve(self, connection, number, is_too_many):
        try:
            if not is_too_many:
                Session(self, connection, number).run()
        except (OSError, EOFError):
            pass
        finally:
            with self.lock:
                self.open -= 1
            connection.close()


class Session:
    def __init__(self, server, connection, number):
        self.server, self.connection, self.number = server, connection, number
        self.is_structured = False
        self.has_status = False
        self.served = 0

    def receive(self, length):
        data = b""
        while len(data) < length:
            part = self.connection.recv(length - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def send(self, data):
        if self.server.trickles:
            for byte in data:
                if self.server.is_over.wait(0.05):
                    return
                self.connection.sendall(bytes([byte]))
        else:
            self.connection.sendall(data)

    def run(self):
        if not self.server.greets:
            self.server.is_over.wait()
            return
        self.connection.sendall(b"NBDMAGIC" + OPTION_MAGIC + b"\0\3")
        self.receive(4)
        while not self.on_option():
            pass
        while self.on_request():
            pass

    def reply(self, option, kind, data=b""):
        self.connection.sendall(struct.pack("!QIII", REPLY_MAGIC, option, kind, len(data)) + data)

    def size(self):
        sizes = self.server.sizes
        return sizes[self.number - 1] if self.number <= len(sizes) else len(self.server.content)

    def on_option(self):
        magic, option, length = struct.unpack("!8sII", self.receive(16))
        data = self.receive(length)
        assert magic == OPTION_MAGIC
        if option == 8:
            self.is_structured = True
            self.reply(option, 1)
        elif option == 10 and self.server.extents:
            self.has_status = True
            self.reply(option, 4, struct.pack("!I", 1) + b"base:allocation")
            self.reply(option, 1)
        elif option in (6, 7):
            flags = 1 | 2 | (256 if self.server.multi_conn else 0)
            self.reply(option, 3, struct.pack("!HQH", 0, self.size(), flags))
            if self.server.block_sizes:
                self.reply(option, 3, struct.pack("!HIII", 3, *self.server.block_sizes))
            self.reply(option, 1)
            return option == 7
        else:
            self.reply(option, 0x80000001)
        del data
        return False

    def on_request(self):
        magic, _, command, cookie, offset, length = struct.unpack("!IHHQQI", self.receive(28))
        assert magic == REQUEST_MAGIC
        if command == 2:
            return False
        if command == 7:
            self.on_status(cookie, offset, length)
            return True
        return self.on_read(cookie, offset, length)

    def on_status(self, cookie, offset, length):
        self.server.statuses.append((offset, length))
        parts = self.server.extents(offset, length)
        data = struct.pack("!I", 1) + b"".join(struct.pack("!II", *part) for part in parts)
        self.send(struct.pack("!IHHQI", STRUCTURED_MAGIC, 1, 5, cookie, len(data)) + data)

    def fate_of(self, offset, length):
        """What becomes of a read: "drop", "stall", an error number, or 0."""
        server = self.server
        with server.lock:
            server.reads.append((offset, length))
            self.served += 1
            if server.drop_after is not None and self.served > server.drop_after:
                return "drop"
            if server.stalls > 0:
                server.stalls -= 1
                return "stall"
            minimum = server.block_sizes[0] if server.block_sizes else 1
            if offset % minimum or length % minimum or offset + length > len(server.content):
                return EINVAL
            if server.errors.get(offset, 0) > 0:
                server.errors[offset] -= 1
                return EIO
        return 0

    def on_read(self, cookie, offset, length):
        fate = self.fate_of(offset, length)
        if fate == "drop":
            return False
        if fate == "stall":
            self.server.is_over.wait()
            return False
        if fate:
            data = struct.pack("!IH", fate, 0)
            self.send(struct.pack("!IHHQI", STRUCTURED_MAGIC, 1, 0x8001, cookie, len(data)) + data
                      if self.is_structured else struct.pack("!IIQ", 0x67446698, fate, cookie))
            return True
        data = self.server.content[offset:offset + length]
        if self.is_structured:
            head = struct.pack("!IHHQIQ", STRUCTURED_MAGIC, 1, 1, cookie, len(data) + 8, offset)
        else:
            head = struct.pack("!IIQ", 0x67446698, 0, cookie)
        self.send(head + data)
        return True
