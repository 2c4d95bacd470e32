import { Injectable } from '@nestjs/common';
import { type Connection, requireActive } from '../../connections/connection.js';
import { ConnectionDirectory } from '../../connections/connection-directory.js';
import { ConnectionPins } from '../../connections/connection-pins.js';
import { type HeldAnswer, HELD_PER_JSON_BYTE } from '../../core/answers/answer-budget.js';
import { DomainError } from '../../core/domain-error.js';
import type { Principal } from '../../core/principal.js';
import { withTimeout } from '../../core/with-timeout.js';
import { ToolCatalog, ToolLister } from '../catalog/tool-catalog.js';
import { type ToolList, toToolList } from '../catalog/tool-list.js';
import type { UpstreamTool } from '../contract/upstream.js';
import { UpstreamError } from '../contract/upstream-error.js';
import { type PinState, fingerprintOf, namelessFingerprintOf } from '../pins/pin-state.js';
import { isPinnable, ToolPins } from '../pins/tool-pins.js';
import { PinnedToolRepository } from '../pins/pinned-tool.repository.js';
import {
  type ChangedTool,
  MAX_NAMED_TOOLS,
  type ToolsApproved,
  type ToolsApproveInput,
  type ToolsDiff,
  type DefinitionChange,
} from './tool-changes.dto.js';
import { isObject } from '../../core/is-record.js';
import { canonicalText } from '../../core/json/canonical-text.js';
import { pointerTo } from '../../core/json/json-pointer.js';

const MAX_ITEMS = 100;
/** How long switching a pin on waits for the upstream's list, in milliseconds. */
const BEGIN_WAIT_MS = 10_000;

/** The tools that can be approved of the upstream's list of now, or else of its last one. */
interface Listed {
  readonly list: ToolList | undefined;
  readonly fault?: string;
}

/** Shows and approves the definitions of a connection's tools that are not approved. */
@Injectable()
export class ToolChanges {
  constructor(
    private readonly directory: ConnectionDirectory,
    private readonly lister: ToolLister,
    private readonly catalog: ToolCatalog,
    private readonly pins: ToolPins,
    private readonly repository: PinnedToolRepository,
    connectionPins: ConnectionPins,
  ) {
    connectionPins.onBegin((connection) => this.beginPin(connection));
  }

  /** @throws DomainError `not_found`, `answer_memory_exhausted` */
  async diff(id: string, caller: Principal, answer: HeldAnswer): Promise<ToolsDiff> {
    const connection = await this.directory.requireConnection(caller.organization.id, id, caller.userId);
    const { pin } = connection;
    if (pin === 'off') return { pin, listed_at: null, total: 0, items: [], removed: [] };
    const { list, fault } = await this.listNow(connection);
    // The listed definitions, and the approved ones to compare with.
    answer.reserve(2 * (list?.size ?? 0) * HELD_PER_JSON_BYTE);
    const state = await this.pins.stateOf(connection);
    const changed = changedIn(list, state);
    return {
      pin,
      listed_at: list === undefined ? null : new Date(list.at).toISOString(),
      total: changed.length,
      items: await this.toItems(connection, changed.slice(0, MAX_ITEMS), state),
      removed: removedFrom(list, state),
      ...(fault !== undefined && { error: fault }),
    };
  }

  /** @throws DomainError `not_found`, `conflict`, `unknown_tool` */
  async approve({ id, tools: names, fingerprints }: ToolsApproveInput, caller: Principal): Promise<ToolsApproved> {
    const connection = await this.directory.requireConnection(caller.organization.id, id, caller.userId);
    if (connection.pin === 'off')
      throw new DomainError('conflict', 'The pin of the connection is off, so there is nothing to approve.');
    const { list } = await this.listNow(connection);
    const tools = names.map((name) => {
      const tool = list?.tools.get(name)?.definition;
      if (tool === undefined) throw new DomainError('unknown_tool', `The connection lists no tool "${name}".`);
      if (fingerprints?.includes(fingerprintOf(tool)) === false)
        throw new DomainError('conflict', `The definition of "${name}" has changed since it was shown.`);
      return tool;
    });
    await this.pins.approve(connection, tools);
    const state = await this.pins.stateOf(connection);
    return { approved: names, remaining: changedIn(list, state).length };
  }

  /** Approves the tools that are listed now, or else the last known ones; if there are none, those of the next list. */
  private async beginPin(connection: Connection): Promise<void> {
    const listing = this.listNow(connection).then(({ fault }) => fault === undefined);
    if (await withTimeout(listing, BEGIN_WAIT_MS, () => false)) return;
    const list = await this.lastKnown(connection);
    if (list !== undefined) await this.pins.recordList(connection, definitionsOf(list));
  }

