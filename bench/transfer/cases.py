# SPDX-License-Identifier: Apache-2.0
"""What is compared: a case has our way, those of others, and the floor; and what is to be reached."""

import dataclasses
import typing


@dataclasses.dataclass(frozen=True)
class Way:
    """One way to do a case: who, and a function without arguments that does it and returns a Sample."""
    who: str
    run: typing.Callable


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    ours: Way
    peers: tuple = ()
    floors: tuple = ()  # the slowest of them is the floor
    at_least: dict = dataclasses.field(default_factory=dict)  # peer: how many times longer it takes than ours
    floor_at_most: float = None  # how many times longer than the floor ours may take
    at_most: dict = dataclasses.field(default_factory=dict)  # peer: how many times longer than it ours may take
    check: typing.Callable = None  # raises when what ours made is wrong; called once

    def ways(self):
        return (self.ours, *self.peers, *self.floors)
