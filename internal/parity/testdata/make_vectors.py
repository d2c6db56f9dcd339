"""Has the real adk-python compact and read generated logs, and writes what it did.

    python -m venv venv && venv/bin/pip install google-adk==2.13.0
    venv/bin/python make_vectors.py | gzip -9n > vectors.jsonl.gz

Made with google-adk 2.13.0. Each line is a log as it stood when a window was
looked for, what adk-python gave to the summarizer, and what it sent to the
model afterwards. The generator is seeded: the same version writes the same.
"""

import asyncio
import json
import random
import sys
import warnings

warnings.filterwarnings("ignore")

from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps.app import App, EventsCompactionConfig
from google.adk.apps.base_events_summarizer import BaseEventsSummarizer
from google.adk.apps.compaction import _run_compaction_for_sliding_window
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions, EventCompaction
from google.adk.flows.llm_flows import contents
from google.adk.sessions.session import Session
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.genai import types

BASE = 1767225600.0  # 2026-01-01T00:00:00Z


class Recorder(BaseEventsSummarizer):

  def __init__(self):
    self.given = None
    self.count = 0

  async def maybe_summarize_events(self, *, events):
    self.given = [e.id for e in events]
    self.count += 1
    return Event(
        author="user", id=f"s{self.count}", invocation_id=f"s{self.count}", timestamp=events[-1].timestamp,
        actions=EventActions(compaction=EventCompaction(
            start_timestamp=events[0].timestamp, end_timestamp=events[-1].timestamp,
            compacted_content=types.Content(role="model", parts=[types.Part(text=f"summary {self.count}")]))))


class Log:

  def __init__(self, rng):
    self.rng = rng
    self.events = []
    self.turn = 0
    self.calls = 0

  def add(self, author, parts, **more):
    n = len(self.events) + 1
    role = "user" if author == "user" else "model"
    if parts and parts[0].function_response:
      role = "user"
    event = Event(id=f"e{n}", invocation_id=f"i{self.turn}", timestamp=BASE + n, author=author,
                  content=types.Content(role=role, parts=parts) if parts else None, **more)
    self.events.append(event)
    return event

  def text(self, author, words, **more):
    return self.add(author, [types.Part(text=words)], **more)

  def invocation(self, feature):
    self.turn += 1
    rng = self.rng
    self.text("user", f"question {self.turn}")
    where = {}
    if feature == "branches" and rng.random() < 0.5:
      where = {"branch": rng.choice(["root.a", "root.b"])}
    if feature == "scopes" and rng.random() < 0.4:
      where = {"isolation_scope": "task"}
    if feature == "agents" and rng.random() < 0.5:
      self.text("helper", f"I help with {self.turn}", **where)
    if feature != "text":
      for _ in range(rng.randint(0, 2)):
        self.calls += 1
        self.call(feature, f"c{self.calls}", where)
    if feature != "cut off" or rng.random() < 0.7:
      self.text("guide", f"answer {self.turn}", **where)

  def call(self, feature, id, where):
    rng = self.rng
    long = feature == "long-running" and rng.random() < 0.5
    call = types.Part(function_call=types.FunctionCall(id=id, name="find", args={"n": self.calls}))
    more = dict(where)
    if long:
      more["long_running_tool_ids"] = {id}
    self.add("guide", [call], **more)
    if feature == "unanswered" and rng.random() < 0.3:
      return
    answer = types.Part(function_response=types.FunctionResponse(id=id, name="find", response={"found": self.calls}))
    if feature == "confirmations" and rng.random() < 0.4:
      self.add("guide", [answer], actions=EventActions(requested_tool_confirmations={id: ToolConfirmation(hint="sure?")}), **where)
      if rng.random() < 0.5:
        return
    if long and rng.random() < 0.5:
      self.add("guide", [types.Part(function_response=types.FunctionResponse(id=id, name="find", response={"status": "started"}))], **where)
      if rng.random() < 0.5:
        return
    if long and rng.random() < 0.3:
      return
    self.add("guide", [answer], **where)


def shown(content):
  parts = []
  for p in content.parts or []:
    if p.function_call:
      parts.append(f"call {p.function_call.id} {p.function_call.name}")
    elif p.function_response:
      parts.append(f"response {p.function_response.id} {json.dumps(p.function_response.response, sort_keys=True)}")
    else:
      parts.append(p.text)
  return [content.role, parts]


async def play(feature, seed):
  rng = random.Random(f"{feature} {seed}")
  interval, overlap = rng.randint(1, 4), rng.randint(0, 3)
  recorder = Recorder()
  app = App(name="app", root_agent=LlmAgent(name="guide", model="none"),
            events_compaction_config=EventsCompactionConfig(compaction_interval=interval, overlap_size=overlap, summarizer=recorder))
  log = Log(rng)
  turns = rng.randint(3, 9)
  for turn in range(turns):
    log.invocation(feature)
    if feature == "rewinds" and turn > 1 and rng.random() < 0.4:
      log.turn += 1
      log.add("user", None, actions=EventActions(rewind_before_invocation_id=f"i{rng.randint(1, log.turn - 1)}"))
      log.text("user", "again")
      log.text("guide", "answer again")
    if feature == "backlog" and turn < turns - 1:
      continue
    session = Session(id="s", app_name="app", user_id="u", events=log.events)
    recorder.given = None
    before = [e.model_dump(mode="json", by_alias=True, exclude_none=True) for e in log.events]
    async for event in _run_compaction_for_sliding_window(app, session, None):
      event.timestamp = BASE + len(log.events) + 1
      log.events.append(event)
    view = contents._get_contents(None, log.events, "guide")
    yield {
        "feature": feature, "seed": seed, "turn": turn, "interval": interval, "overlap": overlap,
        "events": before, "window": recorder.given,
        "summary": log.events[-1].model_dump(mode="json", by_alias=True, exclude_none=True) if recorder.given else None,
        "contents": [shown(c) for c in view],
    }


async def main():
  for feature in ("text", "calls", "backlog", "agents", "cut off", "unanswered", "long-running", "confirmations",
                  "branches", "scopes", "rewinds"):
    for seed in range(12):
      last = None
      async for vector in play(feature, seed):
        # The first window, and the last state, say the most.
        if vector["window"] and (last is None or not last["window"]):
          print(json.dumps(vector, separators=(",", ":")))
        last = vector
      print(json.dumps(last, separators=(",", ":")))


asyncio.run(main())
