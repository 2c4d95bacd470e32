import type { ToolSet, UIMessage } from 'ai';
import type { AgentTool, OpenToolset } from '../../agents/agent-toolset.js';
import { SEARCH_TOOLS } from '../../agents/composition/tool-naming.js';
import { namesFound } from '../../agents/search/search-tools.js';
import { isRecord } from '../../core/is-record.js';
import { toToolSet } from './model-stream/model-request.js';
import type { RunAnswer } from './run-answer.js';

/** How many tools stay callable for the thread once a search has found them. The oldest leave. */
const MAX_FOUND = 64;

/** The tools that the model of a run gets: all of the agent, or those that are pinned and those that it has found. */
export class CallableTools {
  private readonly all: ReadonlyMap<string, AgentTool>;
  private readonly pinned: ReadonlySet<string> | undefined;
  /** What earlier answers of the thread have found. */
  private readonly foundBefore: readonly string[];
  private everything: ToolSet | undefined;

  /** @param history whose latest answer in search mode names what was found until then */
  constructor({ tools, pinned }: Pick<OpenToolset, 'tools' | 'pinned'>, history: readonly UIMessage[]) {
    this.all = new Map(tools.map((tool) => [tool.name, tool]));
    this.pinned = pinned;
    this.foundBefore = pinned === undefined ? [] : foundIn(history);
  }

  /** The tools for the next model call, given the answer so far. */
  toolSet(parts: UIMessage['parts']): ToolSet {
    if (this.pinned === undefined) return (this.everything ??= toToolSet([...this.all.values()]));
    const names = new Set([...this.pinned, ...withFound(this.foundBefore, parts)]);
    return toToolSet([...names].flatMap((name) => this.all.get(name) ?? []));
  }

  /** Records what the thread has found in the metadata of the answer, if that has changed. */
  async record(answer: RunAnswer): Promise<void> {
    if (this.pinned === undefined) return;
    const found = withFound(this.foundBefore, answer.parts());
    if (found.join() === recordedIn(answer.metadata).join()) return;
    await answer.append({ type: 'message-metadata', messageMetadata: { found_tools: found } });
  }
}

/** What the latest answer that was given in search mode knows. */
function foundIn(history: readonly UIMessage[]): string[] {
  const latest = history.findLast(({ metadata }) => isRecord(metadata) && 'found_tools' in metadata);
  return latest === undefined ? [] : withFound(recordedIn(latest.metadata), latest.parts);
}

function recordedIn(metadata: unknown): string[] {
  const found = isRecord(metadata) ? metadata['found_tools'] : undefined;
  return Array.isArray(found) ? found.filter((name) => typeof name === 'string') : [];
}

/** The names with those that the searches in these parts have found; the newest are last. */
function withFound(names: readonly string[], parts: UIMessage['parts']): string[] {
  const found = new Set(names);
  for (const part of parts) {
    if (part.type !== 'dynamic-tool' || part.toolName !== SEARCH_TOOLS || part.state !== 'output-available') continue;
    for (const name of namesFound(part.output)) {
      found.delete(name);
      found.add(name);
    }
  }
  return [...found].slice(-MAX_FOUND);
}
