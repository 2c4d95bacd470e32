import type { UpstreamTool } from '../contract/upstream.js';
import { hash } from 'node:crypto';
import { canonicalText } from '../../core/json/canonical-text.js';

/** `new`: no definition of a tool with this name is approved. */
export type ToolStatus = 'approved' | 'changed' | 'new';

/** A definition that a pinned connection has listed. */
export interface KnownForm {
  readonly fingerprint: string;
  readonly name: string;
  readonly isApproved: boolean;
}

/** Which definitions of a connection's tools are approved, as of one epoch. */
export class PinState {
  /** The length of its fingerprints and names, as a measure of its memory. */
  readonly size: number;
  private readonly approved = new Set<string>();
  private readonly approvedNames = new Set<string>();
  private readonly withheld = new Set<string>();
  private readonly withheldNames = new Set<string>();

  /**
   * @param epoch of the connection (`Connection.pinEpoch`)
   * @param hasBegun false until the first complete list, which is approved
   * @param forms those that are approved, and those that are not although they are listed
   */
  constructor(
    readonly epoch: number,
    readonly hasBegun: boolean,
    forms: readonly KnownForm[],
  ) {
    let size = 1;
    for (const { fingerprint, name, isApproved } of hasBegun ? forms : []) {
      (isApproved ? this.approved : this.withheld).add(fingerprint);
      (isApproved ? this.approvedNames : this.withheldNames).add(name);
      size += fingerprint.length + name.length;
    }
    this.size = size;
  }

  /** The names of tools that have an approved definition. */
  get names(): Iterable<string> {
    return this.approvedNames;
  }

  /** The status of a tool in a list that was just read. */
  statusOfRead(tool: UpstreamTool): ToolStatus {
    if (this.approved.has(fingerprintOf(tool))) return 'approved';
    return this.approvedNames.has(tool.name) ? 'changed' : 'new';
  }

  /**
   * The same for a list that is kept: an approved definition does not count while the last list that any process has
   * read shows another one of the same name.
   */
  statusOf(tool: UpstreamTool): ToolStatus {
    const status = this.statusOfRead(tool);
    return status === 'approved' && this.withheldNames.has(tool.name) ? 'changed' : status;
  }

  /** True if the last list that showed a tool of this name showed a definition that is not approved. */
  withholds(name: string): boolean {
    return this.withheldNames.has(name);
  }

  /** True if this tool of a list that was just read has to be recorded. */
  isUnrecorded(tool: UpstreamTool): boolean {
    const fingerprint = fingerprintOf(tool);
    return this.approved.has(fingerprint) ? this.withheldNames.has(tool.name) : !this.withheld.has(fingerprint);
  }
}

/** By definition, which does not change. */
const known = new WeakMap<UpstreamTool, string>();

/**
 * What identifies a definition of a tool: the SHA-256, in hexadecimal, of the canonical JSON of everything that a
 * caller or a model reads of it.
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
