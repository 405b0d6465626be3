"""Reads logs with the importers of other packages, whose faults are those of the file alone.

Tested in tests/plugins/test_importers.py.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator

from treemem.errors import ImportFileError
from treemem.importers.common import own
from treemem.importers.common.base import Event, Importer, LogFile
from treemem.plugins import finding
from treemem.plugins.finding import Plugin, PluginError


class PluginImporter(Importer):
    """An importer of a package's: what it raises is an ImportFileError that names it."""

    def __init__(self, plugin: Plugin, importer: Importer) -> None:
        self._plugin, self._importer = plugin, importer
        self.name = plugin.name
        self.version = importer.version
        self.description = f"{importer.description} (of {plugin.package})"
        self.kept, self.dropped = importer.kept, importer.dropped
        self.places, self.beside = tuple(importer.places), tuple(importer.beside)
        self.is_document, self.spans_files = importer.is_document, importer.spans_files

    def recognizes(self, file: LogFile, head: bytes) -> float:
        """The score, from 0 to 1; 0 if it fails, so that the others decide."""
        try:
            score = float(self._importer.recognizes(file, head))
        except Exception:
            return 0.0
        return min(1.0, max(0.0, score)) if math.isfinite(score) else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        try:
            yield from own.checked_events(self._importer, file)
        except (ImportFileError, OSError):
            raise
        except Exception as error:
            raise self._failure(file, error) from error

    def companions(self, file: LogFile) -> Iterable[LogFile]:
        try:
            return list(self._importer.companions(file))
        except Exception as error:
            raise self._failure(file, error) from error

    def retells(self, file: LogFile) -> bool:
        try:
            return bool(self._importer.retells(file))
        except Exception as error:
            raise self._failure(file, error) from error

    def _failure(self, file: LogFile, error: Exception) -> ImportFileError:
        reason = finding.reason_of(error)
        return ImportFileError(
            f"{file.label}: {self.name} of the package {self._plugin.package} failed: {reason}"
        )


@functools.cache
def _importers(taken: frozenset[str]) -> tuple[tuple[Importer, ...], tuple[str, ...]]:
    found: list[Importer] = []
    problems = []
    for plugin in finding.plugins("importer", taken):
        try:
            importer = finding.loaded(plugin, _fits, "an instance of treemem.Importer")
            found.append(PluginImporter(plugin, importer))
        except PluginError as error:
            problems.append(error.message)
        except Exception as error:
            problems.append(finding.error_of(plugin, finding.reason_of(error)).message)
    return tuple(found), tuple(problems)


def importers(taken: Iterable[str]) -> tuple[Importer, ...]:
    """The importers of all packages that can be used. taken: the names of treemem's own."""
    return _importers(frozenset(taken))[0]


def problems(taken: Iterable[str]) -> tuple[str, ...]:
    """Why others cannot be used, in sentences."""
    return _importers(frozenset(taken))[1]


def _fits(found: object) -> bool:
    return isinstance(found, Importer)
