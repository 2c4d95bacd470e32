"""
The service that the tests call: ``SIGNALBOX_URL`` and ``SIGNALBOX_API_KEY`` name it, ``SIGNALBOX_AGENT`` is an agent with the tool ``echo``, and
``SIGNALBOX_ASKING_AGENT`` one that asks for an approval of each call.
"""

import os

from signalbox_client import Signalbox

URL = os.environ["SIGNALBOX_URL"]
API_KEY = os.environ["SIGNALBOX_API_KEY"]
AGENT = os.environ["SIGNALBOX_AGENT"]
ASKING_AGENT = os.environ["SIGNALBOX_ASKING_AGENT"]

client = Signalbox(URL, API_KEY)


def new_thread(agent_id: str = AGENT) -> str:
    data = {"title": "Thread", "virtual_mcp_id": agent_id}
    thread_id: str = client.tool("COLLECTION_THREADS_CREATE", {"data": data})["item"]["id"]
    return thread_id
