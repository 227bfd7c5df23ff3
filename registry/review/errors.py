"""Why a decision on a proposal cannot be taken."""

from config.lib.errors import Conflict


class ProposalDecided(Conflict):
    """Somebody has decided on this already."""

    code = "proposal_decided"
    default_hint = "Load the page again to see what is open now."


class FindingsBlock(Conflict):
    """The scans found something new that has to be accepted by name."""

    code = "findings_block"
    default_hint = "Read each finding; then approve with its code in “accept”, or reject."
