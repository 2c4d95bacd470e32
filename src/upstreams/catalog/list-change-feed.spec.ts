import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ListChangeFeed } from './list-change-feed.js';

describe('ListChangeFeed', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  function recordChanges(feed: ListChangeFeed): string[] {
    const changes: string[] = [];
    feed.onChange((id, kind) => void changes.push(`${kind} of ${id}`));
    return changes;
  }

  it('reports a single change once and at once', () => {
    const feed = new ListChangeFeed();
    const changes = recordChanges(feed);
    feed.tell('a', 'tools');

    expect(changes).toEqual(['tools of a']);
    jest.advanceTimersByTime(60_000);
    expect(changes).toEqual(['tools of a']);
    feed.tell('a', 'tools');
    expect(changes).toHaveLength(2);
  });

  it('reduces repeated changes to the first one and one each second, including the last', () => {
    const feed = new ListChangeFeed();
    const changes = recordChanges(feed);
    for (let count = 0; count < 10_000; count++) feed.tell('a', 'tools');

    expect(changes).toHaveLength(1);
    jest.advanceTimersByTime(60_000);
    expect(changes).toHaveLength(2);
  });

  it('reports each kind and connection separately', () => {
    const feed = new ListChangeFeed();
    const changes = recordChanges(feed);
    feed.tell('a', 'tools');
    feed.tell('a', 'prompts');
    feed.tell('b', 'tools');

    expect(changes).toEqual(['tools of a', 'prompts of a', 'tools of b']);
  });
});
