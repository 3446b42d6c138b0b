"""Calls about secrets. Made by scripts/generate.py; do not edit."""

from __future__ import annotations

from typing_extensions import Literal, Unpack

from .. import models
from .._options import CallOptions, checked
from .._pages import AsyncPages, Page
from .._request import Request, fields, path
from .._resource import AsyncResource, Resource


class Secrets(Resource):
    """Calls about secrets."""

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> Page[models.Secret]:
        """List secrets.

        By name; values are never shown.

        Args:
          cursor: From page_info.next_cursor.
        """
        request = Request(
            "GET",
            "/secrets",
            query={"limit": limit, "cursor": cursor},
            replay=True,
            options=checked(self.list, options),
        )
        return self._list(request, "secrets", models.Secret)

    def create(
        self,
        *,
        name: str,
        value: str,
        access: Literal["granted", "runs"] | None = None,
        description: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.Secret:
        """Create a secret.

        The value is stored encrypted and cannot be read again. Runs that name the secret get it as
        a variable of its name.

        Args:
          name: Also the name of the variable that a run gets.
          value: Any UTF-8 text without NUL characters, at most 65,536 bytes. It cannot be read
            again.
          access: granted: only runs whose factory, agent or automation names it; runs: anyone who
            may start a run may name it.
        """
        request = Request(
            "POST",
            "/secrets",
            body=fields({
                "name": name,
                "value": value,
                "access": access,
                "description": description,
            }),
            options=checked(self.create, options),
        )
        return self._call(request, models.Secret)

    def get(
        self,
        name: str,
        **options: Unpack[CallOptions],
    ) -> models.Secret:
        """Get a secret.

        Without its value.

        Args:
          name: The name of a secret.
        """
        request = Request(
            "GET",
            path("/secrets/{}", name),
            replay=True,
            options=checked(self.get, options),
        )
        return self._call(request, models.Secret)

    def update(
        self,
        name: str,
        *,
        access: Literal["granted", "runs"] | None = None,
        description: str | None = None,
        value: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.Secret:
        """Update a secret.

        What is absent stays. Runs get a new value from their next execution on; webhooks when they
        are next enabled or their definition applies. This also holds for a credential that was
        generated for a webhook.

        Args:
          name: The name of a secret.
          access: granted: only runs whose factory, agent or automation names it; runs: anyone who
            may start a run may name it.
          value: Any UTF-8 text without NUL characters, at most 65,536 bytes. It cannot be read
            again.
        """
        request = Request(
            "PUT",
            path("/secrets/{}", name),
            body=fields({"access": access, "description": description, "value": value}),
            replay=True,
            options=checked(self.update, options),
        )
        return self._call(request, models.Secret)

    def delete(
        self,
        name: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a secret.

        A secret that a webhook, factory, agent, automation or environment names is answered with
        409.

        Args:
          name: The name of a secret.
        """
        request = Request(
            "DELETE",
            path("/secrets/{}", name),
            replay=True,
            options=checked(self.delete, options),
        )
        self._remove(request)


class AsyncSecrets(AsyncResource):
    """Calls about secrets, to be awaited."""

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[models.Secret]:
        """List secrets.

        By name; values are never shown.

        Args:
          cursor: From page_info.next_cursor.
        """
        request = Request(
            "GET",
            "/secrets",
            query={"limit": limit, "cursor": cursor},
            replay=True,
            options=checked(self.list, options),
        )
        return self._list(request, "secrets", models.Secret)

    async def create(
        self,
        *,
        name: str,
        value: str,
        access: Literal["granted", "runs"] | None = None,
        description: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.Secret:
        """Create a secret.

        The value is stored encrypted and cannot be read again. Runs that name the secret get it as
        a variable of its name.

        Args:
          name: Also the name of the variable that a run gets.
          value: Any UTF-8 text without NUL characters, at most 65,536 bytes. It cannot be read
            again.
          access: granted: only runs whose factory, agent or automation names it; runs: anyone who
            may start a run may name it.
        """
        request = Request(
            "POST",
            "/secrets",
            body=fields({
                "name": name,
                "value": value,
                "access": access,
                "description": description,
            }),
            options=checked(self.create, options),
        )
        return await self._call(request, models.Secret)

    async def get(
        self,
        name: str,
        **options: Unpack[CallOptions],
    ) -> models.Secret:
        """Get a secret.

        Without its value.

        Args:
          name: The name of a secret.
        """
        request = Request(
            "GET",
            path("/secrets/{}", name),
            replay=True,
            options=checked(self.get, options),
        )
        return await self._call(request, models.Secret)

    async def update(
        self,
        name: str,
        *,
        access: Literal["granted", "runs"] | None = None,
        description: str | None = None,
        value: str | None = None,
        **options: Unpack[CallOptions],
    ) -> models.Secret:
        """Update a secret.

        What is absent stays. Runs get a new value from their next execution on; webhooks when they
        are next enabled or their definition applies. This also holds for a credential that was
        generated for a webhook.

        Args:
          name: The name of a secret.
          access: granted: only runs whose factory, agent or automation names it; runs: anyone who
            may start a run may name it.
          value: Any UTF-8 text without NUL characters, at most 65,536 bytes. It cannot be read
            again.
        """
        request = Request(
            "PUT",
            path("/secrets/{}", name),
            body=fields({"access": access, "description": description, "value": value}),
            replay=True,
            options=checked(self.update, options),
        )
        return await self._call(request, models.Secret)

    async def delete(
        self,
        name: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete a secret.

        A secret that a webhook, factory, agent, automation or environment names is answered with
        409.

        Args:
          name: The name of a secret.
        """
        request = Request(
            "DELETE",
            path("/secrets/{}", name),
            replay=True,
            options=checked(self.delete, options),
        )
        await self._remove(request)
