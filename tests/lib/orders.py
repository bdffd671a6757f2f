# SPDX-License-Identifier: Apache-2.0
"""Orders to do things in, few of them, so that whatever depends on the order of three things is met.

All orders of eight things are 40,320. Faults of deleting show when two or three things go in a certain order; so the
orders are chosen until every three things have gone in each of their six orders."""

import itertools
import random


def every_three(things, seed=1):
    """Orders of all things such that any three of them stand in each of their six orders in one at least."""
    chance = random.Random(seed)  # the same orders each time
    missing = set(itertools.permutations(things, 3))
    orders = []
    while missing:
        tries = [chance.sample(things, len(things)) for _ in range(200)]
        best = max(tries, key=lambda order: len(missing & set(itertools.combinations(order, 3))))
        missing -= set(itertools.combinations(best, 3))
        orders.append(best)
    return orders
