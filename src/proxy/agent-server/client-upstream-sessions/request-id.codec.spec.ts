import { describe, expect, it } from '@jest/globals';
import { type EventIdRewriter, rewriteEventIds } from './request-id.codec.js';

const rewriter: EventIdRewriter = {
  request: (id) => (id === 'far too long' ? undefined : `sealed-${id}`),
  event: (id) => `here~${id}`,
  answers: 5,
};
const rewritten = (event: string, how = rewriter): string | undefined =>
  rewriteEventIds(Buffer.from(event), how)?.toString('utf8');

describe('rewriteEventIds', () => {
  it('gives a request the id that its answer is routed by', () => {
    const event = 'event: message\ndata: {"jsonrpc":"2.0","id":0,"method":"roots/list"}\n\n';
    expect(rewritten(event)).toBe('event: message\ndata: {"jsonrpc":"2.0","id":"sealed-0","method":"roots/list"}\n\n');
    expect(rewritten('data: {"id":"far too long","method":"roots/list"}\n\n')).toBeUndefined();
  });

  it('passes only an answer to the expected request', () => {
    const answer = (id: unknown) => `data: ${JSON.stringify({ jsonrpc: '2.0', id, result: {} })}\n\n`;
    expect(rewritten(answer(5))).toBe(answer(5));
    for (const id of [6, '5', 'x']) expect(rewritten(answer(id))).toBeUndefined();
    expect(rewritten(answer(5), { ...rewriter, answers: undefined })).toBeUndefined();
  });

  it.each([
    ['a notification', 'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"id":7}}\n\n'],
    ['a comment', ': keep-alive\n\n'],
    ['malformed JSON', 'data: {"id":7\n\n'],
  ])('leaves %s unchanged', (_title, event) => {
    expect(rewritten(event)).toBe(event);
  });

  it('renames a resource that has changed', () => {
    const update = (params: unknown): string =>
      `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/resources/updated', params })}\n\n`;
    const renaming = { ...rewriter, address: (uri: string) => (uri === 'ui://a' ? 'ui://b' : uri) };
    expect(rewritten(update({ uri: 'ui://a', more: 1 }), renaming)).toBe(update({ uri: 'ui://b', more: 1 }));
    expect(rewritten(`id: a-1\n${update({ uri: 'ui://a' })}`, renaming)).toBe(
      `id: here~a-1\n${update({ uri: 'ui://b' })}`,
    );
    for (const params of [{ uri: 'ui://c' }, { uri: 7 }, undefined]) {
      expect(rewritten(update(params), renaming)).toBe(update(params));
    }
    expect(rewritten(update({ uri: 'ui://a' }))).toBe(update({ uri: 'ui://a' }));
  });

  it('rewrites or removes the event id', () => {
    expect(rewritten('id: a-1\nretry: 500\ndata: \n\n')).toBe('id: here~a-1\nretry: 500\ndata: \n\n');
    expect(rewritten('id: a-1\ndata: \n\n', { ...rewriter, event: () => undefined })).not.toMatch(/^id/m);
  });
});
