import { setTimeout as sleep } from 'node:timers/promises';
import { isRecord } from '../../core/is-record.js';
import type { UpstreamTool } from './upstream.js';

const DEFAULT_POLL_MS = 1_000;
const MIN_POLL_MS = 100;
const MAX_POLL_MS = 5_000;

/** A task that a server has created instead of answering a tool call (MCP 2025-11-25, "Tasks"). */
interface ToolTask {
  readonly id: string;
  readonly isWorking: boolean;
  readonly pollMs: number;
}

/** True if the tool can be called only as a task. */
export function isTaskOnly(tool: UpstreamTool | undefined): boolean {
  return tool?.execution?.taskSupport === 'required';
}

/** Reads a task from a result, where it is a member of it or the result itself; undefined if there is none. */
export function readTask(result: unknown): ToolTask | undefined {
  if (!isRecord(result)) return undefined;
  const { taskId, status, pollInterval } = isRecord(result['task']) ? result['task'] : result;
  if (typeof taskId !== 'string') return undefined;
  const pollMs = typeof pollInterval === 'number' ? pollInterval : DEFAULT_POLL_MS;
  return { id: taskId, isWorking: status === 'working', pollMs: Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, pollMs)) };
}

/**
 * Waits until the result of the task can be requested: it has ended, or needs input.
 * @param get asks for its state
 * @throws what `get` throws, and the signal's reason when it is aborted
 */
export async function waitForTask(task: ToolTask, get: () => Promise<object>, signal: AbortSignal): Promise<void> {
  for (let current: ToolTask | undefined = task; current?.isWorking === true; current = readTask(await get())) {
    await sleep(current.pollMs, undefined, { signal });
  }
}
