import { hash } from 'node:crypto';
import { canonicalText } from '../../core/json/canonical-text.js';
import type { UpstreamTool } from '../contract/upstream.js';

/** By definition, which does not change. */
const known = new WeakMap<UpstreamTool, string>();

/**
 * What identifies a definition of a tool: the SHA-256, in hexadecimal, of the canonical JSON of everything that a caller
 * or a model reads of it.
 */
export function fingerprintOf(tool: UpstreamTool): string {
  let fingerprint = known.get(tool);
  if (fingerprint === undefined) {
    const { name, title, annotations } = tool;
    fingerprint = digestOf({ name, title, annotations, ...bodyOf(tool) });
    known.set(tool, fingerprint);
  }
  return fingerprint;
}

/** The same without the names, equal for a tool that was only renamed. */
export function namelessFingerprintOf(tool: UpstreamTool): string {
  const { title: _title, ...annotations } = tool.annotations ?? {};
  return digestOf({ annotations, ...bodyOf(tool) });
}

function bodyOf({ description, inputSchema, outputSchema, _meta }: UpstreamTool): object {
  return { description, inputSchema, outputSchema, _meta };
}

function digestOf(value: object): string {
  return hash('sha256', canonicalText(value));
}
