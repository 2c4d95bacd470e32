import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Tenant } from './tenant.js';
import { succeed } from './agent-runs.js';
import {
  legacyServer,
  type RpcMessage,
  sendJson,
  sendResult,
  type Script,
  startScripted,
} from './scripted-upstream.js';

const PROGRAM = fileURLToPath(new URL('stdio-fixtures/notepad-server.mjs', import.meta.url));

/** An upstream that keeps one note (tools `note`, `read`), in each of its sessions if it has any. */
export interface Notepad {
  /** The part of a connection that says how it is reached. */
  readonly target: object;
  /** How many sessions or programs were opened so far. */
  opened(): number;
  /** How many of them have ended. */
  ended(): number;
  /** How many calls do not get an answer. Only a program has such a tool (`never`). */
  unanswered(): number;
  /** Forgets all sessions and what was noted in them, or kills all programs. */
  lose(): void;
  close(): Promise<void>;
}

/** Starts the upstream of each kind by which docs/isolation.md distinguishes them, in the order of its columns. */
export const NOTEPADS: readonly (readonly [title: string, start: () => Promise<Notepad>])[] = [
  ['STDIO', startProgram],
  ['HTTP with a session id', startWithSessions],
  ['HTTP without', startWithoutSessions],
];

export async function connectNotepad(app: Tenant, { target }: Notepad, more: object = {}): Promise<string> {
  const data = { title: 'Notepad', ...target, ...more };
  return (await succeed<{ item: { id: string } }>(app, 'COLLECTION_CONNECTIONS_CREATE', { data })).item.id;
}

async function startProgram(): Promise<Notepad> {
  const ledger = join(mkdtempSync(join(tmpdir(), 'notepad-')), 'pids');
  const lines = (): string[] => (existsSync(ledger) ? readFileSync(ledger, 'utf8').trim().split('\n') : []);
  const pids = (): number[] => lines().map(Number).filter(Number.isInteger);
  return {
    target: { connection_type: 'STDIO', stdio: { command: 'node', args: [PROGRAM, ledger] } },
    opened: () => pids().length,
    ended: () => pids().filter((pid) => !signal(pid, 0)).length,
    unanswered: () => lines().filter((line) => line === 'never').length,
    lose: () => {
      for (const pid of pids()) signal(pid, 'SIGKILL');
    },
    close: async () => pids().forEach((pid) => signal(pid, 'SIGKILL')),
  };
}

/** Returns false if the process has ended. */
function signal(pid: number, kind: 'SIGKILL' | 0): boolean {
  try {
    return process.kill(pid, kind);
  } catch {
    return false;
  }
}

async function startWithSessions(): Promise<Notepad> {
  const notes = new Map<unknown, string>();
  const { script, forget } = legacyServer(({ message, headers }, response) => {
    const session = headers['mcp-session-id'];
    sendResult(
      response,
      message,
      answerTo(message, {
        read: () => notes.get(session),
        note: (text) => notes.set(session, text),
      }),
    );
  });
  return startHttp(script, forget);
}

async function startWithoutSessions(): Promise<Notepad> {
  let note: string | undefined;
  return startHttp(
    ({ method, message }, response) => {
      if (method !== 'POST') response.writeHead(405).end();
      else if (message.id === undefined) response.writeHead(202).end();
      else if (message.method === 'initialize') sendResult(response, message, INITIALIZED);
      else if (message.method === 'server/discover') response.writeHead(400).end();
      else
        sendJson(response, {
          jsonrpc: '2.0',
          id: message.id,
          result: answerTo(message, { read: () => note, note: (text) => (note = text) }),
        });
    },
    () => (note = undefined),
  );
}

async function startHttp(script: Script, lose: () => void): Promise<Notepad> {
  const server = await startScripted(script);
  return {
    target: { connection_type: 'HTTP', connection_url: server.url },
    opened: () => server.calls('initialize').length,
    ended: () => server.requests.filter(({ method }) => method === 'DELETE').length,
    unanswered: () => 0,
    lose,
    close: server.close,
  };
}

const INITIALIZED = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {} },
  serverInfo: { name: 'notepad', version: '1' },
};
const PUBLIC = { 'mcp.service': { public_tool: true } };

function answerTo(
  { method, params = {} }: RpcMessage,
  { read, note }: { read: () => string | undefined; note: (text: string) => void },
): object {
  if (method === 'tools/list') {
    return { tools: ['note', 'read'].map((name) => ({ name, inputSchema: { type: 'object' }, _meta: PUBLIC })) };
  }
  if (method !== 'tools/call') return {};
  if (params['name'] === 'note') note(String((params['arguments'] as { text?: unknown }).text));
  return { content: [{ type: 'text', text: read() ?? 'nothing' }] };
}
