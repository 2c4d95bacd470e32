import type { UpstreamTool } from '../contract/upstream.js';

const MAX_NAME_BYTES = 1024;

/**
 * False for a tool whose name takes more than 1 KiB as JSON text: every process keeps the names of recorded tools. A
 * pinned connection neither records nor offers such a tool.
 */
export function isPinnable({ name }: UpstreamTool): boolean {
  return Buffer.byteLength(JSON.stringify(name)) <= MAX_NAME_BYTES;
}
