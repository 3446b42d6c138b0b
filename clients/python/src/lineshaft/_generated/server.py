"""Calls about server. Made by scripts/generate.py; do not edit."""

from __future__ import annotations

from typing_extensions import Unpack

from .. import models
from .._options import CallOptions, checked
from .._request import Request
from .._resource import AsyncResource, Resource


class Server(Resource):
    """Calls about server."""

    def egress_ranges(
        self,
        **options: Unpack[CallOptions],
    ) -> models.EgressRangesResponse:
        """List egress addresses."""
        request = Request(
            "GET",
            "/networking/egress-ranges",
            replay=True,
            options=checked(self.egress_ranges, options),
        )
        return self._call(request, models.EgressRangesResponse)

    def whoami(
        self,
        **options: Unpack[CallOptions],
    ) -> models.WhoamiResponse:
        """Show whose key this is."""
        request = Request(
            "GET",
            "/whoami",
            replay=True,
            options=checked(self.whoami, options),
        )
        return self._call(request, models.WhoamiResponse)


class AsyncServer(AsyncResource):
    """Calls about server, to be awaited."""

    async def egress_ranges(
        self,
        **options: Unpack[CallOptions],
    ) -> models.EgressRangesResponse:
        """List egress addresses."""
        request = Request(
            "GET",
            "/networking/egress-ranges",
            replay=True,
            options=checked(self.egress_ranges, options),
        )
        return await self._call(request, models.EgressRangesResponse)

    async def whoami(
        self,
        **options: Unpack[CallOptions],
    ) -> models.WhoamiResponse:
        """Show whose key this is."""
        request = Request(
            "GET",
            "/whoami",
            replay=True,
            options=checked(self.whoami, options),
        )
        return await self._call(request, models.WhoamiResponse)
