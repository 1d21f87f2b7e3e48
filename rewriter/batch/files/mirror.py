"""An output folder that has all that the trees have: folders, links, and files of other kinds.

Only retuned files differ. What is there already, with the same size and time, is left alone.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Collection, Sequence
from pathlib import Path

from rewriter.batch.files.placing import Placer, Times, attributes
from rewriter.batch.find import Candidate, Root, walk
from rewriter.core.errors import BadUsage
from rewriter.elf.emit import unwritten
from rewriter.elf.headers import printable


class Mirror:
    """Where in an output folder each file goes.

    One tree's content goes into the folder itself; of several trees, and of files given by their
    names, all keep their whole paths below it.  `faults` are what cannot be copied, and why.
    """

    def __init__(self, roots: Sequence[Root], output: Path) -> None:
        self.output = output
        self.faults: list[tuple[Path, str]] = []
        self.trees = [root.path for root in roots if root.path.is_dir()]
        self.whole = len(roots) > 1 or not self.trees
        for tree in self.trees:
            one, other = Path(os.path.realpath(tree)), Path(os.path.realpath(output))
            if one == other or one in other.parents or other in one.parents:
                hint = "write to a folder outside, or use --in-place"
                raise BadUsage(f"{_shown(output)}: overlaps {_shown(tree)}", hint=hint)

    def place(self, path: Path) -> Path:
        """The place of a file or folder."""
        if not self.whole:
            return self.output / path.relative_to(self.trees[0])
        parts = [p for p in path.parts if p not in (path.anchor, os.curdir)]
        if os.pardir in parts:
            parts = list(Path(os.path.realpath(path)).parts[1:])
        return self.output.joinpath(*parts)

    def prepare(self, candidates: Collection[Candidate], placer: Placer) -> None:
        """Makes folders and links, and copies what is not retuned."""
        mine = {name for one in candidates for name in one.names}
        linked: dict[tuple[int, int], Path] = {}
        try:
            self.output.mkdir(parents=True, exist_ok=True)
            for tree in self.trees:
                self._folder(tree)
                for entry in walk(tree):
                    self._entry(entry, mine, linked, placer)
            for name in mine:
                self.place(name).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            where = _shown(Path(str(error.filename or self.output)))
            raise unwritten(f"cannot write {where}", error) from error

    def finish(self, times: Times) -> None:
        """Gives folders the times of those that they are copies of."""
        if times.kept:
            for tree in self.trees:
                folders = [e.path for e in walk(tree) if e.is_dir(follow_symlinks=False)]
                for folder in map(Path, reversed([str(tree), *folders])):
                    like = folder.stat()
                    os.utime(self.place(folder), ns=(like.st_atime_ns, like.st_mtime_ns))

    def _entry(
        self,
        entry: os.DirEntry[str],
        mine: Collection[Path],
        linked: dict[tuple[int, int], Path],
        placer: Placer,
    ) -> None:
        path = Path(entry.path)
        place, about = self.place(path), entry.stat(follow_symlinks=False)
        if entry.is_symlink():
            _link(path, place, about)
        elif stat.S_ISDIR(about.st_mode):
            self._folder(path)
        elif not stat.S_ISREG(about.st_mode):
            self.faults.append((path, "not copied: neither a file, a folder nor a symbolic link"))
        elif path not in mine:
            first = linked.setdefault((about.st_dev, about.st_ino), place)
            if first != place:
                if not (place.exists() and place.samefile(first)):
                    placer.link(first, [place])
            elif not _there(place, about):
                placer.place(path.read_bytes(), path, [place], Times(kept=True))

    def _folder(self, path: Path) -> None:
        place, like = self.place(path), path.stat()
        place.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0:
            os.chown(place, like.st_uid, like.st_gid)
        # Files are still to be made in it, whatever its own mode says.
        os.chmod(place, stat.S_IMODE(like.st_mode) | stat.S_IRWXU)
        for name, value in attributes(path):
            os.setxattr(place, name, value)


def _link(path: Path, place: Path, about: os.stat_result) -> None:
    """A symbolic link that says what another one says."""
    said = os.readlink(path)
    if place.is_symlink() and os.readlink(place) == said:
        return
    with contextlib.suppress(FileNotFoundError):
        os.unlink(place)
    os.symlink(said, place)
    if os.geteuid() == 0:
        os.lchown(place, about.st_uid, about.st_gid)


def _there(place: Path, like: os.stat_result) -> bool:
    try:
        found = place.lstat()
    except OSError:
        return False
    same = (found.st_size, found.st_mtime_ns) == (like.st_size, like.st_mtime_ns)
    return same and stat.S_ISREG(found.st_mode)


def _shown(path: Path) -> str:
    return printable(str(path))