  private async listNow(connection: Connection): Promise<Listed> {
    try {
      requireActive(connection);
      const tools = await this.lister.list(connection);
      this.catalog.learn(connection, tools);
      return { list: toToolList(tools.filter(isPinnable), Date.now()) };
    } catch (error) {
      if (!(error instanceof UpstreamError) && !(error instanceof DomainError)) throw error;
      return { list: await this.lastKnown(connection), fault: error.message };
    }
  }

  private async lastKnown(connection: Connection): Promise<ToolList | undefined> {
    const stored = await this.directory.lastKnownTools(connection);
    if (stored === undefined) return undefined;
    // The stored tools came from `listTools`.
    return toToolList((stored.tools as UpstreamTool[]).filter(isPinnable), stored.at.getTime());
  }

  private async toItems({ id }: Connection, changed: readonly UpstreamTool[], state: PinState): Promise<ChangedTool[]> {
    const added = new Map<UpstreamTool, string>();
    for (const tool of changed) if (state.statusOf(tool) === 'new') added.set(tool, namelessFingerprintOf(tool));
    const names = changed.map(({ name }) => name);
    const { byName, byNameless } = await this.repository.findApproved(id, names, [...added.values()]);
    return changed.map((tool) => {
      const nameless = added.get(tool);
      if (nameless === undefined) return toItem(tool, 'changed', byName.get(tool.name));
      const basis = byNameless.get(nameless);
      // A tool is renamed once. Otherwise, many new tools would repeat a long title.
      byNameless.delete(nameless);
      return toItem(tool, 'new', basis);
    });
  }
}

function toItem(tool: UpstreamTool, status: ChangedTool['status'], basis: UpstreamTool | undefined): ChangedTool {
  return {
    name: tool.name,
    status,
    fingerprint: fingerprintOf(tool),
    renamed_from: status === 'new' ? (basis?.name ?? null) : null,
    changes: basis === undefined ? [] : changesBetween(basis, tool),
    definition: tool,
  };
}

function definitionsOf(list: ToolList | undefined): UpstreamTool[] {
  return list === undefined ? [] : [...list.tools.values()].map(({ definition }) => definition);
}

function changedIn(list: ToolList | undefined, state: PinState): UpstreamTool[] {
  return definitionsOf(list).filter((tool) => state.statusOf(tool) !== 'approved');
}

function removedFrom(list: ToolList | undefined, state: PinState): string[] {
  return [...state.names].filter((name) => list?.tools.has(name) === false).slice(0, MAX_NAMED_TOOLS);
}

const MAX_CHANGES = 200;
const MAX_DEPTH = 32;
const MAX_PATH_BYTES = 1024;

/**
 * What differs between an approved definition and a listed one. What takes more than 200 changes, or lies deeper than
 * 32 levels or under a path of more than 1 KiB, is one change of the value around it: the changes are then never much
 * larger than the two definitions.
 */
export function changesBetween(approved: UpstreamTool, listed: UpstreamTool): DefinitionChange[] {
  return changesAt('', approved, listed, 0);
}

/** @param before undefined if there is no such member, as is `after` */
function changesAt(path: string, before: unknown, after: unknown, depth: number): DefinitionChange[] {
  if (after === undefined) return before === undefined ? [] : [{ op: 'remove', path, before }];
  if (before === undefined) return [{ op: 'add', path, after }];
  const replacement: DefinitionChange = { op: 'replace', path, before, after };
  if (!isObject(before) || !isObject(after) || Array.isArray(before) !== Array.isArray(after))
    return before === after ? [] : [replacement];
  if (depth < MAX_DEPTH) return changesOfMembers(path, before, after, depth) ?? [replacement];
  return canonicalText(before) === canonicalText(after) ? [] : [replacement];
}

/** @returns undefined if they are too many, or the path of one is too long */
function changesOfMembers(
  path: string,
  before: Record<string, unknown>,
  after: Record<string, unknown>,
  depth: number,
): DefinitionChange[] | undefined {
  const changes: DefinitionChange[] = [];
  /** One for each member. */
  const summary: DefinitionChange[] = [];
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const inner = `${path}${pointerTo([key])}`;
    const [left, right] = [ownMember(before, key), ownMember(after, key)];
    const isTooLong = Buffer.byteLength(inner) > MAX_PATH_BYTES;
    const found = changesAt(inner, left, right, isTooLong ? MAX_DEPTH : depth + 1);
    const [first] = found;
    if (first === undefined) continue;
    if (isTooLong || summary.length === MAX_CHANGES) return undefined;
    summary.push(found.length === 1 ? first : { op: 'replace', path: inner, before: left, after: right });
    changes.push(...found);
  }
  return changes.length > MAX_CHANGES ? summary : changes;
}

function ownMember(value: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}
