"""Versions of memory. All of it is ours: V1 keeps no versions."""

from __future__ import annotations

from fastapi import APIRouter, Response

from hibernaut.rest.dependencies import TheCaller, TheServices
from hibernaut.rest.http.json_responses import replies, reply
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.rest.queries.version_queries import (
    PassageVersionListQuery,
    RunVersionListQuery,
    VersionDiffQuery,
    VersionListQuery,
    VersionNumber,
)
from hibernaut.schemas.ids import ArchiveId, BlockId, PassageId
from hibernaut.schemas.memory.version import BlockVersion, PassageVersion, Rollback, RunVersion, VersionDiff

router = APIRouter(prefix="/v1", tags=["versions"], route_class=LazyRoute)


@router.get("/blocks/{block_id}/versions", response_model=list[BlockVersion])
def list_block_versions(services: TheServices, block_id: BlockId, query: VersionListQuery) -> Response:
    """A page of the versions of a block, newest first, without values; with `at`, the one version in force at that time, with the
    block.
    """
    if query.at is not None:
        return replies([services.block_history.at(block_id, query.at)])
    return replies(services.block_history.page(block_id, query.page()))


@router.get("/blocks/{block_id}/versions/{version}", response_model=BlockVersion)
def retrieve_block_version(services: TheServices, block_id: BlockId, version: VersionNumber) -> Response:
    """The block after a version."""
    return reply(services.block_history.version(block_id, version))


@router.get("/blocks/{block_id}/versions/{version}/diff", response_model=VersionDiff)
def diff_block_versions(services: TheServices, block_id: BlockId, version: VersionNumber, query: VersionDiffQuery) -> Response:
    """What differs from this version to the version `to`; without `to`, what this version changed."""
    return reply(services.block_history.diff(block_id, version, query.to))


@router.post("/blocks/{block_id}/rollback", response_model=BlockVersion)
def roll_back_block(services: TheServices, caller: TheCaller, block_id: BlockId, request: Rollback) -> Response:
    """Bring back the values of a version, as a new version. 409 if the block's version is not `current_version`."""
    done = services.block_history.rollback(block_id, request, user=caller.user_id, key_id=caller.key_id)
    return reply(done)


@router.get("/archives/{archive_id}/passages/{passage_id}/versions", response_model=list[PassageVersion])
def list_passage_versions(
    services: TheServices, archive_id: ArchiveId, passage_id: PassageId, query: PassageVersionListQuery
) -> Response:
    """The versions of a passage, newest first, also of a deleted one until they expire; with `at`, the one in force at that
    time.
    """
    return replies(services.passage_history.versions(archive_id, passage_id, at=query.at))


@router.post("/archives/{archive_id}/passages/{passage_id}/rollback", response_model=PassageVersion)
def roll_back_passage(
    services: TheServices, caller: TheCaller, archive_id: ArchiveId, passage_id: PassageId, request: Rollback
) -> Response:
    """Bring a deleted passage back, as a new version. 409 if it is there."""
    return reply(services.passage_history.rollback(archive_id, passage_id, request, key_id=caller.key_id))


@router.get("/runs/{run_id}/versions", response_model=list[RunVersion])
def list_run_versions(services: TheServices, run_id: str, query: RunVersionListQuery) -> Response:
    """What a run changed in blocks and in its agent's settings, with the differences, and the passages that it inserted."""
    return replies(services.run_versions.of(run_id, after=query.after, limit=query.limit))
