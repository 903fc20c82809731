"""Parameters of tools of the Model Context Protocol; their descriptions are for the agent.

It needs the package `pydantic`, which the extra `mcp` installs.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Wait = Annotated[float, Field(ge=0, le=300, description="Longest time to wait, in seconds")]
Version = Annotated[
    str | None, Field(description="A name in the test; default: its first candidate")
]
Matches = Annotated[int, Field(ge=1, le=10, description="The number of matches")]
SearchSeconds = Annotated[float, Field(gt=0, le=120, description="Time of the search")]
