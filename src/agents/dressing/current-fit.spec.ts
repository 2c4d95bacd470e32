import { describe, expect, it } from '@jest/globals';
import type { KnownTool } from '../../upstreams/catalog/tool-list.js';
import type { UpstreamTool } from '../../upstreams/contract/upstream.js';
import { refusalOfChange } from './shown-schema.js';
import { argumentsOf, type ToolDressing } from './tool-dressing.js';

const text = { type: 'string' };

function toolWith(properties: UpstreamTool['inputSchema']['properties']): KnownTool {
  const inputSchema = { type: 'object' as const, properties };
  return { name: 'search', inputSchema, isPublic: false, definition: { name: 'search', inputSchema } };
}

/** Of an agent that fixes `/repo` and hides `/filter/label`, and of one around it. */
function dressing(upstream: KnownTool | undefined, fixed: Record<string, unknown> = {}): ToolDressing {
  const inner = argumentsOf({ tool: 'search', arguments: { fixed: { '/repo': 'docs' }, hidden: ['/filter/label'] } });
  const outer = argumentsOf({ tool: 'search', arguments: { fixed } });
  return {
    fixed: [...outer.fixed, ...inner.fixed],
    covered: [...outer.covered, ...inner.covered],
    upstreamDefinition: upstream?.definition,
  };
}

describe('a change of a dressed tool', () => {
  const filter = { type: 'object', properties: { label: text } };
  const before = toolWith({ repo: text, filter });

  it.each([
    ['there is none', before],
    ['the same is listed again', toolWith({ repo: text, filter })],
    ['the covered arguments are still there', toolWith({ repo: text, filter, query: text })],
    ['the tool is not known', undefined],
  ])('is accepted if %s', (_what, now) => {
    for (const known of [before, undefined]) {
      expect(refusalOfChange(dressing(known), now)).toBeUndefined();
      expect(refusalOfChange(dressing(known, { '/filter': { state: 'open' } }), now)).toBeUndefined();
    }
  });

  it.each([
    ['a fixed argument has another name', toolWith({ repository: text, filter }), 'has no argument /repo'],
    ['a hidden one is gone', toolWith({ repo: text, filter: {} }), 'has no argument /filter/label'],
    [
      'a hidden one is required',
      toolWith({ repo: text, filter: { ...filter, required: ['label'] } }),
      'requires the hidden argument /filter/label',
    ],
  ])('is refused if %s', (_what, now, message) => {
    for (const fixed of [{}, { '/filter': { state: 'open' } }]) {
      expect(refusalOfChange(dressing(before, fixed), now)).toMatchObject({
        code: 'tool_schema_invalid',
        detail: expect.stringContaining(message),
      });
    }
  });
});
