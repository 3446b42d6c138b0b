"""Calls about skills. Made by scripts/generate.py; do not edit."""

from __future__ import annotations

from typing_extensions import Literal, Unpack

from .. import models
from .._options import CallOptions, checked
from .._pages import AsyncPages, Page
from .._request import Request
from .._resource import AsyncResource, Resource


class Skills(Resource):
    """Calls about skills."""

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        repo: str | None = None,
        refresh: bool | None = None,
        sort_by: Literal["name", "last_run"] | None = None,
        include_malformed_skills: bool | None = None,
        **options: Unpack[CallOptions],
    ) -> Page[models.AgentListItem]:
        """List skills.

        The skills of repositories, by name. A repository that cannot be read is left out, unless
        repo names it. A viewer may name a repository of an environment or a factory; callers who
        may start runs may name any that the server can read.

        Args:
          cursor: From page_info.next_cursor.
          repo: Only the skills of this repository, owner/repo. Otherwise those of all environments
            and factories.
          refresh: Ask the forge again instead of using what was read in the last minute.
          sort_by: name by default; last_run lists the most recently used first.
          include_malformed_skills: Also list files that are not valid skills, with their error.
        """
        request = Request(
            "GET",
            "/agent",
            query={
                "limit": limit,
                "cursor": cursor,
                "repo": repo,
                "refresh": refresh,
                "sort_by": sort_by,
                "include_malformed_skills": include_malformed_skills,
            },
            replay=True,
            options=checked(self.list, options),
        )
        return self._list(request, "agents", models.AgentListItem)


class AsyncSkills(AsyncResource):
    """Calls about skills, to be awaited."""

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        repo: str | None = None,
        refresh: bool | None = None,
        sort_by: Literal["name", "last_run"] | None = None,
        include_malformed_skills: bool | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[models.AgentListItem]:
        """List skills.

        The skills of repositories, by name. A repository that cannot be read is left out, unless
        repo names it. A viewer may name a repository of an environment or a factory; callers who
        may start runs may name any that the server can read.

        Args:
          cursor: From page_info.next_cursor.
          repo: Only the skills of this repository, owner/repo. Otherwise those of all environments
            and factories.
          refresh: Ask the forge again instead of using what was read in the last minute.
          sort_by: name by default; last_run lists the most recently used first.
          include_malformed_skills: Also list files that are not valid skills, with their error.
        """
        request = Request(
            "GET",
            "/agent",
            query={
                "limit": limit,
                "cursor": cursor,
                "repo": repo,
                "refresh": refresh,
                "sort_by": sort_by,
                "include_malformed_skills": include_malformed_skills,
            },
            replay=True,
            options=checked(self.list, options),
        )
        return self._list(request, "agents", models.AgentListItem)
