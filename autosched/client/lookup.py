"""The best known configuration at deployment, whether or not the service can be reached just then.

| the service | the cache | answer |
|---|---|---|
| answers | any | the service's, kept in the cache |
| is away (no answer, 5xx, 429) | has one | that, `from_cache`, with `stale_since` and the reason |
| is away | has none | LookupMiss |
| refuses (a bad token, a bad request) | any | its error: the cache is for absence, not for refusals |

Nothing is ever made up: a `default` is one that the service said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from autosched.client.blocking import Client
from autosched.client.cache import BestCache, Question
from autosched.client.problems import ServiceAway, ServiceError
from autosched.errors import AutoschedError
from autosched.wire.best import MAX_WORKLOADS, BestDocument

AWAY_STATUS = 500
"""From here on a status speaks of the service, not of the request."""
TOO_MANY = 429


class LookupMiss(AutoschedError):
    """The service is away and the cache does not hold the answer; the message says what is missing and why, `workloads`
    are the keys."""

    def __init__(self, message: str, workloads: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.workloads = tuple(workloads)


@dataclass(frozen=True)
class ServedTarget:
    """What a service calls the target that is meant. `differs`: what is not as on that; its answers for it are
    compatible at best."""

    target: str
    threads: int | None = None
    differs: str = ""


@dataclass(frozen=True)
class Found:
    """An answer. From the cache: `stale_since` is when the service gave it, `reason` why it was not asked now. Fresh:
    `reason` is empty, or says why the cache does not have it."""

    answer: BestDocument
    from_cache: bool = False
    stale_since: datetime | None = None
    reason: str = ""


class BestLookup:
    """Asks `client`, keeps the answers in `cache_dir`, and answers from there while the service is away.

    How long the service may take before it counts as away is the client's patience: `Client(url,
    patience=Patience(deadline=2))` suits a start-up that must not wait. Threads and processes may share a directory.
    `locate` finds the target that is asked for among the service's own, each time that it is asked; the cache knows it
    by the name that was given.
    """

    def __init__(
        self,
        client: Client,
        cache_dir: Path | str,
        *,
        locate: Callable[[Client], ServedTarget] | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = client
        self._cache = BestCache(Path(cache_dir))
        self._locate = locate
        self._now = now

    def one(
        self,
        workload: str,
        target: str,
        *,
        text: str | None = None,
        threads: int | None = None,
        toolchain: str | None = None,
    ) -> Found:
        """The answer for one workload by its key, and by its canonical text where its key is not known there."""
        texts = None if text is None else [text]
        return self.many([workload], target, texts=texts, threads=threads, toolchain=toolchain)[0]

    def many(
        self,
        workloads: Sequence[str],
        target: str,
        *,
        texts: Sequence[str] | None = None,
        threads: int | None = None,
        toolchain: str | None = None,
    ) -> list[Found]:
        """One answer a workload, in order. LookupMiss: the service is away and one of them is not in the cache."""
        server = str(self._client.address)
        questions = [Question(server, w, target, threads, toolchain) for w in workloads]
        try:
            answers = self._ask(questions, texts)
        except (ServiceAway, ServiceError) as error:
            if isinstance(error, ServiceError) and not _is_away(error):
                raise
            return self._from_cache(questions, str(error))
        return [self._fresh(q, a) for q, a in zip(questions, answers, strict=True)]

    def _ask(
        self, questions: Sequence[Question], texts: Sequence[str] | None
    ) -> list[BestDocument]:
        found: list[BestDocument] = []
        if not questions:
            return found
        asked = questions[0]
        served = (
            self._locate(self._client)
            if self._locate
            else ServedTarget(asked.target, asked.threads)
        )
        for start in range(0, len(questions), MAX_WORKLOADS):
            some = questions[start : start + MAX_WORKLOADS]
            documents = self._client.best_many(
                [q.workload for q in some],
                texts=None if texts is None else texts[start : start + MAX_WORKLOADS],
                target=served.target,
                threads=served.threads,
                toolchain=asked.toolchain,
            )
            if [d.workload_key for d in documents.tasks] != [q.workload for q in some]:
                raise ServiceError(
                    "the service answered for other workloads than asked", status=200
                )
            found += [_as_meant(d, served) for d in documents.tasks]
        return found

    def _fresh(self, question: Question, answer: BestDocument) -> Found:
        try:
            self._cache.keep(question, answer, self._now())
        except OSError as error:
            return Found(answer, reason=f"not kept in {self._cache.directory}: {error.strerror}")
        return Found(answer)

    def _from_cache(self, questions: Sequence[Question], reason: str) -> list[Found]:
        kept = {q: self._cache.find(q) for q in questions}
        missing = [q.workload for q, found in kept.items() if found is None]
        if missing:
            raise LookupMiss(
                f"{reason}; and {self._cache.directory} holds no answer of {self._client.address} for {len(missing)} "
                f"of {len(kept)} workloads: {', '.join(missing[:5])}{', ...' if len(missing) > 5 else ''}",
                missing,
            )
        answers = [kept[q] for q in questions]
        return [Found(k.answer, True, k.fetched_at, reason) for k in answers if k is not None]


def _as_meant(answer: BestDocument, served: ServedTarget) -> BestDocument:
    """An answer for another target, seen from the one that was meant."""
    if not served.differs or answer.match == "default":
        return answer
    match = "compatible" if answer.match == "exact" else answer.match
    reason = served.differs if answer.match == "exact" else f"{served.differs}; {answer.reason}"
    return answer.model_copy(update={"match": match, "reason": reason})


def _is_away(error: ServiceError) -> bool:
    return error.status >= AWAY_STATUS or error.status == TOO_MANY
