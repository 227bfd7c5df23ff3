"""Folders that only one account may enter."""

import os
import pwd
from pathlib import Path

from config.embedded.errors import EmbeddedServiceError


def private_folder(path: Path, account: pwd.struct_passwd | None = None) -> None:
    """Make `path` a folder (mode 0700) of `account`, by default of the present user.

    Raises EmbeddedServiceError when it belongs to somebody else: a folder in /tmp could have been
    put there to read what is sent through its socket.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)
    owner = path.lstat().st_uid
    wanted = os.geteuid() if account is None else account.pw_uid
    if path.is_symlink() or owner not in {wanted, os.geteuid()}:
        raise EmbeddedServiceError(
            f"{path} belongs to another user (id {owner}). Run as that user, remove the folder, "
            "or name another one for run-time files with OUTFITTER_VAR."
        )
    if account is not None and owner != account.pw_uid:
        os.chown(path, account.pw_uid, account.pw_gid)
    path.chmod(0o700)
