"""Characters that models read and people do not see."""

import re

# Blanks of no width, signs that turn the direction of writing, and tags: a whole alphabet that is
# never drawn. Joiners and marks of direction stay, for several scripts and emoji are not written
# without them. Variants beyond the 16th are drawn in few fonts and carry hidden bytes elsewhere.
UNSEEN = re.compile(
    "[\u00ad\u061c\u180e\u200b\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
