"""Calls about audit. Made by scripts/generate.py; do not edit."""

from __future__ import annotations

from typing_extensions import Unpack

from .. import models
from .._options import CallOptions, checked
from .._pages import AsyncPages, Page
from .._request import Request
from .._resource import AsyncResource, Resource


class Audit(Resource):
    """Calls about audit."""

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> Page[models.AuditEntry]:
        """Read the audit log.

        Newest first.

        Args:
          cursor: From page_info.next_cursor.
        """
        request = Request(
            "GET",
            "/audit",
            query={"limit": limit, "cursor": cursor},
            replay=True,
            options=checked(self.list, options),
        )
        return self._list(request, "entries", models.AuditEntry)


class AsyncAudit(AsyncResource):
    """Calls about audit, to be awaited."""

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[models.AuditEntry]:
        """Read the audit log.

        Newest first.

        Args:
          cursor: From page_info.next_cursor.
        """
        request = Request(
            "GET",
            "/audit",
            query={"limit": limit, "cursor": cursor},
            replay=True,
            options=checked(self.list, options),
        )
        return self._list(request, "entries", models.AuditEntry)
