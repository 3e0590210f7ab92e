# SPDX-License-Identifier: GPL-3.0-or-later
"""What cuda-gdb says of every lane of a dump, as one line: the name, the number of lanes, and a digest of their state.

cuda-gdb -batch -nx -iex 'set auto-solib-add off' -ex 'target cudacore FILE' -x lanes.py
"""
from __future__ import annotations

import gdb


def fnv1a(text: bytes) -> int:
    digest = 0xCBF29CE484222325
    for byte in text:
        digest = (digest ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return digest


def lines() -> list[str]:
    found = []
    for device in gdb.cuda.devices():
        for sm in device.active_sms():
            for warp in sm.warps():
                if not warp.is_valid:
                    continue
                block = warp.block_idx
                for lane in warp.valid_lanes():
                    thread = lane.thread_idx
                    key = (device.device_id, sm.sm_id, warp.warp_id, lane.lane_id)
                    found.append((key, (
                        "%d %d %d %d" % key,
                        f"grid {warp.grid_id} block {block.x},{block.y},{block.z} thread {thread.x},{thread.y},{thread.z}",
                        f"pc {lane.pc:#x} exception {lane.exception or 0} error {warp.errorpc or 0:#x}",
                    )))
    return [" ".join(text) for _, text in sorted(found)]


ALL = lines()
TEXT = "".join(line + "\n" for line in ALL).encode()
print(f"LANES {len(ALL)} {fnv1a(TEXT):016x}")
