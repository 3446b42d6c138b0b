"""Calls about definitions. Made by scripts/generate.py; do not edit."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from typing_extensions import Unpack

from .. import models
from .._options import CallOptions, checked
from .._pages import AsyncPages, Page
from .._request import Request, fields, path
from .._resource import AsyncResource, Resource


class Definitions(Resource):
    """Calls about definitions."""

    def get(
        self,
        factory_uid: str,
        **options: Unpack[CallOptions],
    ) -> models.FactoryDefinition:
        """Export a factory.

        As JSON, or with Accept: application/gzip as a tar.gz. Applying it again changes nothing.

        Args:
          factory_uid: The uid of a factory.
        """
        request = Request(
            "GET",
            path("/factory/{}/definition", factory_uid),
            replay=True,
            options=checked(self.get, options),
        )
        return self._call(request, models.FactoryDefinition)

    def validate(
        self,
        factory_uid: str,
        *,
        files: Mapping[str, str],
        **options: Unpack[CallOptions],
    ) -> models.ValidateDefinitionResponse:
        """Check a definition for a factory.

        Finds every mistake at once: in the files, and in what they name on this server. The body is
        JSON, or a tar.gz of the folder.

        Args:
          factory_uid: The uid of a factory.
          files: Texts by path, such as factory.yaml and agents/foreman/agent.md.
        """
        request = Request(
            "POST",
            path("/factory/{}/definition/validate", factory_uid),
            body=fields({"files": files}),
            options=checked(self.validate, options),
        )
        return self._call(request, models.ValidateDefinitionResponse)

    def plan(
        self,
        factory_uid: str,
        *,
        files: Mapping[str, str],
        drift: bool | None = None,
        **options: Unpack[CallOptions],
    ) -> models.PlanDefinitionResponse:
        """Show what applying a definition would do.

        Changes nothing. For each automation whose triggers change, the stored deliveries are tried
        again. A definition with mistakes is answered with 400 and all of them in problems. The body
        is JSON, or a tar.gz of the folder.

        Args:
          factory_uid: The uid of a factory.
          files: Texts by path, such as factory.yaml and agents/foreman/agent.md.
          drift: Shows only what differs, and does not check the stored deliveries.
        """
        request = Request(
            "POST",
            path("/factory/{}/definition/plan", factory_uid),
            query={"drift": drift},
            body=fields({"files": files}),
            options=checked(self.plan, options),
        )
        return self._call(request, models.PlanDefinitionResponse)

    def apply(
        self,
        factory_uid: str,
        *,
        files: Mapping[str, str],
        comment: str | None = None,
        if_revision: int | None = None,
        **options: Unpack[CallOptions],
    ) -> models.ApplyDefinitionResponse:
        """Apply a definition.

        All or nothing: the factory becomes what the files say, or stays as it is. A definition with
        mistakes is answered with 400 and all of them in problems. A factory that follows a
        repository is answered with 409. The body is JSON, or a tar.gz of the folder.

        Args:
          factory_uid: The uid of a factory.
          files: Texts by path, such as factory.yaml and agents/foreman/agent.md.
          comment: What the change is for; the list of revisions shows it.
          if_revision: Answers 409 if the definition is no longer at this revision.
        """
        request = Request(
            "POST",
            path("/factory/{}/definition/apply", factory_uid),
            body=fields({"files": files, "comment": comment, "if_revision": if_revision}),
            options=checked(self.apply, options),
        )
        return self._call(request, models.ApplyDefinitionResponse)

    def revisions(
        self,
        factory_uid: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> Page[models.DefinitionRevision]:
        """List the revisions of a definition.

        Newest first.

        Args:
          factory_uid: The uid of a factory.
          cursor: From page_info.next_cursor.
        """
        request = Request(
            "GET",
            path("/factory/{}/definition/revisions", factory_uid),
            query={"limit": limit, "cursor": cursor},
            replay=True,
            options=checked(self.revisions, options),
        )
        return self._list(request, "revisions", models.DefinitionRevision)

    def revision(
        self,
        factory_uid: str,
        number: int,
        **options: Unpack[CallOptions],
    ) -> models.DefinitionRevisionDetail:
        """Get a revision with its files.

        Args:
          factory_uid: The uid of a factory.
          number: The number of a revision.
        """
        request = Request(
            "GET",
            path("/factory/{}/definition/revisions/{}", factory_uid, number),
            replay=True,
            options=checked(self.revision, options),
        )
        return self._call(request, models.DefinitionRevisionDetail)

    def rollback(
        self,
        factory_uid: str,
        number: int,
        **options: Unpack[CallOptions],
    ) -> models.ApplyDefinitionResponse:
        """Go back to a revision.

        Applies the files of that revision, as a new one.

        Args:
          factory_uid: The uid of a factory.
          number: The number of a revision.
        """
        request = Request(
            "POST",
            path("/factory/{}/definition/revisions/{}/rollback", factory_uid, number),
            options=checked(self.rollback, options),
        )
        return self._call(request, models.ApplyDefinitionResponse)

    def plan_files(
        self,
        *,
        files: Mapping[str, str],
        **options: Unpack[CallOptions],
    ) -> models.PlanDefinitionResponse:
        """Show what creating a factory from a definition would do.

        For a factory that does not exist yet: checks the files against this server as applying them
        would, and changes nothing. A definition with mistakes is answered with 400 and all of them
        in problems. The body is JSON, or a tar.gz of the folder.

        Args:
          files: Texts by path, such as factory.yaml and agents/foreman/agent.md.
        """
        request = Request(
            "POST",
            "/factory-files/plan",
            body=fields({"files": files}),
            options=checked(self.plan_files, options),
        )
        return self._call(request, models.PlanDefinitionResponse)

    def validate_files(
        self,
        *,
        files: Mapping[str, str] | Sequence[Mapping[str, Any]],
        **options: Unpack[CallOptions],
    ) -> models.ValidateFilesResponse:
        """Check a definition without a factory.

        Needs no key, and knows no factory: what the files refer to on a server is not checked, but
        listed in deferred_resolutions. files is an object of texts by path, or a list of {path,
        content}. diagnostics are the problems with their published codes. The body is JSON, or a
        tar.gz of the folder.

        Args:
          files: Texts by path, such as factory.yaml and agents/foreman/agent.md, or a list of
            {path, content}.
        """
        request = Request(
            "POST",
            "/factory-files/validate",
            body=fields({"files": files}),
            options=checked(self.validate_files, options),
        )
        return self._call(request, models.ValidateFilesResponse)

    def schema_versions(
        self,
        **options: Unpack[CallOptions],
    ) -> models.SchemaVersions:
        """List the versions of definition files.

        Needs no key.
        """
        request = Request(
            "GET",
            "/factory-files/schemas",
            replay=True,
            options=checked(self.schema_versions, options),
        )
        return self._call(request, models.SchemaVersions)

    def schemas(
        self,
        version: str,
        **options: Unpack[CallOptions],
    ) -> models.SchemaDocuments:
        """Get the JSON Schemas of a version.

        Needs no key.

        Args:
          version: The schemaVersion of a definition.
        """
        request = Request(
            "GET",
            path("/factory-files/schemas/{}", version),
            replay=True,
            options=checked(self.schemas, options),
        )
        return self._call(request, models.SchemaDocuments)

    def schema(
        self,
        version: str,
        document: str,
        **options: Unpack[CallOptions],
    ) -> dict[str, Any]:
        """Get the JSON Schema of a kind of file.

        Needs no key.

        Args:
          version: The schemaVersion of a definition.
          document: The kind of file.
        """
        request = Request(
            "GET",
            path("/factory-files/schemas/{}/{}", version, document),
            replay=True,
            options=checked(self.schema, options),
        )
        return self._call(request, dict[str, Any])


class AsyncDefinitions(AsyncResource):
    """Calls about definitions, to be awaited."""

    async def get(
        self,
        factory_uid: str,
        **options: Unpack[CallOptions],
    ) -> models.FactoryDefinition:
        """Export a factory.

        As JSON, or with Accept: application/gzip as a tar.gz. Applying it again changes nothing.

        Args:
          factory_uid: The uid of a factory.
        """
        request = Request(
            "GET",
            path("/factory/{}/definition", factory_uid),
            replay=True,
            options=checked(self.get, options),
        )
        return await self._call(request, models.FactoryDefinition)

    async def validate(
        self,
        factory_uid: str,
        *,
        files: Mapping[str, str],
        **options: Unpack[CallOptions],
    ) -> models.ValidateDefinitionResponse:
        """Check a definition for a factory.

        Finds every mistake at once: in the files, and in what they name on this server. The body is
        JSON, or a tar.gz of the folder.

        Args:
          factory_uid: The uid of a factory.
          files: Texts by path, such as factory.yaml and agents/foreman/agent.md.
        """
        request = Request(
            "POST",
            path("/factory/{}/definition/validate", factory_uid),
            body=fields({"files": files}),
            options=checked(self.validate, options),
        )
        return await self._call(request, models.ValidateDefinitionResponse)

    async def plan(
        self,
        factory_uid: str,
        *,
        files: Mapping[str, str],
        drift: bool | None = None,
        **options: Unpack[CallOptions],
    ) -> models.PlanDefinitionResponse:
        """Show what applying a definition would do.

        Changes nothing. For each automation whose triggers change, the stored deliveries are tried
        again. A definition with mistakes is answered with 400 and all of them in problems. The body
        is JSON, or a tar.gz of the folder.

        Args:
          factory_uid: The uid of a factory.
          files: Texts by path, such as factory.yaml and agents/foreman/agent.md.
          drift: Shows only what differs, and does not check the stored deliveries.
        """
        request = Request(
            "POST",
            path("/factory/{}/definition/plan", factory_uid),
            query={"drift": drift},
            body=fields({"files": files}),
            options=checked(self.plan, options),
        )
        return await self._call(request, models.PlanDefinitionResponse)

    async def apply(
        self,
        factory_uid: str,
        *,
        files: Mapping[str, str],
        comment: str | None = None,
        if_revision: int | None = None,
        **options: Unpack[CallOptions],
    ) -> models.ApplyDefinitionResponse:
        """Apply a definition.

        All or nothing: the factory becomes what the files say, or stays as it is. A definition with
        mistakes is answered with 400 and all of them in problems. A factory that follows a
        repository is answered with 409. The body is JSON, or a tar.gz of the folder.

        Args:
          factory_uid: The uid of a factory.
          files: Texts by path, such as factory.yaml and agents/foreman/agent.md.
          comment: What the change is for; the list of revisions shows it.
          if_revision: Answers 409 if the definition is no longer at this revision.
        """
        request = Request(
            "POST",
            path("/factory/{}/definition/apply", factory_uid),
            body=fields({"files": files, "comment": comment, "if_revision": if_revision}),
            options=checked(self.apply, options),
        )
        return await self._call(request, models.ApplyDefinitionResponse)

    def revisions(
        self,
        factory_uid: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncPages[models.DefinitionRevision]:
        """List the revisions of a definition.

        Newest first.

        Args:
          factory_uid: The uid of a factory.
          cursor: From page_info.next_cursor.
        """
        request = Request(
            "GET",
            path("/factory/{}/definition/revisions", factory_uid),
            query={"limit": limit, "cursor": cursor},
            replay=True,
            options=checked(self.revisions, options),
        )
        return self._list(request, "revisions", models.DefinitionRevision)

    async def revision(
        self,
        factory_uid: str,
        number: int,
        **options: Unpack[CallOptions],
    ) -> models.DefinitionRevisionDetail:
        """Get a revision with its files.

        Args:
          factory_uid: The uid of a factory.
          number: The number of a revision.
        """
        request = Request(
            "GET",
            path("/factory/{}/definition/revisions/{}", factory_uid, number),
            replay=True,
            options=checked(self.revision, options),
        )
        return await self._call(request, models.DefinitionRevisionDetail)

    async def rollback(
        self,
        factory_uid: str,
        number: int,
        **options: Unpack[CallOptions],
    ) -> models.ApplyDefinitionResponse:
        """Go back to a revision.

        Applies the files of that revision, as a new one.

        Args:
          factory_uid: The uid of a factory.
          number: The number of a revision.
        """
        request = Request(
            "POST",
            path("/factory/{}/definition/revisions/{}/rollback", factory_uid, number),
            options=checked(self.rollback, options),
        )
        return await self._call(request, models.ApplyDefinitionResponse)

    async def plan_files(
        self,
        *,
        files: Mapping[str, str],
        **options: Unpack[CallOptions],
    ) -> models.PlanDefinitionResponse:
        """Show what creating a factory from a definition would do.

        For a factory that does not exist yet: checks the files against this server as applying them
        would, and changes nothing. A definition with mistakes is answered with 400 and all of them
        in problems. The body is JSON, or a tar.gz of the folder.

        Args:
          files: Texts by path, such as factory.yaml and agents/foreman/agent.md.
        """
        request = Request(
            "POST",
            "/factory-files/plan",
            body=fields({"files": files}),
            options=checked(self.plan_files, options),
        )
        return await self._call(request, models.PlanDefinitionResponse)

    async def validate_files(
        self,
        *,
        files: Mapping[str, str] | Sequence[Mapping[str, Any]],
        **options: Unpack[CallOptions],
    ) -> models.ValidateFilesResponse:
        """Check a definition without a factory.

        Needs no key, and knows no factory: what the files refer to on a server is not checked, but
        listed in deferred_resolutions. files is an object of texts by path, or a list of {path,
        content}. diagnostics are the problems with their published codes. The body is JSON, or a
        tar.gz of the folder.

        Args:
          files: Texts by path, such as factory.yaml and agents/foreman/agent.md, or a list of
            {path, content}.
        """
        request = Request(
            "POST",
            "/factory-files/validate",
            body=fields({"files": files}),
            options=checked(self.validate_files, options),
        )
        return await self._call(request, models.ValidateFilesResponse)

    async def schema_versions(
        self,
        **options: Unpack[CallOptions],
    ) -> models.SchemaVersions:
        """List the versions of definition files.

        Needs no key.
        """
        request = Request(
            "GET",
            "/factory-files/schemas",
            replay=True,
            options=checked(self.schema_versions, options),
        )
        return await self._call(request, models.SchemaVersions)

    async def schemas(
        self,
        version: str,
        **options: Unpack[CallOptions],
    ) -> models.SchemaDocuments:
        """Get the JSON Schemas of a version.

        Needs no key.

        Args:
          version: The schemaVersion of a definition.
        """
        request = Request(
            "GET",
            path("/factory-files/schemas/{}", version),
            replay=True,
            options=checked(self.schemas, options),
        )
        return await self._call(request, models.SchemaDocuments)

    async def schema(
        self,
        version: str,
        document: str,
        **options: Unpack[CallOptions],
    ) -> dict[str, Any]:
        """Get the JSON Schema of a kind of file.

        Needs no key.

        Args:
          version: The schemaVersion of a definition.
          document: The kind of file.
        """
        request = Request(
            "GET",
            path("/factory-files/schemas/{}/{}", version, document),
            replay=True,
            options=checked(self.schema, options),
        )
        return await self._call(request, dict[str, Any])
