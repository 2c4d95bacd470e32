import { hash } from 'node:crypto';
import { canonicalText } from '../../core/json/canonical-text.js';
import type { UpstreamTool } from '../contract/upstream.js';

/** What identifies a definition of a tool. */
export interface ToolFingerprint {
  /** SHA-256, in hexadecimal, of the canonical JSON of everything that a caller or a model reads of the tool. */
  readonly whole: string;
  /** The same without the names, equal for a tool that was only renamed. */
  readonly nameless: string;
}

/** By definition, which does not change. */
const known = new WeakMap<UpstreamTool, ToolFingerprint>();

export function fingerprintOf(tool: UpstreamTool): ToolFingerprint {
  let fingerprint = known.get(tool);
  if (fingerprint === undefined) {
    const { name, title, description, inputSchema, outputSchema, annotations, _meta } = tool;
    const { title: _title, ...hints } = annotations ?? {};
    const body = { description, inputSchema, outputSchema, _meta };
    fingerprint = {
      whole: digestOf({ name, title, annotations, ...body }),
      nameless: digestOf({ annotations: hints, ...body }),
    };
    known.set(tool, fingerprint);
  }
  return fingerprint;
}

function digestOf(value: object): string {
  return hash('sha256', canonicalText(value));
}
