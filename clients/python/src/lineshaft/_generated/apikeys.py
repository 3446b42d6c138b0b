"""Calls about apikeys. Made by scripts/generate.py; do not edit."""

from __future__ import annotations

from datetime import datetime
from typing import Sequence

from typing_extensions import Unpack

from .. import models, params
from .._options import CallOptions, checked
from .._pages import AsyncPages, Page
from .._request import Request, fields, path
from .._resource import AsyncResource, Resource


class APIKeys(Resource):
    """Calls about apikeys."""

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> Page[models.APIKey]:
        """List API keys.

        Args:
          cursor: From page_info.next_cursor.
        """
        request = Request(
            "GET",
            "/apikeys",
            query={"limit": limit, "cursor": cursor},
            replay=True,
            options=checked(self.list, options),
        )
        return self._list(request, "apikeys", models.APIKey)

    def create(
        self,
        *,
        name: str,
        role: models.KeyRole,
        expires_at: datetime | str | None = None,
        factory_uids: Sequence[str] | None = None,
        owner: params.KeyOwner | None = None,
        worker_ids: Sequence[str] | None = None,
        **options: Unpack[CallOptions],
    ) -> models.CreatedAPIKey:
        """Create an API key.

        The answer contains the key, only this once.

        Args:
          expires_at: If absent, never.
          factory_uids: Limits the key to these factories and their runs; all when absent.
          owner: Who the key acts as; a service account with the key's name when absent.
          worker_ids: For role worker: the ids it may claim for.
        """
        request = Request(
            "POST",
            "/apikeys",
            body=fields({
                "name": name,
                "role": role,
                "expires_at": expires_at,
                "factory_uids": factory_uids,
                "owner": owner,
                "worker_ids": worker_ids,
            }),
            options=checked(self.create, options),
        )
        return self._call(request, models.CreatedAPIKey)

    def revoke(
        self,
        key_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Revoke an API key.

        Args:
          key_id: The id of a key.
        """
        request = Request(
            "DELETE",
            path("/apikeys/{}", key_id),
            replay=True,
            options=checked(self.revoke, options),
        )
        self._remove(request)


class AsyncAPIKeys(AsyncResource):
    """Calls about apikeys, to be awaited."""

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[models.APIKey]:
        """List API keys.

        Args:
          cursor: From page_info.next_cursor.
        """
        request = Request(
            "GET",
            "/apikeys",
            query={"limit": limit, "cursor": cursor},
            replay=True,
            options=checked(self.list, options),
        )
        return self._list(request, "apikeys", models.APIKey)

    async def create(
        self,
        *,
        name: str,
        role: models.KeyRole,
        expires_at: datetime | str | None = None,
        factory_uids: Sequence[str] | None = None,
        owner: params.KeyOwner | None = None,
        worker_ids: Sequence[str] | None = None,
        **options: Unpack[CallOptions],
    ) -> models.CreatedAPIKey:
        """Create an API key.

        The answer contains the key, only this once.

        Args:
          expires_at: If absent, never.
          factory_uids: Limits the key to these factories and their runs; all when absent.
          owner: Who the key acts as; a service account with the key's name when absent.
          worker_ids: For role worker: the ids it may claim for.
        """
        request = Request(
            "POST",
            "/apikeys",
            body=fields({
                "name": name,
                "role": role,
                "expires_at": expires_at,
                "factory_uids": factory_uids,
                "owner": owner,
                "worker_ids": worker_ids,
            }),
            options=checked(self.create, options),
        )
        return await self._call(request, models.CreatedAPIKey)

    async def revoke(
        self,
        key_id: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Revoke an API key.

        Args:
          key_id: The id of a key.
        """
        request = Request(
            "DELETE",
            path("/apikeys/{}", key_id),
            replay=True,
            options=checked(self.revoke, options),
        )
        await self._remove(request)
