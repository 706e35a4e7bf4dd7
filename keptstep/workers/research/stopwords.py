"""Words a question is asked with, which say nothing about its matter."""

from __future__ import annotations

import re


def listed(text: str) -> frozenset[str]:
    """Return the words of a list written as one text."""
    return frozenset(text.split())


#: English words that say nothing about the matter, and the words questions are asked with.
STOP = listed(
    "a about above after again against all also always am an and any are aren as at be because "
    "been before being below between both but by can cannot could couldn d did didn do does "
    "doesn doing don down during each either else ever every few for from further give given "
    "gives had hadn has hasn have haven having he her here hers herself him himself his how i if "
    "in into is isn it its itself just kind know ll make makes may me might mightn mine more "
    "most much must mustn my myself need neither no nor not now of off often on once only or "
    "other our ours out over own per please quite rather really s same say says shall she "
    "should shouldn show since so some such t tell than that the their theirs them themselves "
    "then there these they thing things this those through to too under until up upon us used "
    "uses using very want was wasn we well were weren what whatever when where whether which "
    "while who whole whom whose why will with within without won would wouldn yet you your "
    "yours explain describe mean means happen happens decide decides determine determines "
    "work works way ways exactly actually possible"
)
#: The same for Korean, where the question word stands by itself or takes an ending.
STOP_KOREAN = re.compile(
    "(?:무엇|무슨|어떻게|어떤|어디|언제|누가|누구|얼마나|얼마|왜|어느|하나요|합니까|입니까|인가요|인가|"
    "되나요|됩니까|있나요|있습니까|하는가|되는가|대해|대한|그리고|또는|하는|되는|있는)"
)
