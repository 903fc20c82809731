"""`/benchmarks/NAME`: the report of `playout-agents` in a folder that the operator names.

The report has the answers of language models, escaped, and its own policy: styles within it count,
and a script within it does not run. While the benchmark runs, the program writes it again, and the
page loads itself again.
"""

from __future__ import annotations

from twisted.web import http

from playout.server.web.http import HTML, HttpError, HttpRequest, HttpResponse, cacheable_response
from playout.server.web.http_server import content_policy
from playout.server.web.pages.source import PageSource

_REPORT = "report.html"


async def report(source: PageSource, request: HttpRequest) -> HttpResponse:
    """The report of a benchmark. Raises HttpError."""
    name = "/".join(request.path)
    folder = source.benchmarks.get(name)
    if folder is None:
        raise HttpError(http.NOT_FOUND, "there is no such benchmark")

    async def response() -> HttpResponse:
        return await source.archive.run_in_thread(read)

    def read() -> HttpResponse:
        try:
            body = (folder / _REPORT).read_bytes()
        except OSError as error:
            text = "this benchmark has no report yet: playout-agents writes it while it runs"
            raise HttpError(http.NOT_FOUND, text) from error
        return cacheable_response(body, HTML, headers=content_policy(inline_styles=True))

    return await source.responses.get(("benchmark", name), response)
