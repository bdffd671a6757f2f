# SPDX-License-Identifier: Apache-2.0
"""What a row of an outcome comes to: "met", "missed", or "-" where no goal could be judged."""

import statistics


def ratio(above, below):
    return above / below if above is not None and below else None


def median_ratio(above, below):
    """Of the rounds that both were measured in; None without one."""
    ratios = [ratio(one, other) for one, other in zip(above, below) if other]
    return statistics.median(ratios) if ratios else None


def at_most(limit):
    return lambda figure: figure <= limit


def at_least(limit):
    return lambda figure: figure >= limit


def judge(checks):
    """The goal as text, and the verdict. Each check is (text, figure, holds). One without a figure cannot be judged
    and is not shown, unless none can."""
    judged = [check for check in checks if check[1] is not None]
    goal = ", ".join(text for text, _, _ in judged or checks)
    if not judged:
        return goal, "-"
    return goal, "met" if all(holds(figure) for _, figure, holds in judged) else "missed"
