"""A cable that leads through this process, which can delay every frame: the kernel of a test machine may lack netem."""

import collections
import fcntl
import os
import select
import struct
import threading
import time

_TUNSETIFF, _IFF_TAP, _IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
_LONGEST_FRAME = 65536


def _tap(name):
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH", name.encode(), _IFF_TAP | _IFF_NO_PI))
    return device


class SlowCable:
    """Two ends, which are network devices with these names. A frame that enters one end leaves the other `delay`
    seconds later."""

    def __init__(self, *names):
        self.delay = 0.0
        self._ends = [_tap(name) for name in names]
        self._under_way = collections.deque()  # (when, where, frame) in the order of arrival
        self._thread = threading.Thread(target=self._carry)
        self._closing, self._close = os.pipe()
        self._thread.start()

    def _carry(self):
        while True:
            wait = max(0, self._under_way[0][0] - time.monotonic()) if self._under_way else None
            ready, _, _ = select.select([*self._ends, self._closing], [], [], wait)
            if self._closing in ready:
                return
            for end in ready:
                self._take(end)
            while self._under_way and self._under_way[0][0] <= time.monotonic():
                _, end, frame = self._under_way.popleft()
                self._give(end, frame)

    def _take(self, end):
        other = self._ends[1 - self._ends.index(end)]
        try:
            self._under_way.append((time.monotonic() + self.delay, other, os.read(end, _LONGEST_FRAME)))
        except BlockingIOError:
            pass

    @staticmethod
    def _give(end, frame):
        try:
            os.write(end, frame)
        except OSError:  # the device is down or its queue is full: a cable loses frames too
            pass

    def end(self):
        os.write(self._close, b"x")
        self._thread.join()
        for descriptor in (*self._ends, self._closing, self._close):
            os.close(descriptor)
