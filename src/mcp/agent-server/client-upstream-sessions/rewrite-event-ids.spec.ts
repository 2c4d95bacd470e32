import { describe, expect, it } from '@jest/globals';
import { type EventIdRewriter, rewriteEventIds } from './rewrite-event-ids.js';

const addressing: EventIdRewriter = {
  request: (id) => (id === 'far too long' ? undefined : `sealed-${id}`),
  event: (id) => `here~${id}`,
  answers: 5,
};
const readdressed = (event: string, how = addressing): string | undefined =>
  rewriteEventIds(Buffer.from(event), how)?.toString('utf8');

describe('an event on its way to the caller of an agent', () => {
  it('asks under the id that leads back', () => {
    const event = 'event: message\ndata: {"jsonrpc":"2.0","id":0,"method":"roots/list"}\n\n';
    expect(readdressed(event)).toBe(
      'event: message\ndata: {"jsonrpc":"2.0","id":"sealed-0","method":"roots/list"}\n\n',
    );
    expect(readdressed('data: {"id":"far too long","method":"roots/list"}\n\n')).toBeUndefined();
  });

  it('answers the one request that may be answered', () => {
    const answer = (id: unknown) => `data: ${JSON.stringify({ jsonrpc: '2.0', id, result: {} })}\n\n`;
    expect(readdressed(answer(5))).toBe(answer(5));
    for (const id of [6, '5', 'x']) expect(readdressed(answer(id))).toBeUndefined();
    expect(readdressed(answer(5), { ...addressing, answers: undefined })).toBeUndefined();
  });

  it.each([
    ['a notification', 'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"id":7}}\n\n'],
    ['a comment', ': keep-alive\n\n'],
    ['what is no JSON', 'data: {"id":7\n\n'],
  ])('leaves %s as it is', (_title, event) => {
    expect(readdressed(event)).toBe(event);
  });

  it('is resumed by an id of its own, or by none', () => {
    expect(readdressed('id: a-1\nretry: 500\ndata: \n\n')).toBe('id: here~a-1\nretry: 500\ndata: \n\n');
    expect(readdressed('id: a-1\ndata: \n\n', { ...addressing, event: () => undefined })).not.toMatch(/^id/m);
  });
});
