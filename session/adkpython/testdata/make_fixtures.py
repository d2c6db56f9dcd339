"""Writes the databases in this folder with the real google-adk.

    python -m venv venv
    venv/bin/pip install google-adk==2.13.0 aiosqlite sqlalchemy greenlet
    venv/bin/python make_fixtures.py .

Made with google-adk 2.13.0 and SQLAlchemy 2.1.9.
"""

import asyncio
import os
import sys

from google.adk.apps.app import App, EventsCompactionConfig
from google.adk.apps.base_events_summarizer import BaseEventsSummarizer
from google.adk.apps.compaction import _run_compaction_for_sliding_window
from google.adk.agents.llm_agent import LlmAgent
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions, EventCompaction
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

BASE = 1772355600.0  # 2026-03-01T09:00:00Z


class FixedSummarizer(BaseEventsSummarizer):

  async def maybe_summarize_events(self, *, events):
    return Event(
        author="user",
        id="summary",
        timestamp=events[-1].timestamp + 0.25,
        invocation_id=Event.new_id(),
        actions=EventActions(
            compaction=EventCompaction(
                start_timestamp=events[0].timestamp,
                end_timestamp=events[-1].timestamp,
                compacted_content=types.Content(role="model", parts=[types.Part(text="The order 7741 was looked up.")]),
            )
        ),
    )


def text(id, invocation, at, author, words, **more):
  role = "user" if author == "user" else "model"
  return Event(id=id, invocation_id=invocation, timestamp=BASE + at, author=author,
               content=types.Content(role=role, parts=[types.Part(text=words)]), **more)


def conversation():
  yield text("e1", "i1", 1.000001, "user", "Where is my order 7741? \u2708 \u65c5\u884c")
  yield Event(id="e2", invocation_id="i1", timestamp=BASE + 2.5, author="guide", branch="root.guide",
              content=types.Content(role="model", parts=[types.Part(
                  function_call=types.FunctionCall(id="c1", name="find_order", args={"order_id": 7741, "deep": {"snake_key": [1, 2.5, None]}}),
                  thought_signature=b"\xff\xfe\xfd\x00sig")]),
              usage_metadata=types.GenerateContentResponseUsageMetadata(prompt_token_count=120, candidates_token_count=8, total_token_count=128))
  yield Event(id="e3", invocation_id="i1", timestamp=BASE + 3.25, author="guide", branch="root.guide",
              content=types.Content(role="user", parts=[types.Part(
                  function_response=types.FunctionResponse(id="c1", name="find_order", response={"found_at": "depot", "user_id": "u"}))]),
              actions=EventActions(state_delta={"last_order": 7741, "user:home_city": "Lisbon", "app:opening_hours": {"from": 9}, "temp:x": 1}))
  yield text("e4", "i1", 4.0, "guide", "It is at the depot.", custom_metadata={"source_kind": {"a_b": 1}}, turn_complete=True,
             finish_reason=types.FinishReason.STOP, model_version="m-1")
  yield text("e5", "i2", 5.0, "user", "Book it.")
  yield Event(id="e6", invocation_id="i2", timestamp=BASE + 6.0, author="guide", long_running_tool_ids={"c2"},
              content=types.Content(role="model", parts=[types.Part(function_call=types.FunctionCall(id="c2", name="book", args={}))]))
  yield text("e7", "i2", 7.0, "guide", "I have asked for it.")


async def fill(service, compact=True):
  session = await service.create_session(app_name="travel", user_id="ada", session_id="trip-1",
                                         state={"city": "Porto", "user:name": "Ada", "app:shop": "Tram"})
  events = list(conversation())
  for event in events[:4]:
    await service.append_event(session, event)
  if compact:
    # What adk-python's own compaction makes of it.
    app = App(name="travel", root_agent=LlmAgent(name="guide", model="none"),
              events_compaction_config=EventsCompactionConfig(compaction_interval=1, overlap_size=0, summarizer=FixedSummarizer()))
    async for event in _run_compaction_for_sliding_window(app, session, service):
      await service.append_event(session, event)
  for event in events[4:]:
    await service.append_event(session, event)
  await service.create_session(app_name="travel", user_id="ada", session_id="empty")
  await service.create_session(app_name="travel", user_id="grace", session_id="trip-1", state={"city": "Rome"})


async def main(folder):
  for name in ("v1.db", "sqlite.db"):
    path = os.path.join(folder, name)
    if os.path.exists(path):
      os.remove(path)
  service = DatabaseSessionService("sqlite+aiosqlite:///" + os.path.join(folder, "v1.db"))
  await fill(service)
  await service.close()
  await fill(SqliteSessionService(os.path.join(folder, "sqlite.db")))


if __name__ == "__main__":
  asyncio.run(main(sys.argv[1]))
