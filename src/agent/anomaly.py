# Turns PyTorch's anomaly detection on when PyTorch is there, as the text of a member of the agent's answer.
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Compiled into libcudatrap-agent.so and run by its thread inside somebody else's program, with the GIL, on Python 3.8 to 3.14. What is
# called is a function of PyTorch written in C that sets a switch of the whole process (torch/csrc/autograd/init.cpp); whatever else stands
# in its place is not called. Without the search for NaNs (check_nan, since PyTorch 1.13): that one changes what a program does.
#
# Given: modules (sys.modules). Leaves: result.


def switch_on():
    torch = modules.get("torch") if type(modules) is dict else None
    if torch is None:
        return "PyTorch is not imported"
    names = object.__getattribute__(torch, "__dict__")
    set_enabled = names.get("set_anomaly_enabled") if type(names) is dict else None
    if type(set_enabled) is not type(len):
        return "PyTorch is not imported yet, or has no such switch"
    try:
        set_enabled(True, False)
    except TypeError:
        set_enabled(True)
    return "on"


result = '"' + switch_on() + '"'
