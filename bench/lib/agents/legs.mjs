import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generateApiKey } from '../../../dist/core/api-key-value.js';
import { generateEncryptionKey } from '../../../dist/core/config/encryption-keys.js';
import { findFreePort } from '../../../dist/platform/embedded-postgres/server.js';
import { migrateQueue } from '../../../dist/platform/queue/migrate-queue.js';
import { Child } from '../child.mjs';
import { postJson } from '../http-client.mjs';
import { installPackages } from '../install-packages.mjs';
import { startService } from '../service.mjs';
import { compileWorkflow } from './compile-workflow.mjs';

/** Each peer has a folder of its own here, which stays between runs of the benchmark. */
const FOLDER = fileURLToPath(new URL('../../../node_modules/.cache/bench-agents', import.meta.url));

/**
 * The agent servers. `packages` are installed from npm; one that `recovers` goes on with its runs soon after a kill;
 * `leaves` is what the peer does not do that ours does; `open` prepares a leg and returns what starts its process,
 * again after a kill.
 * @typedef {{ post: string, stream: string, body: object, isThread?: boolean, answers(): Promise<string[]> }} Run
 * @typedef {{ pid: number, headers: Record<string, string>, newRun(question: string): Promise<Run>,
 *   stop(): Promise<void> }} AgentTarget
 * @typedef {{ databaseUrl: string, redisUrl?: string, modelUrl: string, folder: string }} Surroundings
 * @type {Record<string, { title: string, packages?: Record<string, string>, needsRedis?: boolean,
 *   recovers?: boolean, leaves: string,
 *   open(surroundings: Surroundings): Promise<() => Promise<AgentTarget>> }>}
 */
export const LEGS = {
  ours: { title: 'ours, PostgreSQL', recovers: true, leaves: '', open: openOurs },
  'ours-redis': { title: 'ours, with Redis', recovers: true, needsRedis: true, leaves: '', open: openOurs },
  bullmq: {
    title: 'BullMQ and a socket (floor)',
    leaves: 'authentication, validation, threads, a stored stream',
    async open(surroundings) {
      await migrateQueue(surroundings.databaseUrl);
      return openPeer('bullmq', surroundings);
    },
  },
  dbos: {
    title: 'DBOS 5.3.0',
    recovers: true,
    packages: { '@dbos-inc/dbos-sdk': '5.3.0' },
    leaves: 'authentication, validation, threads, a client for models',
    open: (surroundings) => openPeer('dbos', surroundings),
  },
  workflow: {
    title: 'Workflow DevKit 4.8.9',
    recovers: true,
    packages: { '@workflow/world-postgres': '4.3.7', workflow: '4.8.9' },
    leaves: 'authentication, validation, threads, a client for models',
    async open(surroundings) {
      const app = join(surroundings.folder, 'app');
      await compileWorkflow(join(FOLDER, 'workflow'), app, surroundings.databaseUrl);
      return openPeer('workflow', surroundings, app);
    },
  },
  langgraph: {
    title: 'LangGraph 1.7.3',
    packages: {
      '@langchain/core': '1.4.0',
      '@langchain/langgraph': '1.7.3',
      '@langchain/langgraph-checkpoint-postgres': '1.0.5',
      '@langchain/openai': '1.6.0',
    },
    leaves: 'authentication, validation, a queue, a stored stream',
    open: (surroundings) => openPeer('langgraph', surroundings),
  },
  mastra: {
    title: 'Mastra 1.71.0',
    packages: {
      '@ai-sdk/openai-compatible': '3.0.92',
      '@mastra/core': '1.71.0',
      '@mastra/memory': '1.31.0',
      '@mastra/pg': '1.27.1',
    },
    leaves: 'authentication, validation, a queue, a stored stream',
    open: (surroundings) => openPeer('mastra', surroundings),
  },
  voltagent: {
    title: 'VoltAgent 2.10.0',
    packages: {
      '@ai-sdk/openai-compatible': '2.0.92',
      '@voltagent/core': '2.10.0',
      '@voltagent/postgres': '2.1.2',
      ai: '6.0.326',
      zod: '4.6.7',
    },
    leaves: 'authentication, validation, a queue, a stored stream',
    open: (surroundings) => openPeer('voltagent', surroundings),
  },
};

/** Installs the packages of a leg, unless the exact versions are there from an earlier run. */
export const installLeg = (name) => installPackages(join(FOLDER, name), LEGS[name].packages ?? {});

/** Ours, with an agent on the scripted model. A restart keeps the keys, the port and the database. */
async function openOurs({ databaseUrl, redisUrl, modelUrl, folder }) {
  const apiKey = generateApiKey();
  const env = {
    PORT: String(await findFreePort()),
    ENCRYPTION_KEYS: generateEncryptionKey('bench'),
    UPSTREAM_ALLOW_PRIVATE: 'true',
  };
  let hasModel = false;
  return async () => {
    const service = await startService({ dataDir: folder, apiKey, databaseUrl, redisUrl, env });
    const tool = (name, body) => postJson(`${service.url}/api/default/tools/${name}`, service.headers, body);
    if (!hasModel) {
      const data = { title: 'Scripted', kind: 'openai-compatible', base_url: modelUrl };
      const { item: provider } = await tool('AI_PROVIDER_CREATE', { data });
      const model = { provider_id: provider.id, model: 'scripted' };
      await tool('MODEL_TIERS_SET', { data: { fast: model, smart: model, thinking: model } });
      hasModel = true;
    }
    return {
      pid: service.pid,
      headers: service.headers,
      stop: service.stop,
      async newRun(question) {
        const { messages, stream } = await service.newThread();
        const id = messages.split('/').at(-2);
        const [message] = service.body.messages;
        const body = { ...service.body, messages: [{ ...message, parts: [{ type: 'text', text: question }] }] };
        const answers = () => answersOf(tool, id);
        return { post: messages, stream: stream.replace('?follow=true', ''), body, answers, isThread: true };
      },
    };
  };
}

async function answersOf(tool, threadId) {
  const { items } = await tool('COLLECTION_THREAD_MESSAGES_LIST', { thread_id: threadId });
  const textOf = ({ parts }) => parts.map(({ text = '' }) => text).join('');
  return items.filter(({ role }) => role === 'assistant').map(textOf);
}

/** A peer: the program of its name in this folder, which serves runs on `PORT` (`peer-http.mjs`). */
async function openPeer(name, { databaseUrl, modelUrl }, peerFolder = join(FOLDER, name)) {
  const program = fileURLToPath(new URL(`${name}.mjs`, import.meta.url));
  const port = await findFreePort();
  return async () => {
    const child = new Child(process.execPath, [program], {
      NODE_ENV: 'production',
      PORT: String(port),
      DATABASE_URL: databaseUrl,
      MODEL_URL: modelUrl,
      PEER_FOLDER: peerFolder,
    });
    await child.line(/^(peer listens)$/);
    return {
      pid: child.pid,
      headers: {},
      stop: () => child.stop(),
      async newRun(question) {
        const url = `http://127.0.0.1:${port}/${randomUUID()}`;
        const answers = async () => (await fetch(`${url}/answers`)).json();
        return { post: url, stream: url, body: { question }, answers };
      },
    };
  };
}
