"""Calls about artifacts. Made by scripts/generate.py; do not edit."""

from __future__ import annotations

from typing_extensions import Unpack

from .. import models
from .._download import AsyncDownload, Download
from .._options import CallOptions, checked
from .._request import Request, path
from .._resource import AsyncResource, Resource


class Artifacts(Resource):
    """Calls about artifacts."""

    def get(
        self,
        artifact_uid: str,
        **options: Unpack[CallOptions],
    ) -> models.ArtifactResponse:
        """Get an artifact.

        Artifacts that are only links are 404.

        Args:
          artifact_uid: The uid of an artifact.
        """
        request = Request(
            "GET",
            path("/agent/artifacts/{}", artifact_uid),
            replay=True,
            options=checked(self.get, options),
        )
        return self._call(request, models.ArtifactResponse)

    def download(
        self,
        artifact_uid: str,
        **options: Unpack[CallOptions],
    ) -> Download:
        """Download an artifact.

        Redirects to the file.

        Args:
          artifact_uid: The uid of an artifact.
        """
        request = Request(
            "GET",
            path("/agent/artifacts/{}/download", artifact_uid),
            replay=True,
            options=checked(self.download, options),
        )
        return self._download(request)


class AsyncArtifacts(AsyncResource):
    """Calls about artifacts, to be awaited."""

    async def get(
        self,
        artifact_uid: str,
        **options: Unpack[CallOptions],
    ) -> models.ArtifactResponse:
        """Get an artifact.

        Artifacts that are only links are 404.

        Args:
          artifact_uid: The uid of an artifact.
        """
        request = Request(
            "GET",
            path("/agent/artifacts/{}", artifact_uid),
            replay=True,
            options=checked(self.get, options),
        )
        return await self._call(request, models.ArtifactResponse)

    def download(
        self,
        artifact_uid: str,
        **options: Unpack[CallOptions],
    ) -> AsyncDownload:
        """Download an artifact.

        Redirects to the file.

        Args:
          artifact_uid: The uid of an artifact.
        """
        request = Request(
            "GET",
            path("/agent/artifacts/{}/download", artifact_uid),
            replay=True,
            options=checked(self.download, options),
        )
        return self._download(request)
