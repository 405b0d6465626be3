"""The memory that has a bit of everything, as for exports."""

from tests.backups.portable.conftest import whole

__all__ = ["whole"]
