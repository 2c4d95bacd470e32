'use client';

import type { UIMessage } from 'ai';
import { useEffect, useState } from 'react';
import { session } from '../lib/session';
import { loadMessages, type SignalboxChat } from '../lib/signalbox-chat';
import { Chat } from './chat';

interface Loaded {
  chat: SignalboxChat;
  threadId: string;
  messages: UIMessage[];
}

/** Loads the session and the history, then shows the chat. */
export default function Page() {
  const [loaded, setLoaded] = useState<Loaded>();
  const [failure, setFailure] = useState<string>();
  useEffect(() => {
    // In development, React mounts the page twice.
    let isMounted = true;
    load().then(
      (result) => isMounted && setLoaded(result),
      (error: Error) => isMounted && setFailure(error.message),
    );
    return () => {
      isMounted = false;
    };
  }, []);
  if (failure !== undefined) return <p role="alert">{failure}</p>;
  return loaded === undefined ? <p>Loading…</p> : <Chat {...loaded} />;
}

async function load(): Promise<Loaded> {
  const { api, agentId, threadId } = await session();
  const chat = { api, agentId, token: async () => (await session()).token };
  return { chat, threadId, messages: await loadMessages(chat, threadId) };
}
