"""Calls about workers. Made by scripts/generate.py; do not edit."""

from __future__ import annotations

from typing_extensions import Unpack

from .. import models
from .._options import CallOptions, checked
from .._pages import AsyncPages, Page
from .._request import Request
from .._resource import AsyncResource, Resource


class Workers(Resource):
    """Calls about workers."""

    def list(
        self,
        **options: Unpack[CallOptions],
    ) -> Page[models.ConnectedSelfHostedWorker]:
        """List the connected workers."""
        request = Request(
            "GET",
            "/agent/connected-self-hosted-workers",
            replay=True,
            options=checked(self.list, options),
        )
        return self._list(request, "workers", models.ConnectedSelfHostedWorker)


class AsyncWorkers(AsyncResource):
    """Calls about workers, to be awaited."""

    def list(
        self,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[models.ConnectedSelfHostedWorker]:
        """List the connected workers."""
        request = Request(
            "GET",
            "/agent/connected-self-hosted-workers",
            replay=True,
            options=checked(self.list, options),
        )
        return self._list(request, "workers", models.ConnectedSelfHostedWorker)
