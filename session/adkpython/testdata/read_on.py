"""Reads with adk-python what Go appended, checks it, and appends one more."""

import asyncio
import sys

from google.adk.events.event import Event
from google.adk.flows.llm_flows import contents
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types


async def main(path, kind):
  service = DatabaseSessionService("sqlite+aiosqlite:///" + path) if kind == "v1" else SqliteSessionService(path)
  session = await service.get_session(app_name="travel", user_id="ada", session_id="trip-1")
  events = {e.id: e for e in session.events}
  call = events["go2"].content.parts[0]
  assert call.function_call.args == {"camelCase": 1, "snake_case": "x"}, call
  assert call.thought_signature == b"\xff\xfe\x00", call
  assert session.state["hotel"] == "Tejo" and session.state["app:shop"] == "Tram 28", session.state
  summaries = [e for e in session.events if e.actions.compaction]
  assert len(summaries) == 2, summaries
  record = summaries[-1].actions.compaction
  assert record.end_timestamp == events["go4"].timestamp, (record, events["go4"].timestamp)
  view = contents._get_contents(None, session.events, "guide")
  texts = " ".join(p.text or "" for c in view for p in c.parts)
  assert record.compacted_content.parts[0].text in texts, texts
  assert "as everybody knows it" not in texts.replace(record.compacted_content.parts[0].text, ""), texts
  await service.append_event(session, Event(
      author="guide", invocation_id="i4",
      content=types.Content(role="model", parts=[types.Part(text="Python goes on.")])))
  if kind == "v1":
    await service.close()


asyncio.run(main(*sys.argv[1:]))
