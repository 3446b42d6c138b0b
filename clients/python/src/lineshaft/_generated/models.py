"""Calls about models. Made by scripts/generate.py; do not edit."""

from __future__ import annotations

from typing_extensions import Unpack

from .. import models
from .._options import CallOptions, checked
from .._request import Request
from .._resource import AsyncResource, Resource


class Models(Resource):
    """Calls about models."""

    def list(
        self,
        **options: Unpack[CallOptions],
    ) -> models.ListModelsResponse:
        """List what this server can run."""
        request = Request(
            "GET",
            "/agent/models",
            replay=True,
            options=checked(self.list, options),
        )
        return self._call(request, models.ListModelsResponse)


class AsyncModels(AsyncResource):
    """Calls about models, to be awaited."""

    async def list(
        self,
        **options: Unpack[CallOptions],
    ) -> models.ListModelsResponse:
        """List what this server can run."""
        request = Request(
            "GET",
            "/agent/models",
            replay=True,
            options=checked(self.list, options),
        )
        return await self._call(request, models.ListModelsResponse)
