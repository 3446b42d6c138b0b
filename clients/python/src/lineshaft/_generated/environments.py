"""Calls about environments. Made by scripts/generate.py; do not edit."""

from __future__ import annotations

from typing_extensions import Literal, Unpack

from .. import models, params
from .._options import CallOptions, checked
from .._pages import AsyncPages, Page
from .._request import Request, fields, path
from .._resource import AsyncResource, Resource


class Environments(Resource):
    """Calls about environments."""

    def list(
        self,
        *,
        sort_by: Literal["name", "last_updated"] | None = None,
        **options: Unpack[CallOptions],
    ) -> Page[models.CloudEnvironment]:
        """List environments.

        All of them, newest change first. There is no paging; a server has at most 500.

        Args:
          sort_by: Sort order; default last_updated, newest first.
        """
        request = Request(
            "GET",
            "/agent/environments",
            query={"sort_by": sort_by},
            replay=True,
            options=checked(self.list, options),
        )
        return self._list(request, "environments", models.CloudEnvironment)

    def create(
        self,
        *,
        config: params.CloudEnvironmentConfig | models.CloudEnvironmentConfig,
        **options: Unpack[CallOptions],
    ) -> models.CloudEnvironment:
        """Create an environment.

        What is prepared before an agent starts: repositories are cloned, then the set-up commands
        run. Naming a secret grants it to every run in the environment.
        """
        request = Request(
            "POST",
            "/agent/environments",
            body=fields({"config": config}),
            options=checked(self.create, options),
        )
        return self._call(request, models.CloudEnvironment)

    def get(
        self,
        environment_uid: str,
        **options: Unpack[CallOptions],
    ) -> models.CloudEnvironment:
        """Get an environment.

        Args:
          environment_uid: The uid of an environment.
        """
        request = Request(
            "GET",
            path("/agent/environments/{}", environment_uid),
            replay=True,
            options=checked(self.get, options),
        )
        return self._call(request, models.CloudEnvironment)

    def update(
        self,
        environment_uid: str,
        *,
        config: params.CloudEnvironmentConfig | models.CloudEnvironmentConfig,
        **options: Unpack[CallOptions],
    ) -> models.CloudEnvironment:
        """Replace an environment.

        The configuration is replaced as a whole. Runs get it from their next execution on.

        Args:
          environment_uid: The uid of an environment.
        """
        request = Request(
            "PUT",
            path("/agent/environments/{}", environment_uid),
            body=fields({"config": config}),
            replay=True,
            options=checked(self.update, options),
        )
        return self._call(request, models.CloudEnvironment)

    def delete(
        self,
        environment_uid: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete an environment.

        An environment that a live run, a factory, an agent or an automation uses is answered with
        409.

        Args:
          environment_uid: The uid of an environment.
        """
        request = Request(
            "DELETE",
            path("/agent/environments/{}", environment_uid),
            replay=True,
            options=checked(self.delete, options),
        )
        self._remove(request)


class AsyncEnvironments(AsyncResource):
    """Calls about environments, to be awaited."""

    def list(
        self,
        *,
        sort_by: Literal["name", "last_updated"] | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[models.CloudEnvironment]:
        """List environments.

        All of them, newest change first. There is no paging; a server has at most 500.

        Args:
          sort_by: Sort order; default last_updated, newest first.
        """
        request = Request(
            "GET",
            "/agent/environments",
            query={"sort_by": sort_by},
            replay=True,
            options=checked(self.list, options),
        )
        return self._list(request, "environments", models.CloudEnvironment)

    async def create(
        self,
        *,
        config: params.CloudEnvironmentConfig | models.CloudEnvironmentConfig,
        **options: Unpack[CallOptions],
    ) -> models.CloudEnvironment:
        """Create an environment.

        What is prepared before an agent starts: repositories are cloned, then the set-up commands
        run. Naming a secret grants it to every run in the environment.
        """
        request = Request(
            "POST",
            "/agent/environments",
            body=fields({"config": config}),
            options=checked(self.create, options),
        )
        return await self._call(request, models.CloudEnvironment)

    async def get(
        self,
        environment_uid: str,
        **options: Unpack[CallOptions],
    ) -> models.CloudEnvironment:
        """Get an environment.

        Args:
          environment_uid: The uid of an environment.
        """
        request = Request(
            "GET",
            path("/agent/environments/{}", environment_uid),
            replay=True,
            options=checked(self.get, options),
        )
        return await self._call(request, models.CloudEnvironment)

    async def update(
        self,
        environment_uid: str,
        *,
        config: params.CloudEnvironmentConfig | models.CloudEnvironmentConfig,
        **options: Unpack[CallOptions],
    ) -> models.CloudEnvironment:
        """Replace an environment.

        The configuration is replaced as a whole. Runs get it from their next execution on.

        Args:
          environment_uid: The uid of an environment.
        """
        request = Request(
            "PUT",
            path("/agent/environments/{}", environment_uid),
            body=fields({"config": config}),
            replay=True,
            options=checked(self.update, options),
        )
        return await self._call(request, models.CloudEnvironment)

    async def delete(
        self,
        environment_uid: str,
        **options: Unpack[CallOptions],
    ) -> None:
        """Delete an environment.

        An environment that a live run, a factory, an agent or an automation uses is answered with
        409.

        Args:
          environment_uid: The uid of an environment.
        """
        request = Request(
            "DELETE",
            path("/agent/environments/{}", environment_uid),
            replay=True,
            options=checked(self.delete, options),
        )
        await self._remove(request)
