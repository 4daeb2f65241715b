"""A team of agents on one board: an orchestrator plans, two workers claim and complete, a reviewer approves.

Every call goes through the client that openapi-python-client generates. Usage: team.py URL ADMIN_TOKEN
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from corkboard_client import AuthenticatedClient
from corkboard_client.api.access import create_token
from corkboard_client.api.boards import complete_board, create_board, get_board_status
from corkboard_client.api.events import list_board_events
from corkboard_client.api.tasks import add_tasks, claim_task, complete_task, get_task, list_tasks, review_task
from corkboard_client.models import (
    ActorKind,
    ClaimTaskRequest,
    CompleteBoardRequest,
    CompleteTaskRequest,
    CreateBoardRequest,
    CreateTokenRequest,
    Grants,
    NewTask,
    Problem,
    ProblemCode,
    ReviewTaskRequest,
    ReviewVerdict,
    RevisionDocument,
    RevisionPage,
    Role,
    TaskBatch,
    TaskDocument,
    TaskStatus,
)
from corkboard_client.types import UNSET

T = TypeVar("T")
URL, ADMIN_TOKEN = sys.argv[1:]


def client_for(token: str) -> AuthenticatedClient:
    return AuthenticatedClient(base_url=URL, token=token, raise_on_unexpected_status=True)


def done(answer: T | Problem | None) -> T:
    """The body of a response; a problem ends the program."""
    if answer is None or isinstance(answer, Problem):
        raise SystemExit(f"failed: {answer}")
    return answer


def agent(admin: AuthenticatedClient, name: str, role: Role) -> AuthenticatedClient:
    request = CreateTokenRequest(
        principal=name, kind=ActorKind.AGENT, role=role, grants=Grants(agents=[name], boards=["*"])
    )
    return client_for(done(create_token.sync(client=admin, body=request)).secret)


def work(worker: AuthenticatedClient, board: str) -> list[str]:
    """Claims tasks until none is ready."""
    completed: list[str] = []
    while True:
        claim = done(claim_task.sync(board, client=worker, body=ClaimTaskRequest()))
        if not claim.task:
            return completed
        summary = CompleteTaskRequest(summary=f"did {claim.task}", epoch=claim.epoch)
        done(complete_task.sync(board, claim.task, client=worker, body=summary))
        completed.append(claim.task)


def all_tasks(client: AuthenticatedClient, board: str) -> list[TaskDocument]:
    """All tasks, two on a page."""
    page = done(list_tasks.sync(board, client=client, limit=2))
    tasks = page.items
    while page.next_ is not None:
        page = done(list_tasks.sync(board, client=client, limit=2, cursor=page.next_))
        tasks += page.items
    return tasks


def all_revisions(client: AuthenticatedClient, board: str) -> list[RevisionDocument]:
    """All revisions of a board's log, five on a page."""
    revisions: list[RevisionDocument] = []
    cursor: str | None = None
    while True:
        page = list_board_events.sync(board, client=client, limit=5, cursor=UNSET if cursor is None else cursor)
        assert isinstance(page, RevisionPage), page
        revisions += page.items
        cursor = page.next_
        if cursor is None:
            return revisions


def main() -> None:
    admin = client_for(ADMIN_TOKEN)
    orchestrator = agent(admin, "olga", Role.ORCHESTRATOR)
    workers = [agent(admin, name, Role.WORKER) for name in ("ada", "bob")]
    reviewer = agent(admin, "rita", Role.REVIEWER)

    board = done(create_board.sync(client=orchestrator, body=CreateBoardRequest(name="Release", goal="Ship it"))).id
    plan = [
        NewTask(title="Write the code", key="code"),
        NewTask(title="Write the docs", key="docs"),
        NewTask(title="Publish", key="publish", depends_on=["code", "docs"], needs_review=True),
    ]
    ids = done(add_tasks.sync(board, client=orchestrator, body=TaskBatch(tasks=plan))).tasks

    completed: list[str] = []
    while len(completed) < len(plan):
        with ThreadPoolExecutor() as pool:
            for finished in pool.map(lambda worker: work(worker, board), workers):
                completed += finished
    assert sorted(completed) == sorted(ids), completed

    published = done(get_task.sync(board, ids[2], client=reviewer))
    assert published.status == TaskStatus.REVIEW, published.status
    late = complete_task.sync(board, ids[2], client=workers[0], body=CompleteTaskRequest(summary="late", epoch=99))
    assert isinstance(late, Problem) and isinstance(late.code, ProblemCode), late
    verdict = ReviewTaskRequest(verdict=ReviewVerdict.APPROVED, comment="ship it")
    assert done(review_task.sync(board, ids[2], client=reviewer, body=verdict)).status == TaskStatus.COMPLETED

    tasks = all_tasks(reviewer, board)
    assert [task.id for task in tasks] == ids, tasks
    assert {task.status for task in tasks} == {TaskStatus.COMPLETED}, tasks
    assert tasks[0].created_by == "olga", tasks[0]
    revisions = all_revisions(reviewer, board)
    assert [revision.rev for revision in revisions] == list(range(1, len(revisions) + 1)), revisions

    done(complete_board.sync(board, client=orchestrator, body=CompleteBoardRequest()))
    progress = done(get_board_status.sync(board, client=orchestrator))
    print(f"{board}: {progress.status}, {len(completed)} of {progress.tasks} tasks completed")


main()
