import { describe, expect, it } from '@jest/globals';
import type { UpstreamTool } from '../contract/upstream.js';
import { changesBetween } from './tool-changes.js';

/** What JSON text allows as a schema, whatever the types say. */
function toolWith(properties: unknown, more: object = {}): UpstreamTool {
  return { name: 'tool', inputSchema: { type: 'object', properties }, ...more } as UpstreamTool;
}

function nested(depth: number, value: unknown): unknown {
  return depth === 0 ? value : { a: nested(depth - 1, value) };
}

const members = (count: number, value: unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`m${index}`, value]));
const PROPERTIES = '/inputSchema/properties';

describe('changesBetween', () => {
  it('names what was added, removed and replaced, however deep', () => {
    const before = toolWith({ a: { enum: [1, 2, 3] }, 'b/~': { type: 'string' }, gone: null, same: [{}] });
    const after = toolWith(
      { a: { enum: [1, 4] }, 'b/~': { type: ['string'] }, same: [{}], toString: 0 },
      { title: 'T' },
    );
    expect(changesBetween(before, after)).toEqual([
      { op: 'replace', path: `${PROPERTIES}/a/enum/1`, before: 2, after: 4 },
      { op: 'remove', path: `${PROPERTIES}/a/enum/2`, before: 3 },
      { op: 'replace', path: `${PROPERTIES}/b~1~0/type`, before: 'string', after: ['string'] },
      { op: 'remove', path: `${PROPERTIES}/gone`, before: null },
      { op: 'add', path: `${PROPERTIES}/toString`, after: 0 },
      { op: 'add', path: '/title', after: 'T' },
    ]);
    expect(changesBetween(before, structuredClone(before))).toEqual([]);
  });

  it('takes members with the names of inherited ones as they are', () => {
    const own = JSON.parse('{"__proto__": {"type": "string"}, "constructor": {}}') as object;
    expect(changesBetween(toolWith({}), toolWith(own))).toEqual([
      { op: 'add', path: `${PROPERTIES}/__proto__`, after: { type: 'string' } },
      { op: 'add', path: `${PROPERTIES}/constructor`, after: {} },
    ]);
  });

  it('replaces the value around more than 200 changes, and keeps the others', () => {
    expect(changesBetween(toolWith(members(200, 1)), toolWith(members(200, 2)))).toHaveLength(200);
    const [before, after] = [members(201, 1), members(201, 2)];
    expect(changesBetween(toolWith(before), toolWith(after, { description: 'New' }))).toEqual([
      { op: 'replace', path: PROPERTIES, before, after },
      { op: 'add', path: '/description', after: 'New' },
    ]);
  });

  it('replaces each member that has several of more than 200 changes', () => {
    const [before, after] = [members(150, 1), members(150, 2)];
    expect(changesBetween(toolWith({ a: before, b: before, c: 1 }), toolWith({ a: after, b: after, c: 2 }))).toEqual([
      { op: 'replace', path: `${PROPERTIES}/a`, before, after },
      { op: 'replace', path: `${PROPERTIES}/b`, before, after },
      { op: 'replace', path: `${PROPERTIES}/c`, before: 1, after: 2 },
    ]);
  });

  it('goes no deeper than 32 levels', () => {
    const [change, ...others] = changesBetween(toolWith(nested(40, [1, 2])), toolWith(nested(40, [3, 4])));
    expect(others).toEqual([]);
    expect(change).toMatchObject({
      op: 'replace',
      path: `${PROPERTIES}${'/a'.repeat(30)}`,
      before: nested(10, [1, 2]),
    });
    expect(changesBetween(toolWith(nested(40, { b: 1, c: 2 })), toolWith(nested(40, { c: 2, b: 1 })))).toEqual([]);
  });

  it('has no path of more than 1 KiB', () => {
    const [before, after] = [{ ['ä'.repeat(600)]: { type: 'string' } }, { ['ä'.repeat(600)]: { type: 'number' } }];
    expect(changesBetween(toolWith({ a: before }), toolWith({ a: after }))).toEqual([
      { op: 'replace', path: `${PROPERTIES}/a`, before, after },
    ]);
    expect(changesBetween(toolWith({ a: before, b: 1 }), toolWith({ a: before, b: 2 }))).toHaveLength(1);
  });

  it('stays small for deep paths with many leaves', () => {
    const deep = (value: unknown) => nested(25, members(150, nested(20, members(150, value))));
    const [before, after] = [toolWith(deep(1)), toolWith(deep(2))];
    const definitions = JSON.stringify([before, after]).length;
    expect(JSON.stringify(changesBetween(before, after)).length).toBeLessThan(2 * definitions);
  });
});
